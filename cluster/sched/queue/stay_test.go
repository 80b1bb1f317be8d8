package queue

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
)

// A task may be suspended after its first minutes, and once it has earned that; at the ends of what
// may be set, too.
func TestFirm(t *testing.T) {
	for name, v := range map[string]struct {
		preempted, budget    uint32
		every, executed, ran time.Duration
		want                 time.Duration
	}{
		"just started":               {0, 2, 4 * time.Hour, 0, 0, 30 * time.Minute},
		"for a while":                {1, 2, 4 * time.Hour, time.Hour, 20 * time.Minute, 10 * time.Minute},
		"for long":                   {1, 2, 4 * time.Hour, time.Hour, time.Hour, 0},
		"spent":                      {2, 2, 4 * time.Hour, time.Hour, time.Hour, 3 * time.Hour},
		"earned again":               {2, 2, 4 * time.Hour, 4 * time.Hour, time.Hour, 0},
		"more than it will ever use": {0, 1000, model.MaxDuration, 0, time.Hour, 0},
		"more spent than ever":       {1000, 0, model.MaxDuration, 0, time.Hour, admission.LongestSeconds * time.Second},
	} {
		tuning := model.Tuning{MinRun: 30 * time.Minute, Budget: v.budget, BudgetEvery: v.every}
		task := model.Task{Preempted: v.preempted}
		if got := ProtectedTime(&task, v.executed, v.ran, &tuning); got != v.want {
			t.Errorf("%s: may not be suspended for %s, want %s", name, got, v.want)
		}
	}
}
