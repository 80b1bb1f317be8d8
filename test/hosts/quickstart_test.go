package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The quick start for two machines works as it is written, chapter by chapter. The package is installed in test/packages.
func TestTheQuickStartOfTwoMachines(t *testing.T) {
	const page = "../../docs/quickstart.md"
	var steps []step
	for _, chapter := range []string{"## 2. The cluster", "## 3. A user", "## 4. A job"} {
		some, err := stepsOf(page, chapter)
		if err != nil {
			t.Fatal(err)
		}
		steps = slices.Concat(steps, some)
	}
	l := startLab(t, map[string]string{"head": "10.0.0.1", "gpu1": "10.0.0.11"})
	printed := map[string]string{ //nolint:gosec // beginnings of tokens
		"berth whoami":       "ann",
		"berth run -g 1":     "a GPU: ",
		"berth submit -g 1":  "Submitted job 2",
		"berth logs -f 2":    "hello",
		"berth show 2":       "completed",
		"berth token join":   "berth-join-node",
		"berth init":         "--pin ",
		"| berth join node":  "Warning: the machine has joined, but berth-agent.service does not start: no GPUs: NVML: no NVIDIA driver",
		"useradd -m ann":     "",
		"| berth login":      "",
		"berth token create": "berth_",
		"berth nodes":        "gpu1",
		"berth queue":        "",
	}
	began := time.Now()
	err := l.follow(t.Context(), steps, func(s step, out string) {
		met := false
		for command, want := range printed {
			if strings.Contains(s.text, command) {
				met = true
				if !strings.Contains(out, want) {
					t.Errorf("%s %s printed %q, not %q", s.prompt(), s.text, out, want)
				}
			}
		}
		if !met {
			t.Errorf("the test does not know what %s prints", s.text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d commands, from the package to the end of the second job: %s", len(steps), time.Since(began).Round(time.Millisecond))
}
