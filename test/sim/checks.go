package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// Time limits for the promises after everything has been healed.
const (
	progressWithin = 5 * time.Second
	drainWithin    = 8 * time.Minute
	drainEach      = 5 * time.Second // on the smallest clusters jobs run one or two at a time
)

// watch checks what must always hold, ten times a second.
func (w *World) watch() {
	var seen state.State
	for n := 0; sleep(w.ctx, 100*time.Millisecond); n++ {
		w.truth.mu.Lock()
		w.truth.look()
		w.truth.mu.Unlock()
		w.oracle.follow()
		if n%10 == 0 {
			seen = w.checkExits(seen)
			w.rules.move(&seen)
		}
	}
}

// checkExits checks the exits that were recorded after a state, and returns the newest state.
func (w *World) checkExits(since state.State) state.State {
	s := w.oracle.now()
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	for k, d := range table.Diffs(since.Ranks, s.Ranks) {
		if d.Is {
			w.truth.checkExit(k, &d.After)
		}
	}
	return s
}

// Settle heals everything and checks what must hold in the end: progress at once, every job brought to its
// end, every GPU clean, all peers of one state, and all acknowledged requests in it.
func (w *World) Settle() {
	if w.trace.Broken() != nil {
		return
	}
	w.heal()
	w.checkProgress()
	w.checkDrained()
	w.checkAgreement()
	w.checkDeeds()
	w.checkExits(state.State{})
}

// checkProgress checks that the cluster takes a job soon.
func (w *World) checkProgress() {
	u := newUser(w, "prober", 999)
	defer u.close()
	ctx, cancel := context.WithTimeout(w.ctx, progressWithin)
	defer cancel()
	job := plainJob
	if d := u.submit(ctx, &job); !d.acked {
		w.trace.Break(BreachProgress, "no submission was acknowledged within %v of healing", progressWithin)
	}
}

// tidy does what an operator does after trouble: cancel bookings, open the nodes, release held ranks, and
// reboot a host on which a forgotten rank waits for its report.
func (w *World) tidy(u *user) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	s := w.oracle.now()
	for id, n := range s.Nodes.All() {
		if n.Mode != model.ModeOpen {
			u.setMode(ctx, id, model.ModeOpen)
		}
	}
	for k, t := range s.Tasks.All() {
		if t.Held && t.State == model.TaskQueued {
			u.release(ctx, k.Job)
		}
	}
	for id := range s.Bookings.All() {
		u.command(ctx, &command.CancelBooking{ID: id})
	}
	lost := w.orphans()
	for _, h := range w.hosts { // one at a time: the next look may find less
		if len(lost) > 0 && h.id.node == lost[0].Node && h.id.cloneOf == "" {
			w.trace.Fault("operator reboots %s, which has forgotten %s", h.name, lost[0].Key)
			h.powerOff()
			h.powerOn()
		}
	}
}

// orphans lists held ranks that their agents have forgotten.
func (w *World) orphans() (out []model.Rank) {
	s := w.oracle.now()
	for k, r := range s.Ranks.All() {
		if a, _ := s.Attempts.Get(k.Attempt()); r.Orphan > 0 && !r.Phase.Ended() && a.Frozen.OnLost == model.OnLostHold {
			out = append(out, r)
		}
	}
	return out
}

// checkDrained checks that every job ends and every GPU becomes free.
func (w *World) checkDrained() {
	u := newUser(w, "operator", 998)
	defer u.close()
	s := w.oracle.now()
	n := s.Settings().Totals
	left := n.Submitted - n.Completed - n.Failed - n.Canceled
	within := drainWithin + time.Duration(left)*drainEach
	for end := time.Now().Add(within); time.Now().Before(end) && w.trace.Broken() == nil; {
		w.tidy(u)
		if w.Until(10*time.Second, func() bool { return !w.open() && w.unfinished() == "" }) {
			return
		}
	}
	if w.trace.Broken() == nil {
		w.trace.Break(BreachUnfinished, "after %v: %s", within, w.unfinished())
	}
}

// open reports, by counts that are an invariant of their own, whether anything has not come to its end.
func (w *World) open() bool {
	s := w.oracle.now()
	n := s.Settings().Totals
	return n.Submitted > n.Completed+n.Failed+n.Canceled || s.Owners.Len() > 0
}

// unfinished names something that has not come to its end.
func (w *World) unfinished() string {
	s := w.oracle.now()
	for k, t := range s.Tasks.All() {
		if !t.State.Terminal() {
			a, _ := s.Attempts.Get(t.Newest())
			why, _ := explain.Task(&s, s.Settings().Clock, k)
			return fmt.Sprintf("task %s is %s: %+v; for %+v; attempt %+v; ranks %+v", k, t.State, t, why.Blockers, a, s.RanksOf(a.Key))
		}
	}
	for k, slot := range s.Slots.All() {
		if slot.Owner != model.OwnerNone {
			return fmt.Sprintf("GPU %s is %s: %+v", k.GPU, slot.Owner, slot)
		}
	}
	if busy := w.truth.busy(); len(busy) > 0 {
		return fmt.Sprintf("processes of %v still run", busy)
	}
	return ""
}

// checkAgreement checks that all peers come to one state.
func (w *World) checkAgreement() {
	same := func() bool {
		var digests []model.Hash
		for _, p := range w.peers() {
			run := p.running()
			if run == nil {
				return false
			}
			s := run.State()
			digests = append(digests, s.Digest())
		}
		return len(slices.Compact(digests)) == 1
	}
	if !w.Until(30*time.Second, same) && w.trace.Broken() == nil {
		w.trace.Break(BreachDivergence, "the peers do not come to one state: %s", w.standing())
	}
	w.oracle.follow()
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	w.oracle.check()
}

// standing describes the peers for a message.
func (w *World) standing() string {
	var out string
	for _, p := range w.peers() {
		if run := p.running(); run != nil {
			s := run.Status()
			out += fmt.Sprintf("%s %s term %d applied %d of %d; ", p.name, s.Role, s.Term, s.Applied, s.Last)
		} else {
			out += p.name + " is down; "
		}
	}
	return out
}

// checkDeeds checks that answers to users are true, and that nothing was carried out twice.
func (w *World) checkDeeds() {
	s := w.oracle.now()
	named := map[string]int{}
	for _, j := range s.Jobs.All() {
		if named[j.Spec.Name]++; named[j.Spec.Name] > 1 {
			w.trace.Break(BreachTwice, "there are two jobs %q", j.Spec.Name)
		}
	}
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	for _, d := range w.shared.acks {
		row, found := s.Request(d.actor, d.request)
		if found != d.ok() || found && d.id != 0 && row.Job != d.id {
			w.trace.Break(BreachLost, "%s of %s was answered %s, job %s; the state has %+v", d.kind, d.request, d.code, d.id, row)
		}
		if d.job != "" && d.ok() && named[d.job] != 1 {
			w.trace.Break(BreachLost, "job %q was acknowledged; the state has %d of it", d.job, named[d.job])
		}
	}
}
