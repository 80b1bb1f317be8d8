package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// plain returns settings under which an order of the literature does exactly what its definition
// says: it suspends any job, and a late job may wait for ever.
func plain() []string {
	return []string{"no_preemption=false", "wait_bound=8784h", "hysteresis=100", "min_run=0s", "budget=1000", "budget_every=1m"}
}

// playable lists the policies that can be simulated.
func playable() []string { return append(model.Policies(), queue.Textbooks()...) }

// as returns the options of a simulation under a policy, or under an order of the literature: with
// true run times and jobs that all may be suspended, unless flags override that.
func (s *simulation) as(name string) (simulate.Options, error) {
	o := s.Options
	o.Policy = name
	if slices.Contains(queue.Textbooks(), name) {
		if err := set(&o.Tuning, plain()); err != nil {
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
	seen := map[string]bool{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if seen[name] {
			return fmt.Errorf("--set %s is given twice: give one value", name)
		}
		seen[name] = true
		err := t.Set(name, value)
		if d, wrong := wire.ParseDuration(value); err != nil && wrong == nil && t.Set(name, d.String()) == nil {
			err = nil // 7d is a form for users only
		}
		if err != nil {
			return fmt.Errorf("--set %s: %w", pair, err)
		}
	}
	return nil
}
