package preemption_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/preemption"
	"github.com/berth-gpu/berth/fsm/model"
)

// Of all who hold GPUs of a node the cheapest set is stopped, whatever counts most of it.
func TestCheapestVictimsOfANode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lend := rapid.SliceOfN(rapid.Int64Range(1, 5), 1, 2).Draw(t, "lend")
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) preemption.Holds {
			return preemption.Holds{
				Class: model.Class(rapid.IntRange(1, 3).Draw(t, "class")), Yields: rapid.Bool().Draw(t, "yields"),
				Loss: rapid.Int64Range(0, 5).Draw(t, "loss"), GPUs: uint32(rapid.IntRange(1, 4).Draw(t, "GPUs")),
				All: uint32(rapid.IntRange(0, 1).Draw(t, "elsewhere")), Lender: rapid.IntRange(0, len(lend)-1).Draw(t, "lender"),
			}
		}), 0, 8).Draw(t, "victims")
		class := model.Class(rapid.IntRange(2, 4).Draw(t, "class"))
		chosen, least, found := preemption.CheapestOf(class, uint32(rapid.IntRange(0, 9).Draw(t, "need")), all, lend)
		if found && chosen != least {
			t.Fatalf("they cost %+v, and others would %+v", chosen, least)
		}
	})
}

// The largest attempt for the longest time is the dearest to stop, and not the cheapest.
func TestWhatAVictimLoses(t *testing.T) {
	now := model.Time(0).Add(2 * model.MaxDuration)
	small := preemption.LossOf(&model.Attempt{GPUs: 8, Started: now.Add(-time.Hour)}, 0, now)
	large := preemption.LossOf(&model.Attempt{GPUs: model.MaxRanks * model.MaxDevices, Started: now.Add(-model.MaxDuration)}, 0, now)
	if small != 8*3_600_000 || large <= small {
		t.Errorf("a small one loses %d GPU-milliseconds, the largest %d", small, large)
	}
	if saved := preemption.LossOf(&model.Attempt{GPUs: 8, Started: now.Add(-time.Hour)}, 2*time.Hour, now); saved != 0 {
		t.Errorf("one that has saved all loses %d", saved)
	}
}
