package check

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkDependencies: a job counts its dependencies, and has run nothing as long as it waits.
func checkDependencies(c *checker) {
	all, waits, each := map[model.JobID]int{}, map[model.JobID]uint32{}, map[model.JobID]uint32{}
	for k, d := range c.s.Dependencies.All() {
		job, found := c.s.Jobs.Get(k.Job)
		c.hold(found && k.Kind.Valid() && d.State.Valid(), References, "dependency %v is %+v of no job", k, d)
		c.hold(k.On < k.Job, InTurn, "job %s waits for job %s, which is not earlier", k.Job, k.On)
		c.hold(d.Due == 0 || k.Kind == dependency.AfterBegin, InTurn, "dependency %v has the due time %d", k, d.Due)
		c.hold(k.Kind != dependency.AfterCorr || d.Each, InTurn, "dependency %v is not decided for each task", k)
		all[k.Job]++
		if d.State != dependency.Waits {
			continue
		}
		waits[k.Job]++
		if d.Each {
			each[k.Job]++
		}
		c.hold(d.Due > 0 || c.s.Jobs.Has(k.On), References, "job %s waits for job %s, which is not there", k.Job, k.On)
		c.hold(job.Open > 0, InTurn, "job %s has ended and waits for job %s", k.Job, k.On)
	}
	for id, j := range c.s.Jobs.All() {
		c.hold(all[id] <= model.MaxAfter, InTurn, "job %s has %d dependencies", id, all[id])
		c.hold(j.Waits == waits[id], TotalsAgree, "job %s counts %d jobs that it waits for, they are %d", id, j.Waits, waits[id])
		c.hold(j.Each == each[id], TotalsAgree, "job %s counts %d dependencies that its tasks decide, they are %d", id, j.Each, each[id])
	}
	for k := range c.s.Attempts.All() {
		c.hold(waits[k.Job] == each[k.Job], InTurn, "attempt %s was made while its job waits for others", k)
	}
	checkTwins(c)
}

// checkTwins: a task waits by itself only in the queue, while its job has dependencies that tasks decide, and not beyond their
// being met for it.
func checkTwins(c *checker) {
	completed := func(k model.TaskKey) bool {
		task, found := c.s.Tasks.Get(k)
		return found && task.State == model.TaskCompleted
	}
	begun := map[model.JobID]uint32{}
	for k, task := range c.s.Tasks.All() {
		if task.Started > 0 || task.State.Terminal() {
			begun[k.Job]++
		}
		if !task.Waits {
			continue
		}
		job, _ := c.s.Jobs.Get(k.Job)
		ok, _ := state.Decide(&job, c.s.DependenciesOf(k.Job), k.Task, completed)
		c.hold(job.Each > 0 && !ok, InTurn, "task %s still waits, and need not", k)
		c.hold(task.State == model.TaskQueued && task.Attempts == 0, InTurn, "task %s waits for others, is %s and has had %d attempts", k, task.State, task.Attempts)
	}
	for id, j := range c.s.Jobs.All() {
		c.hold(j.Begun == begun[id], TotalsAgree, "job %s counts %d tasks that have begun, they are %d", id, j.Begun, begun[id])
	}
}

// checkNumbers: the tasks of an array are those that it was submitted with.
func checkNumbers(c *checker, j *model.Job) {
	if j.Spec.Array == "" {
		return
	}
	var have model.Indices
	for k := range c.s.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID {
			break
		}
		have = append(have, k.Task)
	}
	want, err := model.ParseIndices(j.Spec.Array)
	c.hold(err == nil && slices.Equal(have, want), References, "job %s has the tasks %s, not %s", j.ID, have, j.Spec.Array)
}

func checkTurnIndexes(c *checker) {
	awaited, settling := table.Table[state.AwaitedKey, state.None]{}.Fork(), table.Table[model.JobID, state.None]{}.Fork()
	deadlines, delayed := table.Table[state.DeadlineKey, state.None]{}.Fork(), table.Table[state.DelayedKey, state.None]{}.Fork()
	for k, d := range c.s.Dependencies.All() {
		if d.State != dependency.Waits {
			continue
		}
		if d.Due > 0 {
			delayed.Put(state.DelayedKey{At: d.Due, Row: k}, state.None{})
			continue
		}
		awaited.Put(state.AwaitedKey{On: k.On, Kind: k.Kind, Job: k.Job}, state.None{})
		if on, _ := c.s.Jobs.Get(k.On); on.EndIndex > 0 || k.Kind == dependency.AfterBegin && on.Begun == on.Tasks {
			settling.Put(k.On, state.None{})
		}
	}
	for id, j := range c.s.Jobs.All() {
		if j.Open > 0 && j.Spec.Deadline > 0 {
			deadlines.Put(state.DeadlineKey{At: j.Spec.Deadline, Job: id}, state.None{})
		}
	}
	same(c, SameOnReplay, "index Awaited at", c.s.Awaited, awaited.Table())
	same(c, SameOnReplay, "index Settling at", c.s.Settling, settling.Table())
	same(c, SameOnReplay, "index Delayed at", c.s.Delayed, delayed.Table())
	same(c, SameOnReplay, "index Deadlines at", c.s.Deadlines, deadlines.Table())
}

// moveDependencies: they come with their job, and a decided one stays so.
func moveDependencies(m *mover) {
	for k, d := range table.Diffs(m.was.Dependencies, m.s.Dependencies) {
		switch {
		case !d.Was:
			m.hold(!m.was.Jobs.Has(k.Job), NothingLost, "dependency %v is new, its job is not", k)
		case !d.Is:
			m.hold(!m.s.Jobs.Has(k.Job), NothingLost, "dependency %v is gone, its job is not", k)
		default:
			a, b := d.Before, d.After
			a.State, b.State = 0, 0
			if a.Due == 0 {
				b.Due = 0
			}
			m.hold(a == b && d.Before.State == dependency.Waits, OnlyForward,
				"dependency %v goes from %s to %s", k, d.Before.State, d.After.State)
		}
	}
}
