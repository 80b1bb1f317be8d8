package agent_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node/runner"
)

// gated is a runner whose ranks start only while the host is ready for that.
type gated struct {
	runner.Runner

	ready func() error
}

func (h *host) gate(ranks runner.Runner) runner.Runner {
	if h.ready == nil {
		return ranks
	}
	return gated{ranks, h.ready}
}

func (g gated) Start(f *runner.Folder, r *runner.Record) error {
	if err := g.ready(); err != nil {
		return &runner.NotReadyError{Why: err}
	}
	return g.Runner.Start(f, r)
}

// While the unit that holds the groups of ranks does not run, the node reports that and gets no work: a rank that was to start
// there is returned, uncharged, and is not tried again and again. It starts once the unit runs.
func TestTheUnitOfTheRanksIsAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	var away atomic.Bool
	h.ready = func() error {
		if away.Load() {
			return errors.New("berth-jobs.service does not run")
		}
		return nil
	}
	h.start(t)
	c.free(t, 2)
	away.Store(true)
	job := c.submit(t, func(b *command.Submit) { b.Spec.Command = "true" })
	if why := c.trouble(t, "the node in trouble", true); !strings.Contains(why, "berth-jobs.service") {
		t.Errorf("the node's trouble is %q", why)
	}
	c.until(t, "the job in the queue", func(s *statetest.Cluster) bool {
		task, _ := s.State.Tasks.Get(model.TaskKey{Job: job})
		return task.State == model.TaskQueued && task.Attempts <= 1 && task.Retries == 0
	})
	away.Store(false)
	c.trouble(t, "the end of the trouble", false)
	c.pass(time.Minute)
	if task := c.ended(t, job); task.State != model.TaskCompleted || task.Attempts > 2 {
		t.Errorf("the job is %s after %d attempts", task.State, task.Attempts)
	}
}
