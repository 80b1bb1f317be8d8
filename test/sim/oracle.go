package sim

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// oracle applies the log once more, independently of the peers: it checks every state on the way, and every peer's state against its own.
type oracle struct {
	w *World

	mu      sync.Mutex
	state   state.State
	next    uint64 // index of the next entry to apply
	digests map[uint64]model.Hash
	judged  map[*cluster.Peer]uint64 // up to which index each life of a peer has been compared
	log     []logged
	skipped int // entries since the last whole check
}

// logged is an entry of the command log.
type logged struct {
	index, term uint64
	entry       command.Entry
	results     []command.Result
}

// checkEvery is how many entries may pass between two checks of a whole state.
const checkEvery = 50

func newOracle(w *World) *oracle {
	return &oracle{w: w, next: 1, digests: map[uint64]model.Hash{}, judged: map[*cluster.Peer]uint64{}}
}

// follow applies what the peers have applied, and compares.
func (o *oracle) follow() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.w.peers() {
		run := p.running()
		if run == nil {
			continue
		}
		s := run.State()
		o.until(s.Index)
		if s.Index == o.judged[run] {
			continue
		}
		o.judged[run] = s.Index
		if d, known := o.digests[s.Index]; known && d != s.Digest() {
			o.w.differs(p.name, s.Index)
		}
	}
}

// until applies the log up to an index that some peer has applied, so that it is committed.
func (o *oracle) until(index uint64) {
	for o.next <= index {
		entry, found := o.w.entry(o.next)
		if !found {
			o.resync(index)
			return
		}
		if entry.Type == raft.LogCommand {
			o.apply(entry)
		}
		o.next++
	}
}

// resync takes a peer's state after a gap: every log that had the entries has been cut after a snapshot.
func (o *oracle) resync(index uint64) {
	for _, p := range o.w.peers() {
		if run := p.running(); run != nil {
			if s := run.State(); s.Index >= index {
				o.w.trace.Note("the oracle skips entries %d to %d", o.next, s.Index)
				o.state, o.next = s, s.Index+1
				o.digests[s.Index] = s.Digest()
				return
			}
		}
	}
}

func (o *oracle) apply(l *raft.Log) {
	e, err := command.Decode(l.Data)
	if err != nil {
		o.w.trace.Break(BreachDefect, "entry %d cannot be read: %v", l.Index, err)
		return
	}
	before := o.state
	next, results, changes := apply.Apply(before, state.Meta{Index: l.Index, Term: l.Term, At: e.At, By: e.By, Hash: e.Hash}, e.Commands)
	o.state = next
	o.digests[l.Index] = next.Digest()
	o.log = append(o.log, logged{l.Index, l.Term, e, results})
	for _, i := range changes.Panics {
		o.w.trace.Break(BreachDefect, "command %d of entry %d (%s) panicked", i, l.Index, e.Commands[i].Kind())
	}
	if err := errors.Join(check.Move(&before, &next), checkOwners(&before, &next)); err != nil {
		o.w.trace.Break(BreachInvariant, "by entry %d: %v", l.Index, err)
	}
	for i := range e.Commands {
		if results[i].Code == model.CodeOK {
			o.w.rules.carriedOut(e.Commands[i].Body)
		}
	}
	for _, d := range table.Diffs(before.Attempts, next.Attempts) {
		if d.Is && !d.Was {
			o.w.rules.placed(&before, &next, &d.After)
		}
	}
	for _, d := range table.Diffs(before.Ranks, next.Ranks) {
		if d.Is && d.After.Phase == model.RankExited && d.Before.Phase != model.RankExited {
			o.w.rules.led(&next, &d.After)
		}
	}
	if o.skipped++; o.skipped >= checkEvery {
		o.check()
	}
}

// checkOwners checks, of what an entry has changed, that a task has at most one live attempt and that a slot has one owner, which lives.
func checkOwners(before, after *state.State) error {
	for k, d := range table.Diffs(before.Attempts, after.Attempts) {
		if d.Is && d.After.Live() && liveAttempts(after, k.TaskKey()) > 1 {
			return fmt.Errorf("%s: task %s has two", check.OneAttempt, k.TaskKey())
		}
	}
	for k, d := range table.Diffs(before.Slots, after.Slots) {
		r, found := after.Ranks.Get(d.After.Rank)
		if d.After.Owner == model.OwnerAttempt && (!found || r.Phase.Ended() || r.Node != d.After.Node || d.After.Allocation != "") {
			return fmt.Errorf("%s: %v is %+v, the rank %+v", check.SingleOwner, k, d.After, r)
		}
	}
	for k, d := range table.Diffs(before.Ranks, after.Ranks) {
		if !d.After.Phase.Ended() {
			continue
		}
		for _, at := range after.SlotsOf(k) {
			if slot, _ := after.Slots.Get(at); slot.Owner == model.OwnerAttempt {
				return fmt.Errorf("%s: %v is owned by rank %s, which has ended", check.SingleOwner, at, k)
			}
		}
	}
	return nil
}

func liveAttempts(s *state.State, t model.TaskKey) (n int) {
	for k, a := range s.Attempts.From(t.Attempt(0)) {
		if k.TaskKey() != t {
			break
		}
		if a.Live() {
			n++
		}
	}
	return n
}

// check checks the whole state.
func (o *oracle) check() {
	o.skipped = 0
	if err := check.State(&o.state); err != nil {
		o.w.trace.Break(BreachInvariant, "at %d: %v", o.state.Index, err)
	}
}

// now returns the newest state that any peer has applied.
func (o *oracle) now() state.State {
	o.follow()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

// mayKill checks that a rank that a host is about to kill, because it is no longer desired there, has really ended as far as the cluster
// goes.
func (o *oracle) mayKill(where string, k model.RankKey) {
	s := o.now()
	if r, found := s.Ranks.Get(k); found && !r.Phase.Ended() && r.Orphan == 0 {
		o.w.trace.Break(BreachUnwanted, "%s kills %s, which is %s in state %d", where, k, r.Phase, s.Index)
	}
}

// entry finds a log entry on some peer's disk.
func (w *World) entry(index uint64) (*raft.Log, bool) {
	for _, p := range w.peers() {
		run := p.running()
		if run == nil {
			continue
		}
		if s := run.State(); s.Index < index {
			continue // what lies beyond the state may not be committed
		}
		p.mu.Lock()
		disk := p.disk
		p.mu.Unlock()
		if l, found := disk.Entry(index); found {
			return l, true
		}
	}
	return nil, false
}

// differs reports a peer whose state is not what the log gives.
func (w *World) differs(name string, index uint64) {
	if !w.Quarantine {
		w.trace.Break(BreachDivergence, "%s at index %d", name, index)
	}
}
