package jobs

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The reason of a job that waits for the orchestrator contains the command that starts it, which exists.
func TestExplainNamesTheCommand(t *testing.T) {
	var out strings.Builder
	start := explain.Unblock{Kind: explain.UnblockStart}
	e := &wire.Explanation{Unblock: []wire.Unblock{{Message: start.Message()}}}
	const line = "  - start the orchestrator (berth orchestrator start)\n"
	if err := showExplanation(&out, &wire.Detail{Explanation: e}); err != nil || !strings.Contains(out.String(), line) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Of a job that a node has got and not started, the explanation has the node's reason.
func TestExplainTellsWhyANodeWaits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	const why = "GPU 0 of n1: rank 7#1.0 has not started: a process is on it"
	d := &wire.Detail{Job: wire.Job{ID: "7", State: "scheduled"}, Warnings: []string{why}}
	if err := showExplanation(&out, d); err != nil || !strings.Contains(out.String(), "it is scheduled") || !strings.Contains(out.String(), why) {
		t.Errorf("shown is %s, %v", out.String(), err)
	}
}
