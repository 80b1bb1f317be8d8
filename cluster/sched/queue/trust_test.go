package queue

import (
	"math"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// Run times are trusted as far as they have been right, and by few of them not yet.
func TestTrust(t *testing.T) {
	for _, v := range []struct {
		totals model.Totals
		want   uint64
	}{
		{model.Totals{}, 0},
		{model.Totals{Estimates: 4}, 1},
		{model.Totals{Estimates: 4, Histories: 4}, 2},
		{model.Totals{Estimates: 1000}, 4},
		{model.Totals{Estimates: 1000, EstimatesOff: 1000 * model.ErrorSteps / 16}, 4},
		{model.Totals{Estimates: 1000, EstimatesOff: 1000 * model.ErrorSteps / 2}, 2},
		{model.Totals{Estimates: 1000, Histories: 1000, HistoriesOff: 1000 * model.ErrorSteps}, 2},
		{model.Totals{Estimates: 1000, EstimatesOff: 5000 * model.ErrorSteps}, 0},
	} {
		if got := trustOf(&v.totals); got != v.want {
			t.Errorf("trust is %d after %+v, want %d", got, v.totals, v.want)
		}
	}
}

// A power of a run time is that of the steps between it and the shortest one.
func TestPower(t *testing.T) {
	for s := model.Step(0); s <= model.MaxStep; s++ {
		for f := range uint64(fullTrust + 1) {
			want := math.Exp2(float64(s) / 4 * float64(f) / 4)
			if got := float64(power(s, f)) / 65536; math.Abs(got/want-1) > 1e-4 {
				t.Errorf("step %d to %d fourths: %g, want %g", s, f, got, want)
			}
		}
	}
}
