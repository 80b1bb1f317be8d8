package sim

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// staySlack is how much longer an attempt may stay as it is than its own times allow: agents that have just started register, renew
// and look at what is left.
const staySlack = 30 * time.Second

// stay is since when a live attempt has been as it is.
type stay struct {
	as    string
	since time.Time
	found bool // it was reported
}

// move checks that once nothing is broken any more, each attempt that starts or stops moves on: it must not hold its GPUs and do
// nothing. How long an attempt runs is the job's own; a rank whose agent has lost its data folder waits for its lease or an operator.
func (r *rules) move(s *state.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, before := time.Now(), r.stays
	r.stays = make(map[model.AttemptKey]stay, len(before))
	for k, t := range s.Tasks.All() {
		if !t.State.Live() {
			continue
		}
		a, _ := s.Attempts.Get(t.Newest())
		ranks := s.RanksOf(a.Key)
		is := stay{as: fmt.Sprint(a.State, a.Stop, a.Run), since: now}
		forgotten := false
		for i := range ranks {
			is.as += fmt.Sprint(ranks[i].Phase)
			forgotten = forgotten || ranks[i].Orphan > 0 && !ranks[i].Phase.Ended()
		}
		if was := before[a.Key]; was.as == is.as {
			is = was
		}
		limit := r.w.tuning().StartDeadline + staySlack
		if a.Stop != model.ReasonNone {
			limit = a.Frozen.CheckpointGrace + a.Frozen.Grace + a.Frozen.Kill + staySlack
		}
		moves := a.State == model.TaskRunning && a.Stop == model.ReasonNone
		if !moves && !forgotten && !is.found && !r.soundAt.IsZero() && now.Sub(is.since) > limit && now.Sub(r.soundAt) > limit {
			is.found = true
			r.w.trace.Break(BreachStuck, "task %s has been %s, stop %q, for %v: ranks %+v", k, a.State, a.Stop, now.Sub(is.since), ranks)
		}
		r.stays[a.Key] = is
	}
}
