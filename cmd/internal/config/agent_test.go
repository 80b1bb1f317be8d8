package config

import (
	"testing"

	"github.com/berth-gpu/berth/node/gpu/judge"
	"github.com/berth-gpu/berth/node/runner"
)

// The defaults that are written here, so that this package links no agent, are those of agents.
func TestDefaultsAreThoseOfAgents(t *testing.T) {
	if a := New().Agent; a.RunDir != runner.DefaultRunDir || a.GPUs.Hot != judge.Defaults().Hot {
		t.Errorf("%s and %d °C", a.RunDir, a.GPUs.Hot)
	}
}
