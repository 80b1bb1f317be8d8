package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// overdue is a task that has waited for longer than its bound.
type overdue struct {
	task  model.TaskKey
	bound model.Time // when it had
	gpus  uint32
	live  bool
	early bool // it may not run yet, whatever others of its run may
}

// maxEarly bounds the tasks of a run that may not run yet and are looked at beside those that count.
const maxEarly = 256

// boundOf is how long a task of so many GPUs may wait before it comes to the front: a sixth less than
// the bound that is set for who needs every GPU of the cluster, since they have to become free one
// after the other, and in proportion for others.
func (o *order) boundOf(gpus uint32) time.Duration {
	bound, all := o.tuning.WaitBound, int64(max(o.state.Slots.Len(), 1))
	return bound - time.Duration(scale(uint64(bound/6), uint64(min(int64(gpus), all)), uint64(all))) //nolint:gosec // positive
}

// urgent says that a waiting task is at the front of the line, or, in an order in which nobody comes
// there, has waited for so long that it would.
func (o *order) urgent(k state.QueueKey) bool {
	if o.policy.bounded {
		return o.front[k.Task] > 0
	}
	return o.waited(k) > o.boundOf(k.Run.Value().Shape.GPUs) && !o.stands(k.Task)
}

// stands says that a waiting task may not run now whatever is free: its instant has not come yet, or a
// limit leaves no room for it.
func (o *order) stands(key model.TaskKey) bool {
	t := ticketOf(o.state, key)
	if o.early(t) {
		return true
	}
	spec := &t.job.Spec
	b := newBudget(o.state, o.now)
	return !b.allows(spec.Project, spec.User, spec.Least(), t.live())
}

// early says that a waiting task may not run yet: its instant has not come, or others of its job have to
// end before.
func (o *order) early(t *ticket) bool {
	return t.task.NotBefore > o.now || t.job.Throttle > 0 && t.job.Live >= t.job.Throttle
}

// drainAfter is how many times the wait bound a task waits before those GPUs are drained that it is
// expected to have soonest. Until then they are filled with what is expected to end before, so that it
// waits for as long as whoever estimated worst says; from then on for no longer than what is there runs.
const drainAfter = 3

// drains says that nobody is to start any more on GPUs that are kept for a waiting task who could not
// be suspended at once, however soon they are expected to end. Where run times have been right nothing
// is to be gained by that; and only the time counts in which it could have run.
func (o *order) drains(k state.QueueKey) bool {
	waited, after := o.waited(k), drainAfter*o.tuning.WaitBound
	if waited <= after || o.trust == fullTrust {
		return false
	}
	t := ticketOf(o.state, k.Task)
	return waited-o.state.Eligible(&t.job).Sub(k.Since) > after
}

// anyUrgent says that some waiting task is urgent.
func (o *order) anyUrgent() bool {
	for _, head := range o.firsts() {
		if o.urgent(head) {
			return true
		}
	}
	return false
}

// promote brings those who have waited for too long to the front of the line, whose
// bound passed first before the others, until they would hold half of the cluster. Who may
// not run now keeps nobody else from coming there.
func (o *order) promote() {
	all := o.overdue()
	slices.SortFunc(all, func(a, b overdue) int {
		return cmp.Or(cmp.Compare(a.bound, b.bound), a.task.Compare(b.task))
	})
	var gpus uint32
	for i, v := range all {
		stands := v.early || !v.live && o.stands(v.task)
		if !stands {
			first := gpus == 0
			if gpus += v.gpus; !first && 2*gpus > uint32(o.state.Slots.Len()) { //nolint:gosec // GPUs
				return
			}
		}
		o.front[v.task] = i + 1
		switch {
		case v.live:
			o.held += v.gpus
		case !stands:
			o.strict = true
		}
	}
}

// overdue lists who has waited for longer than the bound: of each run no more than
// could come to the front, beside those who may not run yet.
func (o *order) overdue() (out []overdue) {
	half := uint32(o.state.Slots.Len() / 2) //nolint:gosec // GPUs
	some := anyDue(o.state, o.now)
	for _, head := range o.firsts() {
		run := head.Run.Value()
		n, bound := run.Shape.GPUs, o.boundOf(run.Shape.GPUs)
		gpus, early := uint32(0), 0
		for k := range o.state.Queue.From(head) {
			if !sameRun(k, head) || o.waited(k) <= bound || gpus > half || early > maxEarly {
				break
			}
			v := overdue{task: k.Task, bound: k.Since.Add(bound), gpus: n}
			if v.early = (some || run.Throttled) && o.early(ticketOf(o.state, k.Task)); v.early {
				early++
			} else {
				gpus += n
			}
			out = append(out, v)
		}
	}
	if len(out) == 0 && o.state.Settings().Steer.Rate == 0 {
		return nil
	}
	for key := range o.state.LiveTasks.All() {
		k := o.keyOf(key)
		if bound := o.boundOf(k.Run.Value().Shape.GPUs); o.waitedOf(key, k) > bound {
			task, _ := o.state.Tasks.Get(key)
			a, _ := o.state.Attempts.Get(task.Newest())
			out = append(out, overdue{task: key, bound: k.Since.Add(bound), gpus: a.GPUs, live: true})
		}
	}
	return out
}

// anyDue says that some waiting task is not to be tried before an instant to come.
func anyDue(s *state.State, now model.Time) bool {
	for range s.Due.From(state.DueKey{At: now + 1}) {
		return true
	}
	return false
}

func (o *order) keyOf(key model.TaskKey) state.QueueKey {
	task, _ := o.state.Tasks.Get(key)
	job, _ := o.state.Jobs.Get(key.Job)
	return state.KeyOf(&task, &job)
}

// waitedOf is how long a live task had waited when it was placed.
func (o *order) waitedOf(key model.TaskKey, k state.QueueKey) time.Duration {
	task, _ := o.state.Tasks.Get(key)
	a, _ := o.state.Attempts.Get(task.Newest())
	return a.Placed.Sub(k.Since) - task.Executed
}

// The credit of those at the front: a quarter of the cluster's GPU time, saved up
// for four hours at most. When it is spent they stand where the order has them,
// until most of it is there again: under overload a bound on the wait must not
// become first come, first served.
const (
	creditPart  = 4
	creditHours = 4
)

type credit struct {
	left  int64 // GPU-seconds
	spent bool
}

func creditAt(s *state.State, now model.Time) credit {
	set := s.Settings()
	return creditOf(&set.Steer, int64(s.Slots.Len()), now)
}

// creditOf is what is left of a cluster of so many GPUs.
func creditOf(steer *model.Steer, gpus int64, now model.Time) credit {
	most := gpus * creditHours * 3600
	if steer.At == 0 {
		return credit{left: most}
	}
	gain := (gpus - creditPart*int64(steer.Rate)) * max(now.Sub(steer.At), 0).Milliseconds() / (creditPart * 1000)
	c := credit{left: min(steer.Credit+gain, most), spent: steer.Spent}
	switch {
	case c.left < 0:
		c.spent = true
	case c.left > most/10*9:
		c.spent = false
	}
	return c
}
