package model

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// A value outside its range is named with the range.
func TestATuningSaysWhatIsWrong(t *testing.T) {
	if d := DefaultTuning(); d.Validate() != nil {
		t.Fatalf("the defaults are refused: %v", d.Validate())
	}
	for field, change := range map[string]func(*Tuning){
		"half_life":    func(t *Tuning) { t.HalfLife = time.Minute },
		"share_weight": func(t *Tuning) { t.ShareWeight = 401 },
		"aging":        func(t *Tuning) { t.Aging = 0 },
		"wait_bound":   func(t *Tuning) { t.WaitBound = -1 },
		"backfill":     func(t *Tuning) { t.Backfill = 4 },
		"depth":        func(t *Tuning) { t.Depth = 0 },
		"min_run":      func(t *Tuning) { t.MinRun = 25 * time.Hour },
		"budget":       func(t *Tuning) { t.Budget = math.MaxUint32 },
		"budget_every": func(t *Tuning) { t.BudgetEvery = time.Second },
		"patience":     func(t *Tuning) { t.Patience = 0 },
		"hysteresis":   func(t *Tuning) { t.Hysteresis = 99 },
	} {
		d := DefaultTuning()
		change(&d)
		if p, is := errors.AsType[*Problem](d.Validate()); !is || p.Field != field {
			t.Errorf("%s: got %v", field, d.Validate())
		}
	}
}

// Every parameter takes what it shows, and what it cannot take it names.
func TestParametersAreSetByName(t *testing.T) {
	tuned := DefaultTuning()
	for name, value := range map[string]string{
		"half_life": "24h0m0s", "share_weight": "0", "backfill": "skip", "no_preemption": "true", "depth": "1000",
	} {
		if err := tuned.Set(name, value); err != nil {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
	for _, p := range Parameters() {
		was := p.Value(&tuned)
		if err := tuned.Set(p.Name, was); err != nil || p.Value(&tuned) != was || p.What == "" {
			t.Errorf("%s does not take its own value %q: %v", p.Name, was, err)
		}
		for _, bad := range []string{"", "-1", "often", "99999999h", "1e9"} {
			changed := tuned
			if err := changed.Set(p.Name, bad); err == nil || !strings.Contains(err.Error(), p.Name) {
				t.Errorf("%s = %q: %v", p.Name, bad, err)
			}
		}
	}
	if tuned.ShareWeight != 0 || tuned.Backfill != BackfillSkip || !tuned.NoPreemption || tuned.HalfLife != 24*time.Hour {
		t.Errorf("set is %+v", tuned)
	}
	if err := tuned.Set("unknown", "1"); err == nil {
		t.Error("an unknown parameter is set")
	}
}

// A step's run time lies within the step, and steps are a fourth of a doubling.
func TestStepsAreFourthsOfADoubling(t *testing.T) {
	for s := range MaxStep {
		at := time.Duration(s.Seconds()) * time.Second
		if least := s.Least(); s > 0 && (StepOf(least) < s-1 || StepOf(least+time.Second) != s || StepOf(least-time.Second) != s-1) {
			t.Errorf("step %d is said to begin at %s", s, least)
		}
		if got := StepOf(at); got != s {
			t.Errorf("step %d stands for %s, which is of step %d", s, at, got)
		}
	}
	for d, want := range map[time.Duration]Step{
		-1: 0, 0: 0, 5 * time.Minute: 0, 10 * time.Minute: 4, 20*time.Minute - time.Second: 7, 40 * time.Minute: 12,
		math.MaxInt64: MaxStep,
	} {
		if got := StepOf(d); got != want {
			t.Errorf("%s is of step %d, want %d", d, got, want)
		}
	}
}
