package sched_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

func TestExplainTurns(t *testing.T) {
	checkExplained(t, []explained{
		{
			"a begin", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.Begin = c.now.Add(4 * time.Second) }), 1, 0)
			},
			"begin: it is to begin at 2023-11-14T22:13:24Z at the earliest",
			"the time of its begin comes, 2023-11-14T22:13:24Z\nrelease it",
		},
		{
			"other jobs", func(c *cluster) {
				c.submit(spec("amy", 1, 0), 1, 0)
				c.plan()
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0)
				c.must(&command.Submit{Spec: spec("bob", 1, 0), Tasks: 1, After: []dependency.After{
					{Job: 1, Kind: dependency.AfterOK}, {Job: 2, Kind: dependency.AfterNotOK},
				}})
			},
			"dependency: it starts after job 1 has completed, and that is scheduled\n" +
				"dependency: it starts after job 2 has failed, and that is queued",
			"job 1 has completed and job 2 has failed",
		},
		{
			"a success that cannot be", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 3, 0)
				c.must(&command.Cancel{Job: 1, Task: 2})
				c.must(&command.Submit{Spec: spec("bob", 1, 0), Tasks: 1, After: []dependency.After{{Job: 1, Kind: dependency.AfterOK}}})
			},
			"dependency: it starts after job 1 has completed, and that cannot be any more: 1 task has failed or been canceled",
			"it waits for no other job any more (berth release --dependencies)",
		},
		{
			"a begin of another, or its end", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0)
				c.must(&command.Submit{Spec: spec("bob", 1, 0), Tasks: 1, After: []dependency.After{
					{Job: 1, Kind: dependency.AfterOK, Any: true}, {Job: 1, Kind: dependency.AfterBegin, Any: true, Delay: 5 * time.Minute},
				}})
			},
			"dependency: it starts after job 1 has completed, and that is queued; another of its conditions is enough\n" +
				"dependency: it starts 5 minutes after job 1 has begun, and that is queued; another of its conditions is enough",
			"job 1 has completed or job 1 has begun 5 minutes ago",
		},
	})
}

// In a plan somebody who is never going to start asks for GPUs, too.
func TestThePlanOfWhoWaitsForAFailure(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 4, "H200")
	c.submit(spec("amy", 1, 0), 3, 0)
	c.plan()
	c.must(&command.Cancel{Job: 1, Task: 2})
	c.must(&command.Submit{Spec: spec("bob", 2, 0), Tasks: 1, After: []dependency.After{{Job: 1, Kind: dependency.AfterOK}}})
	f := forecast.Foresee(&c.s, c.now)
	if len(f.Waiting) != 1 || f.Waiting[0].GPUs != 2 || f.Waiting[0].Start.Known || f.Waiting[0].Why != blocker.CodeDependency {
		t.Errorf("%+v", f.Waiting)
	}
}
