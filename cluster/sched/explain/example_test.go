package explain_test

import (
	"fmt"
	"log"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// broken ends an example whose state cannot be made.
type broken struct{}

func (broken) Helper()                           {}
func (broken) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

// An explanation is of one task: what keeps the task from starting, and what would let the task start.
func ExampleTask() {
	c := statetest.New(broken{})
	c.Node("n1", 8)
	for _, gpus := range []uint32{6, 4} {
		c.Submit(gpus)
	}
	why, waits := explain.Task(&c.State, c.Now, model.TaskKey{Job: 2})
	if waits {
		fmt.Println("job 2:", why.Summary)
	}
	// Output:
	// job 2: It waits: it would fit, but the GPUs go to 1 other before it.
}
