package check

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkDependencies: a job counts its dependencies, and has run nothing as long as it waits.
func checkDependencies(c *checker) {
	all, waits := map[model.JobID]int{}, map[model.JobID]uint32{}
	for k, d := range c.s.Dependencies.All() {
		job, found := c.s.Jobs.Get(k.Job)
		c.hold(found && d.Kind.Valid() && d.State.Valid(), References, "dependency %v is %+v of no job", k, d)
		c.hold(k.On < k.Job, InTurn, "job %s waits for job %s, which is not earlier", k.Job, k.On)
		all[k.Job]++
		if d.State != model.DependencyWaits {
			continue
		}
		waits[k.Job]++
		c.hold(c.s.Jobs.Has(k.On), References, "job %s waits for job %s, which is not there", k.Job, k.On)
		c.hold(job.Open > 0, InTurn, "job %s has ended and waits for job %s", k.Job, k.On)
	}
	for id, j := range c.s.Jobs.All() {
		c.hold(all[id] <= model.MaxAfter, InTurn, "job %s has %d dependencies", id, all[id])
		c.hold(j.Waits == waits[id], TotalsAgree, "job %s counts %d jobs that it waits for, they are %d", id, j.Waits, waits[id])
	}
	for k := range c.s.Attempts.All() {
		c.hold(waits[k.Job] == 0, InTurn, "attempt %s was made while its job waits for others", k)
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
	deadlines := table.Table[state.DeadlineKey, state.None]{}.Fork()
	for k, d := range c.s.Dependencies.All() {
		if d.State != model.DependencyWaits {
			continue
		}
		awaited.Put(state.AwaitedKey{On: k.On, Job: k.Job}, state.None{})
		if on, _ := c.s.Jobs.Get(k.On); on.EndIndex > 0 {
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
			m.hold(d.Before.Kind == d.After.Kind && d.Before.State == model.DependencyWaits, OnlyForward,
				"dependency %v goes from %s to %s", k, d.Before.State, d.After.State)
		}
	}
}
