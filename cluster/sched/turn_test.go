package sched_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

func TestExplainTurns(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "a begin", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Begin = c.Now.Add(4 * time.Second) }), 1, 0)
			},
			Blockers: "begin: it is to begin at 2023-11-14T22:13:24Z at the earliest",
			Unblock:  "the time of its begin comes, 2023-11-14T22:13:24Z\nrelease it",
		},
		{
			Name: "other jobs", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0)
				c.Must(&command.Submit{Spec: schedtest.Spec("bob", 1, 0), Tasks: 1, After: []dependency.After{
					{Job: 1, Kind: dependency.AfterOK}, {Job: 2, Kind: dependency.AfterNotOK},
				}})
			},
			Blockers: "dependency: it starts after job 1 has completed, and that is scheduled\n" +
				"dependency: it starts after job 2 has failed, and that is queued",
			Unblock: "job 1 has completed and job 2 has failed",
		},
		{
			Name: "a success that cannot be", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 3, 0)
				c.Must(&command.Cancel{Job: 1, Task: 2})
				c.Must(&command.Submit{Spec: schedtest.Spec("bob", 1, 0), Tasks: 1, After: []dependency.After{{Job: 1, Kind: dependency.AfterOK}}})
			},
			Blockers: "dependency: it waits for job 1 to complete, but 1 task has failed or been canceled: it never starts",
			Unblock:  "its dependencies are removed (berth release --dependencies)",
		},
		{
			Name: "a begin of another, or its end", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0)
				c.Must(&command.Submit{Spec: schedtest.Spec("bob", 1, 0), Tasks: 1, After: []dependency.After{
					{Job: 1, Kind: dependency.AfterOK, Any: true}, {Job: 1, Kind: dependency.AfterBegin, Any: true, Delay: 5 * time.Minute},
				}})
			},
			Blockers: "dependency: it starts after job 1 has completed, and that is queued; another of its conditions is enough\n" +
				"dependency: it starts 5 minutes after job 1 has begun, and that is queued; another of its conditions is enough",
			Unblock: "job 1 has completed or job 1 has begun 5 minutes ago",
		},
	})
}

// In a plan somebody who is never going to start asks for GPUs, too.
func TestThePlanOfWhoWaitsForAFailure(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "H200")
	c.Submit(schedtest.Spec("amy", 1, 0), 3, 0)
	c.Plan()
	c.Must(&command.Cancel{Job: 1, Task: 2})
	c.Must(&command.Submit{Spec: schedtest.Spec("bob", 2, 0), Tasks: 1, After: []dependency.After{{Job: 1, Kind: dependency.AfterOK}}})
	f := forecast.Foresee(&c.State, c.Now)
	if len(f.Waiting) != 1 || f.Waiting[0].GPUs != 2 || f.Waiting[0].Start.Known || f.Waiting[0].Why != blocker.CodeDependency {
		t.Errorf("%+v", f.Waiting)
	}
}
