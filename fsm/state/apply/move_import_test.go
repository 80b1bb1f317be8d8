package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// imported returns a job of one GPU as an import brings it.
func imported(id model.JobID, changes ...func(*command.ImportedJob)) command.ImportedJob {
	j := command.ImportedJob{ID: id, Spec: statetest.Spec(1), Tasks: 1, Submitted: statetest.Start.Add(-time.Hour)}
	for _, change := range changes {
		change(&j)
	}
	return j
}

func part(n uint32, jobs ...command.ImportedJob) *command.ImportJobs {
	return &command.ImportJobs{ID: hashOf(1), Part: n, Texts: []string{"#!/bin/sh\n", "A=1\x00B=2"}, Jobs: jobs}
}

// Jobs keep their numbers, their age, their tasks and what they wait for; nothing is
// placed or submitted before the end, and then the numbers go on.
func TestAnImport(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 8)
	c.Do(&command.BeginImport{ID: hashOf(1), Parts: 2})
	c.Do(part(0, imported(5, func(j *command.ImportedJob) { j.Script, j.Env, j.Note = 1, 2, "it was running" }),
		imported(9, func(j *command.ImportedJob) {
			j.Spec.Array, j.Spec.Sweep, j.Tasks, j.Held = "3,7-9", "seed=1..12", 4, "8"
		})))
	wantCode(t, c.Try(statetest.Job(1)), model.CodeStandstill)
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: 5})), model.CodeStandstill)
	wantCode(t, c.Try(&command.Resume{}), model.CodeConflict)
	wantCode(t, c.Try(&command.EndImport{ID: hashOf(1)}), model.CodeConflict)
	c.Do(part(1, imported(12, func(j *command.ImportedJob) {
		j.Submitted, j.After = statetest.Start.Add(-2*time.Hour), []dependency.After{{Job: 9, Kind: dependency.AfterOK}}
	})))
	c.Do(&command.EndImport{ID: hashOf(1)})
	old, _ := c.State.Jobs.Get(5)
	late, _ := c.State.Jobs.Get(12)
	if old.Submitted != statetest.Start.Add(-time.Hour) || late.Submitted < old.Submitted || late.Waits != 1 || old.Script.IsZero() ||
		old.Env.IsZero() {
		t.Errorf("the jobs are %+v and %+v", old, late)
	}
	if first, _ := c.State.Events.Get(model.EventKey{Job: 5}); first.Detail != "it was running" {
		t.Errorf("the timeline begins with %+v", first)
	}
	if task, _ := c.State.Tasks.Get(model.TaskKey{Job: 9, Task: 8}); !task.Held || c.State.Queue.Len() != 4 {
		t.Errorf("task 8 is %+v, %d tasks stand in the queue", task, c.State.Queue.Len())
	}
	c.Exit(c.Place(5), 0)
	if id := c.Submit(1); id != 13 {
		t.Errorf("the next job is %s, want 13", id)
	}
	if i := c.State.Settings().Import; i.Open || i.Jobs != 3 || i.Left != 0 {
		t.Errorf("the import is %+v", i)
	}
}

// A repeated part, begin or end changes nothing, also after the end.
func TestAnImportIsRepeated(t *testing.T) {
	c := statetest.New(t)
	send := func() {
		for _, b := range []command.Body{
			&command.BeginImport{ID: hashOf(1), Parts: 2}, part(0, imported(1)), part(1, imported(2)),
			&command.EndImport{ID: hashOf(1)},
		} {
			c.Do(b)
			c.Do(b)
		}
	}
	send()
	send()
	if n := c.State.Jobs.Len(); n != 2 {
		t.Errorf("there are %d jobs, want 2", n)
	}
}

// What could never run is left out, and so is what waits for its success.
func TestAnImportLeavesOut(t *testing.T) {
	c := statetest.New(t)
	c.Do(&command.BeginImport{ID: hashOf(1), Parts: 1})
	after := func(on model.JobID, kind dependency.Kind) func(*command.ImportedJob) {
		return func(j *command.ImportedJob) { j.After = []dependency.After{{Job: on, Kind: kind}} }
	}
	c.Do(part(0,
		imported(1, func(j *command.ImportedJob) { j.Spec.Deadline = statetest.Start.Add(-time.Minute) }),
		imported(2, after(1, dependency.AfterOK)), imported(3, after(1, dependency.AfterAny)), imported(4, after(3, dependency.AfterOK))))
	c.Do(&command.EndImport{ID: hashOf(1)})
	if i := c.State.Settings().Import; i.Jobs != 2 || i.Left != 2 {
		t.Errorf("the import is %+v", i)
	}
	three, _ := c.State.Jobs.Get(3)
	four, _ := c.State.Jobs.Get(4)
	if three.Waits != 0 || four.Waits != 1 {
		t.Errorf("job 3 waits for %d, job 4 for %d", three.Waits, four.Waits)
	}
}

