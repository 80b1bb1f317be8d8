package admin

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// How right predictions were stands below the parameters, once there were any.
func TestShowPredictions(t *testing.T) {
	p := &wire.Policies{Policy: "fcfs", Policies: []wire.Policy{{Name: "fcfs", What: "first come, first served"}}}
	var without, with strings.Builder
	if err := showPolicies(&without, p); err != nil || strings.Contains(without.String(), "PREDICTED") {
		t.Errorf("%v, %q", err, without.String())
	}
	p.Predictions = []wire.Prediction{{Source: "history", Attempts: 8, WithinFactorTwo: 6, MeanErrorFactor: 1.7}}
	if err := showPolicies(&with, p); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(with.String()), "\n")
	if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != "history 8 75 % 1.70" {
		t.Errorf("%q", with.String())
	}
}
