package places

//berth:bubble

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// slowly returns a cache whose forecasts take a minute, and counts them.
func slowly(made *atomic.Int32) *Cache {
	p := New()
	p.forecast.make = func(s *state.State, now model.Time) forecast.Forecast {
		time.Sleep(time.Minute) // of the bubble's clock
		made.Add(1)
		set := s.Settings()
		return forecast.Forecast{At: now, Starts: set.Running && !set.Standstill}
	}
	return p
}

// A request does not wait for a forecast that takes long: it gets none, or the one before.
func TestAForecastThatTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		p, c := slowly(&made), statetest.New(t)
		first := c.State
		began := time.Now()
		if f := p.Foresee(&first, 1); time.Since(began) > patience || len(f.Waiting) != 0 || made.Load() != 0 {
			t.Errorf("after %s, with %d made: %+v", time.Since(began), made.Load(), f)
		}
		if _, index, err := p.Foreseen(t.Context(), &first, 1); err != nil || index != first.Index || made.Load() != 1 {
			t.Errorf("the plan is of %d with %d made (%v)", index, made.Load(), err)
		}
		time.Sleep(time.Hour) // the next one is due
		c.Node("n1", 1)
		second := c.State
		began = time.Now()
		if f := p.Foresee(&second, 2); f.At != 1 || time.Since(began) > patience {
			t.Errorf("after %s the forecast is of %d", time.Since(began), f.At)
		}
		time.Sleep(2 * time.Minute)
		if f := p.Foresee(&second, 3); f.At != 2 || made.Load() != 2 {
			t.Errorf("with %d made the forecast is of %d", made.Load(), f.At)
		}
	})
}

// A plan waits for the first forecast as long as its caller does.
func TestAPlanWithoutAForecast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		p, c := slowly(&made), statetest.New(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := c.State
		if _, _, err := p.Foreseen(ctx, &s, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		time.Sleep(time.Minute)
	})
}

// A forecast that panics fails the plan that asked for it, and no more.
func TestAForecastThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c := New(), statetest.New(t)
		p.forecast.make = func(*state.State, model.Time) forecast.Forecast { panic("a defect") }
		s := c.State
		if f := p.Foresee(&s, 1); len(f.Waiting) != 0 {
			t.Errorf("the forecast is %+v", f)
		}
		if _, _, err := p.Foreseen(t.Context(), &s, 1); err == nil || !strings.Contains(err.Error(), "a defect") {
			t.Errorf("the error is %v", err)
		}
	})
}
