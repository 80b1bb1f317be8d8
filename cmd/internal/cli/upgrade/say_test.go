package upgrade

import (
	"strings"
	"testing"
)

// What is waited for is printed once, whatever time is left; another cause is printed again.
func TestAWaitIsPrintedOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := &restarting{out: &out}
	for _, left := range []string{"9m59s", "9m58s", "57s"} {
		r.say("Waiting: peer p2 has the lock for restarts, for at most %s.", left)
	}
	r.say("Waiting for peer p1.")
	if lines := strings.Count(out.String(), "\n"); lines > 3 || !strings.Contains(out.String(), "9m59s") || strings.Contains(out.String(), "9m58s") {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
}
