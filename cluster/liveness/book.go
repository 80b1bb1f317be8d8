package liveness

import (
	"iter"
	"maps"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Config sets the time limits. A zero duration means its default.
type Config struct {
	Suspect       time.Duration // silence towards this leader after which a node gets no new work; 10 s
	Renewal       time.Duration // how often agents renew; 2 s
	StartDeadline time.Duration // from the placement of an attempt to the start of its last rank; 10 min
	Retry         time.Duration // before a command that came to nothing is made again; 1 s
	// Hinted reports whether gossip finds a node silent. It only makes the suspicion of a node come sooner whose renewal
	// is late, too; nil: there is no gossip.
	Hinted func(model.NodeID) bool
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value *time.Duration
		to    time.Duration
	}{
		{&c.Suspect, 10 * time.Second},
		{&c.Renewal, 2 * time.Second},
		{&c.StartDeadline, 10 * time.Minute},
		{&c.Retry, time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.to
		}
	}
	return c
}

// Book is what a leader has witnessed since its election. It belongs to one goroutine.
type Book struct {
	config Config
	began  time.Duration // the later of the election and the last stall
	begun  bool          // a state has been observed since the election
	read   model.Topics  // of the state observed last

	nodes    map[model.NodeID]*contact
	starting watch[model.AttemptKey] // attempts with ranks that had not started
	orphans  watch[model.RankKey]
}

// contact is the book's entry for one node.
type contact struct {
	epoch, seq uint64        // of the newest renewal
	since      time.Duration // when that was first seen

	suspect bool
	doubted time.Duration // since when it has been seen suspect
	desired uint64        // index of the last change of what should run there, as read
	asked   map[any]time.Duration
	asDoubt time.Duration // when the suspicion may next be proposed
}

// New returns the book of a leader that is about to be elected.
func New(c Config) *Book {
	b := &Book{config: c.withDefaults()}
	b.Elected(0)
	return b
}

// Elected restarts the book at this leader's own election. Call it, and observe a state for the first time,
// only when that state holds everything that was committed before the election.
func (b *Book) Elected(now time.Duration) {
	*b = Book{config: b.config, began: now, nodes: map[model.NodeID]*contact{}}
}

// Stalled restarts all counts, since this leader's process was stopped: messages of nodes may still be on
// their way.
func (b *Book) Stalled(now time.Duration) { b.began = max(b.began, now) }

// own returns how much of the time since then counts.
func (b *Book) own(now, since time.Duration) time.Duration {
	return max(0, now-max(since, b.began))
}

// Observe notes what has changed since the last state: renewals of nodes, attempts and orphans.
func (b *Book) Observe(now time.Duration, s *state.State) {
	topics := s.Settings().Topics
	if b.begun && topics[model.TopicNode] == b.read[model.TopicNode] && topics[model.TopicLease] == b.read[model.TopicLease] {
		return // placements, starts of orphanhood and ends all change what should be on a node
	}
	for id, lease := range s.Leases.All() {
		node, _ := s.Nodes.Get(id)
		b.contact(now, &lease).observe(now, &node)
	}
	b.observeRanks(now, s)
	if len(b.nodes) > s.Leases.Len() {
		maps.DeleteFunc(b.nodes, func(id model.NodeID, _ *contact) bool { return !s.Leases.Has(id) })
	}
	b.read, b.begun = topics, true
}

// contact returns the book's entry for a lease, restarted if that has been renewed.
func (b *Book) contact(now time.Duration, l *model.Lease) *contact {
	c, found := b.nodes[l.Node]
	if found && c.epoch == l.Epoch && c.seq == l.Seq {
		return c
	}
	fresh := &contact{epoch: l.Epoch, seq: l.Seq, since: now}
	if found {
		fresh.desired = c.desired
	}
	b.nodes[l.Node] = fresh
	return fresh
}

func (c *contact) observe(now time.Duration, n *model.Node) {
	suspect := n.Status == model.NodeSuspect
	if suspect && !c.suspect {
		c.doubted = now
	}
	c.suspect = suspect
}

// observeRanks finds attempts and orphans on the nodes on which something has changed.
func (b *Book) observeRanks(now time.Duration, s *state.State) {
	for id, use := range s.NodeUse.All() {
		c, found := b.nodes[id]
		if !found || c.desired == use.Desired {
			continue
		}
		c.desired = use.Desired
		for k := range s.NodeRanks.From(state.NodeRankKey{Node: id}) {
			if k.Node != id {
				break
			}
			if r, _ := s.Ranks.Get(k.Rank); r.Orphan > 0 {
				b.orphans.add(k.Rank, now)
			}
			if a, _ := s.Attempts.Get(k.Rank.Attempt()); overdue(&a) {
				b.starting.add(a.Key, now)
			}
		}
	}
}

// Starting returns attempts that had not started when they were first seen, the oldest first; some may have
// since.
func (b *Book) Starting() iter.Seq[model.AttemptKey] {
	return func(yield func(model.AttemptKey) bool) {
		for i := range b.starting.list {
			if !yield(b.starting.list[i].key) {
				return
			}
		}
	}
}

// overdue reports whether an attempt would be, if its time were over.
func overdue(a *model.Attempt) bool {
	return a.Live() && a.Begun < a.Ranks && a.Stop == model.ReasonNone
}

// watch is a list of things that have begun, oldest first.
type watch[K comparable] struct {
	seen map[K]bool
	list []watched[K]
}

type watched[K comparable] struct {
	key   K
	since time.Duration
	asked time.Duration // when a command may next be made
}

func (w *watch[K]) add(k K, now time.Duration) {
	if w.seen == nil {
		w.seen = map[K]bool{}
	}
	if !w.seen[k] {
		w.seen[k] = true
		w.list = append(w.list, watched[K]{key: k, since: now})
	}
}

// visit calls look for each, oldest first: keep is whether to go on watching it, and more whether to go on to
// the next.
func (w *watch[K]) visit(look func(*watched[K]) (keep, more bool)) {
	kept := w.list[:0]
	for i := range w.list {
		keep, more := look(&w.list[i])
		if keep {
			kept = append(kept, w.list[i])
		} else {
			delete(w.seen, w.list[i].key)
		}
		if !more {
			if len(kept) == i+1 {
				return
			}
			kept = append(kept, w.list[i+1:]...)
			break
		}
	}
	clear(w.list[len(kept):])
	w.list = kept
}
