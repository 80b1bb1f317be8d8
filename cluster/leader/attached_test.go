package leader_test

import (
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// beats are the signs of life that a test gives.
type beats struct {
	boot func() time.Duration
	mu   sync.Mutex
	last map[model.JobID]time.Duration
}

func (b *beats) hear(job model.JobID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = map[model.JobID]time.Duration{}
	}
	b.last[job] = b.boot()
}

func (b *beats) Last(job model.JobID) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last[job]
}

func (b *beats) Keep(job func(model.JobID) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.last, func(id model.JobID, _ time.Duration) bool { return !job(id) })
}

func attached(long time.Duration) *command.Submit {
	b := job()
	b.Spec.Attached = long
	return b
}

// A job is canceled once its client is silent for as long as the job allows, counted from when this leader
// first saw the job; a job with a live client goes on.
func TestAbandonedJobs(t *testing.T) {
	beats := &beats{}
	lead(t, func(_ *fake, c *leader.Config) {
		beats.boot, c.Beats = c.Clock.Boot, beats
	}, func(f *fake, _ *clock) {
		time.Sleep(time.Hour) // what was before a job came is not its client's silence
		f.user(t, job())
		f.user(t, attached(time.Minute))
		f.user(t, attached(time.Minute))
		for range 10 {
			time.Sleep(20 * time.Second)
			beats.hear(2)
			synctest.Wait()
		}
		s := f.view()
		for id, want := range map[model.JobID]model.TaskState{1: model.TaskQueued, 2: model.TaskQueued, 3: model.TaskCanceled} {
			if task, _ := s.Tasks.Get(model.TaskKey{Job: id}); task.State != want {
				t.Errorf("job %s is %s, want %s", id, task.State, want)
			}
		}
		if n := f.count(command.KindCancel); n != 1 {
			t.Errorf("%d cancels were proposed", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if task, _ := f.view().Tasks.Get(model.TaskKey{Job: 2}); task.State != model.TaskCanceled {
			t.Errorf("job 2 is %s though its client is silent", task.State)
		}
		if beats.Last(2) != 0 {
			t.Error("the client of a job that has ended is remembered")
		}
	})
}
