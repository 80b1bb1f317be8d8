package httpapi

import (
	"math"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// predictions returns how accurate predicted run times were over the cluster's life, by their
// source; sources without predictions are left out.
func predictions(s *state.State) []wire.Prediction {
	n := s.Settings().Totals
	out := []wire.Prediction{}
	for _, v := range []struct {
		source          string
		made, near, off uint64
	}{
		{"estimate", n.Estimates, n.EstimatesNear, n.EstimatesOff},
		{"history", n.Histories, n.HistoriesNear, n.HistoriesOff},
	} {
		if v.made == 0 {
			continue
		}
		doublings := float64(v.off) / model.ErrorSteps
		out = append(out, wire.Prediction{
			Source: v.source, Attempts: int64(v.made), WithinFactorTwo: int64(v.near), ErrorDoublings: doublings, //nolint:gosec // counts
			MeanErrorFactor: math.Round(100*math.Exp2(doublings/float64(v.made))) / 100,
		})
	}
	return out
}

// predicted exposes the accuracy.
func (g *gauges) predicted(s *state.State) {
	for _, p := range predictions(s) {
		g.count("berth_prediction_attempts_total", "Attempts that ended by themselves after their run time was predicted, by the user's estimate or by earlier runs.",
			float64(p.Attempts), "source", p.Source)
		g.count("berth_prediction_within_factor_two_total", "Predictions that were right to a factor of two.",
			float64(p.WithinFactorTwo), "source", p.Source)
		g.count("berth_prediction_error_doublings_total", "Sum of the errors of predictions, in both directions: 1 is a factor of two.",
			p.ErrorDoublings, "source", p.Source)
	}
}

// similar returns the run times of jobs like those of a spec; nil if there were too few.
func (v *view) similar(spec *model.Spec) *wire.Similar {
	past := v.s.Past(spec)
	out := &wire.Similar{Runs: int64(past.Count)}
	for percent, to := range map[uint32]*float64{25: &out.P25Seconds, 50: &out.P50Seconds, 75: &out.P75Seconds} {
		q, known := state.Quantile(&past, percent)
		if !known {
			return nil
		}
		*to = math.Round(q.Seconds())
	}
	return out
}
