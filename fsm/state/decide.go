package state

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Decide judges the dependencies of a job that are decided for each task by itself, for one of its tasks: whether the task may
// start as far as they go, and whether it never may. The function reports whether a task has completed. Only tasks of arrays
// have counterparts of the same number.
func Decide(job *model.Job, rows []dependency.Row, task uint32, completed func(model.TaskKey) bool) (ok, never bool) {
	ok = true
	alternatives, held, lost := 0, false, 0
	for i := range rows {
		d := &rows[i]
		if !d.Each {
			continue
		}
		met := d.State == dependency.Met ||
			d.Key.Kind == dependency.AfterCorr && job.Array() && completed(model.TaskKey{Job: d.Key.On, Task: task})
		no := !met && d.State == dependency.Never
		if !d.Any {
			ok, never = ok && met, never || no
			continue
		}
		alternatives++
		held = held || met
		if no {
			lost++
		}
	}
	if alternatives > 0 {
		ok, never = ok && held, never || lost == alternatives
	}
	return ok, never
}

// Settled yields the jobs that wait for what has happened by now: for jobs that have ended or begun, and for the end of a delay.
// A job may come several times.
func (s *State) Settled(now model.Time) iter.Seq[model.JobID] {
	return func(yield func(model.JobID) bool) {
		for k := range s.Delayed.All() {
			if k.At > now {
				break
			}
			if !yield(k.Row.Job) {
				return
			}
		}
		for on := range s.Settling.All() {
			job, _ := s.Jobs.Get(on)
			from := AwaitedKey{On: on}
			if job.EndIndex == 0 {
				from.Kind = dependency.AfterBegin
			}
			for k := range s.Awaited.From(from) {
				if k.On != on || from.Kind > 0 && k.Kind != from.Kind {
					break
				}
				if !yield(k.Job) {
					return
				}
			}
		}
	}
}
