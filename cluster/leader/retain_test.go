package leader_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Jobs that are too many or too old leave the state, oldest first and as far as the
// archives have come; what has not ended stays.
func TestRetention(t *testing.T) {
	var archived atomic.Uint64
	lead(t, func(_ *fake, c *leader.Config) { c.Archived = archived.Load }, func(f *fake, _ *clock) {
		f.user(t, &command.SetRunning{})
		f.user(t, job())
		f.user(t, waitsFor(dependency.AfterOK, 1))
		for id := model.JobID(3); id <= 32; id++ {
			f.user(t, job())
			f.user(t, &command.Cancel{Job: id, Task: model.AllTasks})
		}
		half := f.view().Index
		for id := model.JobID(33); id <= 62; id++ {
			f.user(t, job())
			f.user(t, &command.Cancel{Job: id, Task: model.AllTasks})
		}
		time.Sleep(15 * time.Second)
		if s := f.view(); s.Ended.Len() != 60 || f.count(command.KindRetire) != 0 {
			t.Fatalf("with nothing archived %d of 60 are left", s.Ended.Len())
		}
		archived.Store(half)
		time.Sleep(15 * time.Second)
		if s := f.view(); s.Ended.Len() != 30 || s.Jobs.Has(3) || !s.Jobs.Has(33) {
			t.Fatalf("with half of them archived %d of 60 are left", s.Ended.Len())
		}
		archived.Store(f.view().Index)
		time.Sleep(15 * time.Second)
		if s := f.view(); s.Ended.Len() != 10 || s.Jobs.Has(52) || !s.Jobs.Has(53) {
			t.Fatalf("%d are left, want the retention's 10", s.Ended.Len())
		}
		archived.Store(1 << 60) // an index that the archives will reach
		time.Sleep(2 * time.Hour)
		if s := f.view(); s.Ended.Len() != 0 || !s.Jobs.Has(1) {
			t.Errorf("after two hours %d are left of what may stay one", s.Ended.Len())
		}
		if n := f.count(command.KindRetire); n > 40 {
			t.Errorf("%d commands were proposed for 60 jobs", n)
		}
		synctest.Wait()
	})
}
