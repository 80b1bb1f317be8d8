package liveness

import (
	"math"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Never is the time until something is due if that cannot be before the state changes.
const Never time.Duration = math.MaxInt64

// maxCommands bounds one decision; the rest follows in the next.
const maxCommands = 1024

// Decide observes the state and returns what to propose on it, and after how long to decide again although
// nothing has changed; 0: at once, there is more. A command without effect is made again after Config.Retry.
func (b *Book) Decide(now time.Duration, s *state.State) ([]command.Body, time.Duration) {
	b.Observe(now, s)
	a := &agenda{book: b, state: s, now: now, next: Never}
	for id := range s.Leases.All() {
		if n, found := s.Nodes.Get(id); found && n.Status != model.NodeDead {
			a.node(&n, b.nodes[id])
		}
	}
	b.orphans.visit(a.orphan)
	b.starting.visit(a.start)
	return a.commands, a.next
}

// agenda is one decision being made.
type agenda struct {
	book     *Book
	state    *state.State
	now      time.Duration
	commands []command.Body
	next     time.Duration
}

// due makes a command whose time comes in that long, but not before the reading asked; it returns when the
// command may next be made.
func (a *agenda) due(in, asked time.Duration, body command.Body) time.Duration {
	in = max(in, asked-a.now)
	switch {
	case in > 0:
		a.next = min(a.next, in)
	case len(a.commands) == maxCommands:
		a.next = 0
	default:
		a.commands = append(a.commands, body)
		asked = a.now + a.book.config.Retry
		a.next = min(a.next, a.book.config.Retry)
	}
	return asked
}

// node decides on a node's silence.
func (a *agenda) node(n *model.Node, c *contact) {
	silence := a.book.own(a.now, c.since)
	if n.Status == model.NodeUp {
		c.asDoubt = a.due(a.suspectAfter(n.ID, silence)-silence, c.asDoubt,
			&command.Suspect{Node: n.ID, Epoch: c.epoch, Seq: c.seq})
	}
	if until := model.MinDisconnectGrace - silence; until > 0 {
		a.next = min(a.next, until) // no lease is shorter, so nothing is lost sooner
		return
	}
	if !c.suspect {
		return
	}
	doubt := 2*a.book.config.Renewal - a.book.own(a.now, c.doubted)
	for _, l := range a.losses(n.ID) {
		in := max(l.after-silence, doubt)
		if asked := a.due(in, c.asked[l.key], l.command(c)); asked > a.now && in <= 0 {
			if c.asked == nil {
				c.asked = map[any]time.Duration{}
			}
			c.asked[l.key] = asked
		}
	}
}

// hintEvery is how often gossip is asked about a node whose renewal is late.
const hintEvery = 500 * time.Millisecond

// suspectAfter returns the silence after which a node gets no new work: less where gossip finds the node silent, too.
func (a *agenda) suspectAfter(id model.NodeID, silence time.Duration) time.Duration {
	c := &a.book.config
	late := c.Renewal + c.Renewal/2
	if c.Hinted == nil {
		return c.Suspect
	}
	if silence >= c.Renewal && c.Hinted(id) {
		return min(late, c.Suspect)
	}
	a.next = min(a.next, max(hintEvery, late-silence))
	return c.Suspect
}

// loss is one thing that a silence of a node can cost.
type loss struct {
	key     any // model.RankKey or model.AllocationID
	after   time.Duration
	command func(*contact) command.Body
}

// losses returns what lives on a node and is not waiting for its report.
func (a *agenda) losses(id model.NodeID) (out []loss) {
	for k := range a.state.NodeRanks.From(state.NodeRankKey{Node: id}) {
		if k.Node != id {
			break
		}
		r, _ := a.state.Ranks.Get(k.Rank)
		at, _ := a.state.Attempts.Get(k.Rank.Attempt())
		if r.Orphan > 0 || at.Frozen.OnLost == model.OnLostHold {
			continue
		}
		out = append(out, loss{k.Rank, at.Frozen.LostAfter(), func(c *contact) command.Body {
			return &command.RankLost{Rank: k.Rank, Epoch: c.epoch, Seq: c.seq}
		}})
	}
	plain := (&model.Spec{DisconnectGrace: model.DefaultDisconnectGrace}).Freeze()
	for _, al := range allocations(a.state, id) {
		out = append(out, loss{al, plain.LostAfter(), func(c *contact) command.Body {
			return &command.AllocationLost{ID: al, Node: id, Epoch: c.epoch, Seq: c.seq}
		}})
	}
	return out
}

// allocations returns those that hold GPUs of a node, each once.
func allocations(s *state.State, id model.NodeID) (out []model.AllocationID) {
	seen := map[model.AllocationID]bool{}
	for k := range s.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU})
		if slot.Owner == model.OwnerAllocation && !seen[slot.Allocation] {
			seen[slot.Allocation] = true
			out = append(out, slot.Allocation)
		}
	}
	return out
}

// orphan decides on a rank that its agent has forgotten.
func (a *agenda) orphan(w *watched[model.RankKey]) (keep, more bool) {
	r, found := a.state.Ranks.Get(w.key)
	at, _ := a.state.Attempts.Get(w.key.Attempt())
	if !found || r.Phase.Ended() || r.Orphan == 0 || at.Frozen.OnLost == model.OnLostHold {
		return false, true
	}
	lease, _ := a.state.Leases.Get(r.Node)
	w.asked = a.due(at.Frozen.LostAfter()-a.book.own(a.now, w.since), w.asked,
		&command.RankLost{Rank: w.key, Epoch: lease.Epoch, Seq: lease.Seq, Orphan: r.Orphan})
	return true, true
}

// start decides on an attempt that had not started when it was first seen. As all have the same time for it,
// none of the later ones is due before the first.
func (a *agenda) start(w *watched[model.AttemptKey]) (keep, more bool) {
	in := a.book.config.StartDeadline - a.book.own(a.now, w.since)
	if in > 0 {
		a.next = min(a.next, in)
		return true, false
	}
	at, found := a.state.Attempts.Get(w.key)
	if !found || !overdue(&at) {
		return false, true
	}
	w.asked = a.due(in, w.asked, &command.StartOverdue{Attempt: w.key})
	return true, true
}