// Only an empty cluster takes an import; nodes, their tokens and the cluster's own
// limits do not count.
func TestAnImportWantsAnEmptyCluster(t *testing.T) {
	scope := model.ScopeKey{Kind: model.ScopeUser, Name: "ann"}
	for name, body := range map[string]command.Body{
		"jobs":        statetest.Job(1),
		"users":       &command.SetUser{User: "ann", Role: model.RoleUser},
		"projects":    &command.SetUser{User: "ann", Role: model.RoleUser, Join: []string{"vision"}},
		"tokens":      &command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleUser},
		"shares":      &command.SetWeight{Weight: model.Weight{Scope: scope, Shares: 5}},
		"quotas":      &command.AdjustLimit{Scope: scope, Set: []model.LimitValue{{Of: model.LimitGPUs, Value: 3}}},
		"allocations": &command.Allocate{Service: "web", User: "ann", Class: 2, GPUs: 1},
		"an import":   &command.BeginImport{ID: hashOf(8)},
		"a restore":   &command.Restored{Incarnation: statetest.Incarnation(7)},
	} {
		t.Run(name, func(t *testing.T) {
			c := statetest.New(t)
			c.Node("n1", 2)
			c.Do(&command.MakeToken{Hash: hashOf(2), User: "n1", Role: model.RoleAgent, Expires: c.Now.Add(time.Hour)})
			c.Do(body)
			wantCode(t, c.Try(&command.BeginImport{ID: hashOf(1), Parts: 1}), model.CodeConflict)
		})
	}
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)})
	c.Do(&command.AdjustLimit{Scope: model.ScopeKey{Kind: model.ScopeCluster}, Set: []model.LimitValue{{Of: model.LimitQueued, Value: 9}}})
	c.Do(&command.BeginImport{ID: hashOf(1), Parts: 1})
}

func TestAnImportOutOfOrder(t *testing.T) {
	c := statetest.New(t)
	wantCode(t, c.Try(part(0, imported(1))), model.CodeConflict)
	wantCode(t, c.Try(&command.EndImport{ID: hashOf(1)}), model.CodeConflict)
	c.Do(&command.BeginImport{ID: hashOf(1), Parts: 3})
	wantCode(t, c.Try(&command.BeginImport{ID: hashOf(1), Parts: 4}), model.CodeConflict)
	wantCode(t, c.Try(&command.BeginImport{ID: hashOf(2), Parts: 3}), model.CodeConflict)
	wantCode(t, c.Try(part(1, imported(1))), model.CodeConflict)
	c.Do(part(0, imported(4)))
	wantCode(t, c.Try(part(1, imported(4))), model.CodeInvalid)
	c.Do(&command.EndImport{ID: hashOf(1), Short: true})
	wantCode(t, c.Try(part(1, imported(5))), model.CodeConflict)
	c.Submit(1)
}

// Check and CheckMove name what is wrong about an import.
func TestCheckNamesBrokenImports(t *testing.T) {
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*model.Settings)
	}{
		"open, and jobs may be placed": {check.InTurn, func(s *model.Settings) { s.Standstill = false }},
		"no id":                        {check.References, func(s *model.Settings) { s.Import.ID = model.Hash{} }},
		"more parts than there are":    {check.TotalsAgree, func(s *model.Settings) { s.Import.Next = 3 }},
		"more jobs than there were":    {check.TotalsAgree, func(s *model.Settings) { s.Import.Jobs = 3 }},
		"jobs of the future":           {check.OnlyForward, func(s *model.Settings) { s.Import.Since = s.Clock + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			c := halfImported(t)
			s := c.State
			statetest.Put(&s.Globals, state.Only{}, v.change)
			if err := check.State(&s); !statetest.Names(err, v.want) {
				t.Errorf("Check says %v", err)
			}
		})
	}
	for name, change := range map[string]func(*model.Settings){
		"another import": func(s *model.Settings) { s.Import.ID[5]++ },
		"a part less":    func(s *model.Settings) { s.Import.Next-- },
		"opened again":   func(s *model.Settings) { s.Import.Open, s.Standstill = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			c := halfImported(t)
			c.Do(&command.EndImport{ID: hashOf(1), Short: true})
			before, after := c.State, c.State
			after.Index++
			statetest.Put(&after.Globals, state.Only{}, change)
			if err := check.Move(&before, &after); !statetest.Names(err, check.OnlyForward) {
				t.Errorf("CheckMove says %v", err)
			}
		})
	}
}

func halfImported(t *testing.T) *statetest.Cluster {
	c := statetest.New(t)
	c.Do(&command.BeginImport{ID: hashOf(1), Parts: 2})
	c.Do(part(0, imported(1)))
	return c
}
