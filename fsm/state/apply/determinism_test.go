package apply

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/fleet"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// childEnv makes the test binary a child that applies a log and prints digests:
// a process of its own has map seeds of its own.
const childEnv = "BERTH_TEST_DETERMINISM"

const childEntries = 300

// The log is the same for all children: it is written with the true appliers.
func childLog(t *testing.T) (log []logEntry) {
	write(t, newGen(seeded(77)), state.State{}, childEntries, func(_, _ state.State, e logEntry, _ outcome) { log = append(log, e) })
	return log
}

// TestDeterminismChild is what the children run; alone it does nothing.
func TestDeterminismChild(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		t.Skip("needs to be a child of TestDeterminism")
	}
	apply := appliers
	if mode == "planted" {
		apply = planted()
	}
	s := state.State{}
	for _, e := range childLog(t) {
		m, commands := e.decode(t)
		s, _, _ = apply.apply(&s, m, commands)
		fmt.Printf("digest %d %x\n", s.Index, s.Digest())
	}
}

// planted numbers a node's GPUs in the order of a Go map: the kind of bug that
// makes peers drift apart.
func planted() rules {
	out := rules{}
	for k, apply := range appliers {
		out[k] = apply
	}
	out[command.KindRegister] = on(func(t *tx.Tx, b *command.Register) command.Result {
		r := fleet.Register(t, b)
		if !r.OK() {
			return r
		}
		mine := map[model.GPUID]model.GPU{}
		for i := range b.Devices {
			mine[b.Devices[i].ID], _ = t.GPUs.Get(b.Devices[i].ID)
		}
		n := uint32(0)
		for _, g := range mine {
			g.Index = n
			n++
			t.GPUs.Put(g)
		}
		return r
	})
	return out
}

// The same log gives the same digests in every process, with one processor and
// with many; with a map's order in an applier it does not.
func TestDeterminism(t *testing.T) {
	var first []string
	for _, procs := range []string{"1", "2", "8", "2"} {
		got := child(t, "plain", procs)
		if len(got) != childEntries {
			t.Fatalf("a child printed %d digests, want %d", len(got), childEntries)
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(first, got) {
			t.Errorf("two processes came to different digests at entry %d", split(first, got))
		}
	}
	const soon = 100
	a, b, c := child(t, "planted", "1"), child(t, "planted", "2"), child(t, "planted", "2")
	if at := min(split(a, b), split(a, c)); at > soon {
		t.Errorf("a map's order in an applier was first seen at entry %d, want one of the first %d", at, soon)
	}
}

// split returns the first index at which two runs differ, or beyond all.
func split(a, b []string) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i + 1
		}
	}
	return len(a) + 1
}

func child(t *testing.T, mode, procs string) (digests []string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeterminismChild$", "-test.count=1") //nolint:gosec // this very binary
	c.Env = append(os.Environ(), childEnv+"="+mode, "GOMAXPROCS="+procs)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("child %s: %v\n%s", mode, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "digest ") {
			digests = append(digests, strings.TrimSpace(line))
		}
	}
	return digests
}
