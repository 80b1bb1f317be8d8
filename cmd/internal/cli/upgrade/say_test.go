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

// Names differ by their numbers: a wait for another peer is another line.
func TestAWaitForAnotherPeerIsPrinted(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		a, b string
		same bool
	}{
		{"Waiting: peer p2 is not up.", "Waiting: peer p3 is not up.", false},
		{"Waiting: of the other peers, p2 is not up", "Waiting: of the other peers, p2 is not up, and p3 is not up", false},
		{"Waiting: peer 1 restarts.", "Waiting: peer 2 restarts.", false},
		{"Waiting: peer 1s restarts.", "Waiting: peer 2s restarts.", false},
		{"Waiting: peer gpu-1m restarts.", "Waiting: peer gpu-2m restarts.", false},
		{"Peer p2 is back with version 0.1.0.", "Peer p2 is back with version 0.1.1.", false},
		{"Waiting: p2 restarts, for at most 9m58s.", "Waiting: p2 restarts, for at most 57s.", true},
		{"Waiting: p2 restarts (1.5s).", "Waiting: p2 restarts (120ms).", true},
	} {
		var out strings.Builder
		r := &restarting{out: &out}
		r.say("%s", v.a)
		if r.say("%s", v.b); (strings.Count(out.String(), "\n") == 1) != v.same {
			t.Errorf("%q and %q:\n%s", v.a, v.b, out.String())
		}
	}
}
