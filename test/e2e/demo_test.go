package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// The demo shows what it promises: everything but three of its jobs completes although the leader is
// killed, by the marks that the jobs' own processes leave.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program(), "demo", "--http", freeAddress(t)).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "Every check holds: no job was lost, none ran twice, and no GPU had two owners.\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}
