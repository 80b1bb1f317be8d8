package sched

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// spare is how many jobs of each run are looked at in any case if an outlook is asked
// for.
const spare = 4

// waiting adds the jobs that wait, of each run no more than there are GPUs for if all
// are thought away that may be suspended; as many again of those that keep off GPUs.
func (b *builder) waiting() {
	open := uint32(max(b.gpus-b.stays, 0)) //nolint:gosec // not negative
	if b.keeper != nil {
		open = uint32(b.pass.state.Slots.Len()) //nolint:gosec // GPUs: bookings may refuse the first of a run
	}
	tried := map[model.TaskKey]bool{} // that have been tried before; true: not yet again
	for k := range b.pass.state.Due.All() {
		tried[k.Task] = k.At > b.pass.now
	}
	for head := range heads(b.pass.state) {
		lineUp(b, head, open, tried)
	}
}

// lineUp adds the jobs of one run.
func lineUp(b *builder, head state.QueueKey, open uint32, tried map[model.TaskKey]bool) {
	p, run := b.pass, head.Run.Value()
	like := b.job(&run, split.Job{Shape: b.keeper.alike(run, b.shape(run.Shape).number)})
	like.Stay = p.order.stays(head, p.order.strict)
	if !run.Throttled {
		like.Uses = b.bounds.uses(&run, 0, false)
	}
	limited := slices.ContainsFunc(b.bounds.limitsOf(run.Project, run.User), func(l model.Limit) bool { return l.RunTime > 0 })
	least := run.Shape.MinGPUs
	if least == 0 {
		least = max(run.Shape.GPUs, 1)
	}
	var sum, picky, n uint32
	queued := quota{}
	for k := range p.state.Queue.From(head) {
		if !sameRun(k, head) || sum >= open && (n >= spare || !p.found.looks) {
			return
		}
		wait, again := tried[k.Task]
		if wait || p.done[k.Task] || len(p.pool.kept[k.Task]) > 0 || limited && !mayRun(p.state, k.Task) {
			continue
		}
		j := like
		if j.Drains = p.order.drains(k); run.Again {
			j.Stay = p.order.stays(k, p.order.strict)
		}
		if run.Throttled {
			if !queued.more(p.state, k.Task.Job) {
				continue
			}
			j.Uses = b.bounds.uses(&run, k.Task.Job, false)
		}
		n++
		b.keeper.waiting(k)
		if again {
			j.Shuns = b.shuns(k.Task)
		}
		if len(j.Shuns) > 0 {
			j.Shape = -1 // it is like no other
		}
		if len(j.Shuns) > 0 && picky < open {
			picky += least // who comes after it may have what it keeps off
		} else {
			sum += least
		}
		b.add(candidate{at: p.order.standing(k), key: k}, j, run.Shape.GPUs)
	}
}

// quota counts the tasks of one job that come one after the other.
type quota struct {
	job  model.JobID
	left uint32
}

// more says that so many tasks of a job may run at once, and one more.
func (q *quota) more(s *state.State, id model.JobID) bool {
	if q.job != id {
		job, _ := s.Jobs.Get(id)
		*q = quota{id, job.Throttle}
	}
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}
