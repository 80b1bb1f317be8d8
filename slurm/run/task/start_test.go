package task

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
)

// TestStopOnce checks which stop signals reach a task: of those that come from two sources at about the same time only the first one.
func TestStopOnce(t *testing.T) {
	t.Parallel()
	type event struct {
		after time.Duration
		from  source
		sent  bool
	}
	for name, events := range map[string][]event{
		"both":               {{0, byNode, true}, {time.Millisecond, bySrun, false}},
		"srun first":         {{0, bySrun, true}, {time.Second, byNode, false}},
		"twice by srun":      {{0, bySrun, true}, {time.Millisecond, bySrun, true}},
		"srun, then the job": {{0, bySrun, true}, {sameStop, byNode, true}, {0, bySrun, false}},
		"later once more":    {{0, byNode, true}, {0, bySrun, false}, {time.Minute, bySrun, true}},
		"srun and its group": {{0, byNode, true}, {0, bySrun, false}, {0, bySrun, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &task{}
			for i, e := range events {
				time.Sleep(e.after)
				k.early = 0
				if k.stop(unix.SIGINT, e.from); (k.early != 0) != e.sent {
					t.Errorf("%s: signal %d is sent: %v", name, i, k.early != 0)
				}
			}
		})
	}
}

// TestSignals checks that the stop signal of the job is what tasks get once, and that the end of a step sends TERM in any case.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, stop := range []unix.Signal{unix.SIGTERM, unix.SIGINT} {
		n := NewNode(nil, nil, &jobfile.File{Grace: 60_000}, stop)
		k := &task{}
		n.add(k)
		s := &stepTasks{node: n, tasks: []*task{k}, ended: make(chan struct{})}
		close(s.ended)
		n.Stop()
		if k.early != stop {
			t.Errorf("%v: the stop signal is %v", stop, k.early)
		}
		for sig, sent := range map[unix.Signal]bool{unix.SIGTERM: stop != unix.SIGTERM, unix.SIGINT: stop != unix.SIGINT} {
			k.early = 0
			if s.signal(sig); (k.early == sig) != sent {
				t.Errorf("%v: srun's %v is sent: %v", stop, sig, k.early != 0)
			}
		}
		k.early = 0
		if s.end(); k.early != unix.SIGTERM {
			t.Errorf("%v: at the end of the step the task gets %v", stop, k.early)
		}
	}
}
