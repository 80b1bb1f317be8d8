package model_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// The error of a prediction is the logarithm of its factor, whichever way it was off.
func TestPredictionError(t *testing.T) {
	for _, c := range []struct {
		predicted, took time.Duration
		steps           uint64
		near            bool
	}{
		{time.Hour, time.Hour, 0, true},
		{time.Hour, 2 * time.Hour, 64, true},
		{2*time.Hour + time.Second, time.Hour, 64, false},
		{8 * time.Minute, time.Minute, 192, false},
		{0, 0, 0, true},
		{-time.Hour, 300 * time.Millisecond, 0, true},
		{4 * time.Second, 0, 128, false},
	} {
		if steps, near := model.PredictionError(c.predicted, c.took); steps != c.steps || near != c.near {
			t.Errorf("%s for %s: %d, %v", c.predicted, c.took, steps, near)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(int64(time.Second), int64(300*24*time.Hour)).Draw(t, name))
		}
		a, b := draw("a"), draw("b")
		steps, near := model.PredictionError(a, b)
		back, alike := model.PredictionError(b, a)
		want := math.Abs(math.Log2(a.Seconds()/b.Seconds())) * model.ErrorSteps
		if math.Abs(float64(steps)-want) > 1.2 || steps != back || near != alike {
			t.Fatalf("%s for %s: %d steps, not %.1f; the other way %d", a, b, steps, want, back)
		}
		if near != (a <= 2*b+1 && b <= 2*a+1) && a != 2*b && b != 2*a {
			t.Fatalf("%s for %s: near %v", a, b, near)
		}
	})
}
