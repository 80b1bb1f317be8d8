package sched_test

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Jobs that wait for others cost a pass nothing: they do not stand in the queue.
func BenchmarkBesideJobsThatWait(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			c := crowded(b, waiting)
			b.ReportAllocs()
			for b.Loop() {
				sched.Plan(&c.State, c.Now)
			}
		})
	}
}

// crowded is a full cluster with some jobs in the queue, and others that wait for
// the first.
func crowded(b *testing.B, waiting int) *schedtest.Cluster {
	c := schedtest.New(b, "fcfs")
	for n := range 20 {
		c.Node(fmt.Sprint("n", n), 8, "H200")
	}
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	for n := range 100 {
		c.Submit(schedtest.Spec(fmt.Sprint("u", n), 8, 0), 1, 0)
	}
	for range waiting {
		c.Must(&command.Submit{Spec: schedtest.Spec("bob", 1, 0), Tasks: 1, After: []dependency.After{{Job: 1, Kind: dependency.AfterOK}}})
	}
	c.Plan()
	return c
}
