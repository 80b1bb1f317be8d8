package sim

import (
	"strings"
	"testing"
)

// A program that survives a defect of its own reports that in its log alone; a run in which one does is
// broken.
func TestDefectsInLogsAreSeen(t *testing.T) {
	scripted(t)
	for _, v := range []struct {
		name  string
		say   func(w *World)
		broke bool
	}{
		{"defect", func(w *World) {
			w.logger("p1").With("decider", "scheduling").Error("came to nothing; this is a defect", "panic", "no such shape")
		}, true},
		{"error", func(w *World) { w.logger("p1").Error("the disk is nearly full") }, false},
		{"warning", func(w *World) { w.logger("p1").Warn("no defect of ours") }, false},
	} {
		t.Run(v.name, func(t *testing.T) {
			r := run(t, Setup{Seed: 1, Peers: 1, Nodes: 1, GPUs: 1}, v.say)
			if broke := r.Broken != nil; broke != v.broke {
				t.Fatalf("the run is broken: %v", r.Broken)
			}
			if v.broke && (r.Broken.Name != BreachDefect || !strings.Contains(r.Broken.What, "no such shape")) {
				t.Errorf("it says %v", r.Broken)
			}
		})
	}
}
