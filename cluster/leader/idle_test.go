//berth:bubble

package leader_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// meter is for how long each GPU has been at 0 %.
type meter struct {
	mu     sync.Mutex
	unused map[model.GPUID]time.Duration
}

func (m *meter) set(gpu model.GPUID, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unused[gpu] = d
}

func (m *meter) get(_ model.NodeID, gpu model.GPUID) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unused[gpu]
}

// runsOn starts a job of so many GPUs on n1, which gets one more.
func runsOn(t *testing.T, f *fake, gpus uint32, idle time.Duration) (leave func(model.TaskState)) {
	t.Helper()
	view := f.view()
	n, _ := view.Nodes.Get("n1")
	in := view.Settings().Incarnation
	f.user(t, &command.Inventory{Node: "n1", Incarnation: in, Epoch: n.Epoch, Devices: []model.Device{
		{ID: "g1", Model: "H200", Health: model.HealthHealthy, Idle: true}, {ID: "g2", Index: 1, Model: "H200", Health: model.HealthHealthy, Idle: true},
	}})
	b := job()
	b.Spec.GPUs, b.Spec.IdleStop = gpus, idle
	id := f.user(t, b).Job
	synctest.Wait()
	f.user(t, &command.Report{Node: "n1", Incarnation: in, Epoch: n.Epoch, Reports: []model.Progress{
		{Rank: model.RankKey{Job: id, N: 1}, Phase: model.RankRunning},
	}})
	return func(want model.TaskState) {
		t.Helper()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		s := f.view()
		task, _ := s.Tasks.Get(model.TaskKey{Job: id})
		a, _ := s.Attempts.Get(task.Newest())
		if want == model.TaskRunning && (task.State != want || a.Stop != model.ReasonNone) {
			t.Errorf("the job is %s and stops for %q", task.State, a.Stop)
		}
		if want == model.TaskCanceled && (a.Stop != model.ReasonCancel || !strings.Contains(a.StopNote, "0 % for 30m0s")) {
			t.Errorf("the job is %s and stops for %q: %q", task.State, a.Stop, a.StopNote)
		}
	}
}

// A job is canceled once all of its GPUs were at 0 % for as long as it allows, and not while one of them
// works.
func TestIdleJobs(t *testing.T) {
	m := &meter{unused: map[model.GPUID]time.Duration{}}
	lead(t, func(_ *fake, c *leader.Config) { c.Unused = m.get }, func(f *fake, _ *clock) {
		wants := runsOn(t, f, 2, 30*time.Minute)
		wants(model.TaskRunning)
		m.set("g1", time.Hour)
		m.set("g2", 29*time.Minute)
		wants(model.TaskRunning)
		m.set("g2", 30*time.Minute)
		wants(model.TaskCanceled)
		time.Sleep(5 * time.Minute)
		if n := f.count(command.KindCancel); n != 1 {
			t.Errorf("%d cancels were proposed", n)
		}
	})
}

// A job without that limit may idle for as long as it likes, and is not checked.
func TestIdleJobsThatMayBe(t *testing.T) {
	m := &meter{unused: map[model.GPUID]time.Duration{"g1": 100 * time.Hour, "g2": 100 * time.Hour}}
	lead(t, func(_ *fake, c *leader.Config) { c.Unused = m.get }, func(f *fake, _ *clock) {
		wants := runsOn(t, f, 1, 0)
		wants(model.TaskRunning)
	})
}
