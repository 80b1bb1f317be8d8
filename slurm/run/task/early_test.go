package task

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// patience bounds each wait for a process; a busy machine is slow.
const patience = time.Minute

// hanging starts programs once it may.
type hanging struct {
	process.Starter

	hangs, goes chan struct{}
}

func (h *hanging) Run(c *process.Command) (*process.Process, error) {
	close(h.hangs)
	<-h.goes
	return h.Starter.Run(c)
}

// TestEarlySignal checks that signals of srun that come while a task starts reach the task.
func TestEarlySignal(t *testing.T) {
	t.Parallel()
	f := &jobfile.File{}
	f.Job.Nodes = []environ.Node{{Name: "a", Tasks: 1, Cores: 1}}
	h := &hanging{process.NewHost(), make(chan struct{}), make(chan struct{})}
	n := NewNode(h, nil, f, unix.SIGTERM)
	here, there := link.Pair()
	defer func() { _ = here.Close() }()
	launch := &link.Launch{Ask: link.Ask{Command: []string{"/bin/sleep", "1000"}, Dir: "/", Umask: -1, Stdin: link.Stream{None: true}}}
	launch.Step.Nodes, launch.Step.Ranks = []int{0}, [][]int{{0}}
	go n.Serve(there, launch)
	<-h.hangs
	limit := time.AfterFunc(patience, func() { _ = here.Close() })
	defer limit.Stop()
	for range 2 { // the second one is sent when the first has been received
		if err := here.Send(link.KindSignal, []byte{byte(unix.SIGKILL)}); err != nil {
			t.Fatal("the step receives no signals: ", err)
		}
	}
	close(h.goes)
	for {
		got, err := here.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if _, status, ok := link.ReadExit(got.Body); got.Kind == link.KindExit {
			if w := unix.WaitStatus(status); !ok || w.Signal() != unix.SIGKILL {
				t.Errorf("the task ended with %v", status)
			}
			return
		}
	}
}
