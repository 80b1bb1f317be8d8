package main

import (
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/fsm/model"
)

// textbook is an order as the literature has it, which only a play can follow: it needs the
// true run times, suspends whomever it likes and lets who is long wait for ever.
type textbook struct {
	name string
	set  []string // of the tuning, as far as --set does not say otherwise
}

func textbooks() []textbook {
	free := []string{"no_preemption=false", "wait_bound=8784h", "patience=8784h", "hysteresis=100", "min_run=0s", "budget=1000", "budget_every=1m"}
	return []textbook{
		{"srtf", append(free, "gpu_time=false")},
		{"srsf", append(free[:len(free):len(free)], "gpu_time=true")},
	}
}

// playable lists the policies that can be played.
func playable() []string {
	names := sched.Policies()
	for _, t := range textbooks() {
		names = append(names, t.name)
	}
	return names
}

// as are the options of a play under a policy or an order of the textbooks: sjf with true
// run times, all of whose jobs may be suspended, unless flags say otherwise.
func (s *simulation) as(name string) (simulate.Options, error) {
	o := s.Options
	o.Policy, o.Name = name, name
	for _, t := range textbooks() {
		if t.name != name {
			continue
		}
		o.Policy = "sjf"
		if err := set(&o.Tuning, t.set); err != nil {
			return o, err
		}
		if s.given("preempt") {
			o.Tuning.NoPreemption = s.preempt == "off"
		}
		if !s.given("estimates") {
			o.Estimates = simulate.Estimates{Low: 1, High: 1}
		}
		if !s.given("preemptible-fraction") {
			o.Preemptible = 1
		}
	}
	return o, set(&o.Tuning, s.set)
}

// set changes a tuning by pairs such as depth=1.
func set(t *model.Tuning, pairs []string) error {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if err := t.Set(name, value); err != nil {
			return fmt.Errorf("--set %s: %w", pair, err)
		}
	}
	return nil
}
