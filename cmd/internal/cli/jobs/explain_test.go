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
