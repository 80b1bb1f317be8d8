package leader_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// slow is a clock by which each search takes so long: each reads how busy GPUs are.
type slow struct {
	clock

	by time.Duration
}

func (c *slow) busy(_ model.NodeID, gpu model.GPUID) (percent uint32, known bool) {
	if gpu == "big0-0" {
		c.mu.Lock()
		c.jump += c.by
		c.mu.Unlock()
	}
	return 50, true
}

// crowd is a full cluster of many GPUs under fair share, and jobs that wait.
func crowd(t *testing.T, f *fake, nodes int) {
	t.Helper()
	f.user(t, &command.SetPolicy{Policy: "fair_share"})
	tuning := model.DefaultTuning()
	tuning.PreemptMinRun = 0
	f.user(t, &command.SetTuning{Tuning: tuning})
	for n := range nodes {
		r := &command.Register{Node: model.NodeID(fmt.Sprint("big", n)), Machine: fmt.Sprint("big", n), Boot: "b1", Lineage: "l1", Session: "s1"}
		for g := range 8 {
			r.Devices = append(r.Devices,
				model.Device{ID: model.GPUID(fmt.Sprintf("big%d-%d", n, g)), Index: uint32(g), Model: "H200", Health: model.HealthHealthy, Idle: true})
		}
		f.user(t, r)
	}
	b := job()
	b.Spec.Placement = model.StrategyLeastLoaded.String()
	b.Tasks = uint32(nodes*8 + 100)
	f.user(t, b)
}

// first returns the first task that runs.
func (f *fake) first() (key model.TaskKey) {
	for key = range f.view().LiveTasks.All() {
		break
	}
	return key
}

// report makes a task's processes report their phases; at their end GPUs are verified as clean.
func (f *fake) report(t *testing.T, key model.TaskKey, phases ...model.RankPhase) {
	t.Helper()
	for _, phase := range phases {
		s := f.view()
		task, _ := s.Tasks.Get(key)
		for _, r := range s.RanksOf(task.Newest()) {
			node, _ := s.Nodes.Get(r.Node)
			b := &command.Report{Node: r.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch}
			b.Reports = []model.Progress{{Rank: r.Key, Phase: phase}}
			for _, slot := range s.SlotsOf(r.Key) {
				if phase.Ended() {
					b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: slot, Rank: r.Key})
				}
			}
			f.user(t, b)
		}
	}
	synctest.Wait()
}

// A costly search is followed by a rest. A new job starts at once nevertheless, and what only a search can
// do, here to preempt, waits for the rest to be over.
func TestCostlySearchesRest(t *testing.T) {
	for _, cost := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(cost.String(), func(t *testing.T) {
			lead(t, func(f *fake, c *leader.Config) {
				crowd(t, f, 64)
				ck := &slow{clock: clock{start: time.Now()}, by: cost}
				c.Clock, c.Busy = ck, ck.busy
			}, func(f *fake, _ *clock) {
				time.Sleep(time.Second) // the cluster has filled up
				full := f.view().LiveTasks.Len()
				f.report(t, f.first(), model.RankExited) // a search follows, which rests
				f.report(t, f.first(), model.RankExited)
				if n := f.view().LiveTasks.Len(); n != full {
					t.Errorf("%d tasks run, %d did before two ended", n, full)
				}
				f.report(t, f.first(), model.RankReady, model.RankRunning)
				f.user(t, critical())
				synctest.Wait()
				if at := f.count(command.KindPreempt); (at == 0) != (cost > 0) {
					t.Errorf("%d times preempted at once", at)
				}
				time.Sleep(4 * time.Second) // no search rests for longer than three
				if f.count(command.KindPreempt) == 0 {
					t.Error("never preempted")
				}
			})
		})
	}
}

func critical() *command.Submit {
	b := job()
	b.Spec.Class = model.ClassCritical
	return b
}
