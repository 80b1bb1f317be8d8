package fence

import "github.com/berth-gpu/berth/fsm/model"

// Sets decides which desired sets an agent acts on. Any peer may answer a poll, also one that lags, so a set
// can be older than one that was seen before.
type Sets struct {
	incarnation model.Incarnation
	newest      uint64 // index of the newest set seen of the incarnation
}

// Accept reports whether the agent, registered as reg, may act on d: the set is meant for this node and this
// registration, and is not older than the newest set seen.
//
// A set of an earlier epoch was read before this registration was applied, and does not reflect the attempts
// that the registration reported. One of a later epoch means that another agent has registered for this node
// since: the next renewal will be refused.
//
// A restarted agent needs no memory of the sets before: its registration gives it a new epoch, which excludes
// them all.
func (s *Sets) Accept(reg Registration, d *model.Desired) bool {
	if d.Incarnation != reg.Incarnation || d.Node != reg.Node {
		return false
	}
	if s.incarnation != d.Incarnation {
		*s = Sets{incarnation: d.Incarnation}
	}
	if d.Index < s.newest {
		return false
	}
	s.newest = d.Index
	return d.Epoch == reg.Epoch
}

// Newest returns the incarnation and index of the newest set seen, for the next poll to wait beyond.
func (s *Sets) Newest() (model.Incarnation, uint64) { return s.incarnation, s.newest }
