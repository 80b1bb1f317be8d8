package sim

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

var traceHash = regexp.MustCompile(`trace ([0-9a-f]{16})`)

// With the runtime's overlay, a seed gives one and the same run, each in a process
// of its own. Now and then the start of a process disturbs one; four that all
// differ are no accident.
func TestReplay(t *testing.T) {
	if !overlaid {
		t.Skip("needs the overlay of test/sim/overlay")
	}
	seen := map[string]int{}
	for range 4 {
		//nolint:gosec // this program again
		again := exec.Command(os.Args[0], "-test.run=^TestSim$", "-test.v", "-sim.seeds=1", "-sim.minutes=1",
			fmt.Sprintf("-sim.seed=%d", *seedFlag))
		again.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1,randseednop=0", "GOGC=off")
		out, err := again.CombinedOutput()
		found := traceHash.FindSubmatch(out)
		if err != nil || found == nil {
			t.Fatalf("%v: %s", err, out)
		}
		if seen[string(found[1])]++; seen[string(found[1])] == 2 {
			return
		}
	}
	t.Errorf("seed %d gave four different traces: %v", *seedFlag, seen)
}
