package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// overdue is a task that has waited for longer than its bound.
type overdue struct {
	task  model.TaskKey
	bound model.Time // when it reached its bound
	at    SortKey    // among those with the same bound
	gpus  uint32
	live  bool
	early bool // it may not run yet, although others of its run may
}

// maxEarly bounds the tasks of a run that may not run yet and are looked at in addition to those that count.
const maxEarly = 256

// boundOf returns how long a task of so many GPUs may wait before it comes to the front. A task that needs every
// GPU of the cluster comes there after a sixth less than the wait bound, since the GPUs have to become free one
// after the other. For fewer GPUs the difference is smaller in proportion.
func (o *Ordering) boundOf(gpus uint32) time.Duration {
	bound, all := o.Tuning.WaitBound, int64(max(o.State.Slots.Len(), 1))
	return bound - time.Duration(scale(uint64(bound/6), uint64(min(int64(gpus), all)), uint64(all)))
}

// Urgent reports whether a waiting task is at the head of the line or, under a policy without a head of the
// line, has waited as long as a task at the head has.
func (o *Ordering) Urgent(k state.QueueKey) bool {
	if o.Policy.Bounded {
		return o.Front[k.Task] > 0
	}
	run := k.Run.Value()
	_, gpus := sinceOf(k, &run)
	return o.waited(k) > o.boundOf(gpus) && !o.stands(k.Task)
}

// stands reports whether a waiting task may not run now no matter what is free: its instant has not come yet, or a
// limit leaves no room for it.
func (o *Ordering) stands(key model.TaskKey) bool {
	t := admission.TicketOf(o.State, key)
	if o.early(t) {
		return true
	}
	spec := &t.Job.Spec
	b := admission.NewBudget(o.State, o.Now)
	return !b.Allows(spec.Project, spec.User, spec.Least(), t.LiveTasks())
}

// early reports whether a waiting task may not run yet: its instant has not come, or others of its job have to end
// before.
func (o *Ordering) early(t *admission.Ticket) bool {
	return t.Task.NotBefore > o.Now || t.Job.Throttle > 0 && t.Job.Live >= t.Job.Throttle
}

// drainAfter is how many times the wait bound a task waits before the GPUs are drained that it is expected to have
// soonest. Until then these are filled with tasks that are expected to end before, so that the task waits for as
// long as the worst estimate among them. From then on it waits no longer than the tasks there run.
const drainAfter = 3

// Drains reports whether the GPUs reserved for a waiting task are drained: no other task starts there unless
// it can be suspended at once, however soon its expected end is. Where run times have been right, draining
// gains nothing.
func (o *Ordering) Drains(k state.QueueKey) bool {
	waited, after := o.waited(k), drainAfter*o.Tuning.WaitBound
	if waited <= after || o.trust == fullTrust {
		return false
	}
	if run := k.Run.Value(); run.Place.Moved() { // the GPUs are drained for its own wait only
		waited = o.Now.Sub(k.Since)
	}
	return waited > after
}

// AnyUrgent reports whether some waiting task is urgent.
func (o *Ordering) AnyUrgent() bool {
	for _, head := range o.Heads() {
		if o.Urgent(head) {
			return true
		}
	}
	return false
}

// promote brings the tasks that have waited for too long to the front of the line, in the order in which their
// bounds passed, until they would hold half of the cluster. A task that may not run now keeps no other from coming
// there.
func (o *Ordering) promote() {
	all := o.overdue()
	slices.SortFunc(all, func(a, b overdue) int {
		return cmp.Or(cmp.Compare(a.bound, b.bound), a.at.Compare(b.at))
	})
	var gpus uint32
	for i, v := range all {
		stands := v.early || !v.live && o.stands(v.task)
		if !stands {
			first := gpus == 0
			if gpus += v.gpus; !first && 2*gpus > uint32(o.State.Slots.Len()) {
				return
			}
		}
		o.Front[v.task] = i + 1
		switch {
		case v.live:
			o.FrontGPUs += v.gpus
		case !stands:
			o.Strict = true
		}
	}
}

