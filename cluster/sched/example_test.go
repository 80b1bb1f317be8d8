package sched_test

import (
	"fmt"
	"log"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// broken ends an example whose state cannot be made.
type broken struct{}

func (broken) Helper()                           {}
func (broken) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

// threeWait makes a cluster of one node with eight GPUs. The first job that waits needs six of them, the second four, the third two.
func threeWait() *statetest.Cluster {
	c := statetest.New(broken{})
	c.Node("n1", 8)
	for _, gpus := range []uint32{6, 4, 2} {
		c.Submit(gpus)
	}
	return c
}

// A plan is a list of commands, which change nothing before they are in the log.
func ExamplePlan() {
	c := threeWait()
	commands, _ := sched.Plan(&c.State, c.Now)
	for _, body := range commands {
		if place, is := body.(*command.Place); is {
			fmt.Printf("job %s gets %d GPUs of %s\n", place.Attempt.Job, len(place.Ranks[0].Slots), place.Ranks[0].Node)
		}
	}
	// Output:
	// job 1 gets 6 GPUs of n1
	// job 3 gets 2 GPUs of n1
}

// The queue is listed in the order in which a pass tries it.
func Example_order() {
	c := threeWait()
	for e := range queue.Order(&c.State, c.Now, 0) {
		fmt.Println(e.Position, "job", e.Task.Job)
	}
	// Output:
	// 1 job 1
	// 2 job 2
	// 3 job 3
}
