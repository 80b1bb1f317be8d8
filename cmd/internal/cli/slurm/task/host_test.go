package task

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/link"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// patience bounds each wait for a process; a busy machine is slow.
const patience = time.Minute

// TestHangingStart checks that processes get signals and are collected while the start of another one hangs, and that signals of srun in that time
// reach the tasks when they have started.
func TestHangingStart(t *testing.T) {
	t.Parallel()
	f := &jobfile.File{}
	f.Job.Nodes = []environ.Node{{Name: "a", Tasks: 1, Cores: 1}}
	h := NewHost()
	n := NewNode(h, f, unix.SIGTERM)
	first, err := h.Start("/bin/sleep", []string{"sleep", "1000"}, syscall.ProcAttr{}, -1, true, false)
	if err != nil {
		t.Fatal(err)
	}
	hangs, goes := make(chan struct{}), make(chan struct{})
	h.starts <- func(bool) {
		h.fork = func(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
			close(hangs)
			<-goes
			return syscall.ForkExec(path, argv, attr)
		}
	}
	here, there := link.Pair()
	defer func() { _ = here.Close() }()
	launch := &link.Launch{Ask: link.Ask{Command: []string{"/bin/sleep", "1000"}, Dir: "/", Umask: -1, Stdin: link.Stream{None: true}}}
	launch.Step.Nodes, launch.Step.Ranks = []int{0}, [][]int{{0}}
	go n.Serve(there, launch)
	<-hangs
	first.Signal(unix.SIGINT, true)
	limit := time.AfterFunc(patience, func() { _ = here.Close() })
	defer limit.Stop()
	select {
	case <-first.Done:
	case <-time.After(patience):
		t.Fatal("a process is not collected while another one starts")
	}
	for range 2 { // the second one is sent when the first has been received
		if err := here.Send(link.KindSignal, []byte{byte(unix.SIGKILL)}); err != nil {
			t.Fatal("the step receives no signals: ", err)
		}
	}
	close(goes)
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

// TestShortProcess checks that processes are collected that end at once.
func TestShortProcess(t *testing.T) {
	t.Parallel()
	h := NewHost()
	for range 100 {
		p, err := h.Start("/bin/true", []string{"true"}, syscall.ProcAttr{}, -1, true, false)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Done:
		case <-time.After(patience):
			t.Fatal("a process that has ended is not collected")
		}
	}
}