// overdue lists the tasks that have waited for longer than the bound: of each run no more than could come to the
// front, in addition to those that may not run yet.
func (o *Ordering) overdue() (out []overdue) {
	half := uint32(o.State.Slots.Len() / 2)
	some := anyDue(o.State, o.Now)
	for _, head := range o.Heads() {
		run := head.Run.Value()
		_, counted := sinceOf(head, &run)
		n, bound := run.Shape.GPUs, o.boundOf(counted)
		gpus, early := uint32(0), 0
		for k := range o.State.Queue.From(head) {
			if !SameRun(k, head) || o.waited(k) <= bound || gpus > half || early > maxEarly {
				break
			}
			since, _ := sinceOf(k, &run)
			v := overdue{task: k.Task, bound: since.Add(bound), at: plainKey(k, &run), gpus: n}
			if v.early = (some || run.Throttled) && o.early(admission.TicketOf(o.State, k.Task)); v.early {
				early++
			} else {
				gpus += n
			}
			out = append(out, v)
		}
	}
	if len(out) == 0 && o.State.Settings().Steer.Rate == 0 {
		return nil
	}
	for key := range o.State.LiveTasks.All() {
		k := o.keyOf(key)
		run := k.Run.Value()
		since, gpus := sinceOf(k, &run)
		if bound := o.boundOf(gpus); o.waitedOf(key, k) > bound {
			task, _ := o.State.Tasks.Get(key)
			a, _ := o.State.Attempts.Get(task.Newest())
			out = append(out, overdue{task: key, bound: since.Add(bound), at: plainKey(k, &run), gpus: a.GPUs, live: true})
		}
	}
	return out
}

// anyDue reports whether some waiting task may not be tried before a later instant.
func anyDue(s *state.State, now model.Time) bool {
	for range s.Due.From(state.DueKey{At: now + 1}) {
		return true
	}
	return false
}

func (o *Ordering) keyOf(key model.TaskKey) state.QueueKey {
	task, _ := o.State.Tasks.Get(key)
	job, _ := o.State.Jobs.Get(key.Job)
	return state.KeyOf(&task, &job)
}

// waitedOf returns how long a live task had waited when it was placed.
func (o *Ordering) waitedOf(key model.TaskKey, k state.QueueKey) time.Duration {
	task, _ := o.State.Tasks.Get(key)
	a, _ := o.State.Attempts.Get(task.Newest())
	if run := k.Run.Value(); run.Place.Moved() {
		return a.Placed.Sub(run.Place.Since) - run.Place.Executed
	}
	return task.AgeAt(a.Placed)
}

// plainKey returns the place of a task by the log alone.
func plainKey(k state.QueueKey, run *state.Run) SortKey {
	if p := &run.Place; p.Moved() {
		return SortKey{Task: p.Task, Turn: p.Turn, Own: k.Task}
	}
	return SortKey{Task: k.Task}
}

// The credit of tasks at the front: a quarter of the cluster's GPU time, saved up for four hours at most. When it
// is spent, these tasks stand where the policy's order has them, until most of the credit is there again: under
// overload a bound on the wait must not become first come, first served.
const (
	creditPart  = 4
	creditHours = 4
)

// Credit is what is left of the GPU time of tasks at the front.
type Credit struct {
	Left  int64 // GPU-seconds
	Spent bool
}

func creditAt(s *state.State, now model.Time) Credit {
	set := s.Settings()
	return creditOf(&set.Steer, int64(s.Slots.Len()), now)
}

// creditOf returns what is left in a cluster of so many GPUs.
func creditOf(steer *model.Steer, gpus int64, now model.Time) Credit {
	most := gpus * creditHours * 3600
	if steer.At == 0 {
		return Credit{Left: most}
	}
	gain := (gpus - creditPart*int64(steer.Rate)) * max(now.Sub(steer.At), 0).Milliseconds() / (creditPart * 1000)
	c := Credit{Left: min(steer.Credit+gain, most), Spent: steer.Spent}
	switch {
	case c.Left < 0:
		c.Spent = true
	case c.Left > most/10*9:
		c.Spent = false
	}
	return c
}
