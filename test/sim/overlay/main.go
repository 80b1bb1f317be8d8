// Command overlay writes a build overlay with which the Go runtime draws every choice that it makes for goroutines
// of a testing/synctest bubble from a seed: which case of a select goes first, where a map's iteration begins,
// which of two timers of one instant fires first, which goroutine gets a contended semaphore. A run of the
// simulator then depends on its seed only and can be repeated exactly:
//
//	go run ./test/sim/overlay -out /tmp/overlay
//	GOMAXPROCS=1 GODEBUG=asyncpreemptoff=1,randseednop=0 GOGC=off \
//	    go test -tags simoverlay -overlay /tmp/overlay/overlay.json ./test/sim -run TestSim -sim.seed 7 -sim.seeds 1
//
// One thread, no preemption and no garbage collection are part of it: both run by real time. The overlay is made
// for one version of Go, and fails with that message if the runtime's files are not what it expects.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// linkname is the function of the simulator's tests that seeds the runtime.
const linkname = "github.com/berth-gpu/berth/test/sim.runtimeSeed"

// change is one edit: where must stand exactly once in the file.
type change struct{ where, with string }

// patch is what becomes of one file of the runtime.
type patch struct {
	file    string
	changes []change
	tail    string
}

// patches returns the edits, for Go 1.26.
func patches() []patch {
	return []patch{
		{file: "rand.go", tail: source, changes: []change{
			{"func rand() uint64 {\n", "func rand() uint64 {\n\tif simOn && getg().bubble != nil {\n\t\treturn simNext()\n\t}\n"},
			// When a thread is made depends on real time: it must not draw from the seed.
			{"\tmp.cheaprand = rand()\n", "\tmp.cheaprand = bootstrapRand()\n"},
			// The keys of hashes are made when the process starts, before any seed.
			{
				"\tseed := &globalRand.seed\n\tif len(startupRand)",
				"\tseed := &globalRand.seed\n\tif true {\n\t\tfor i := range seed {\n\t\t\tseed[i] = byte(i*7 + 1)\n\t\t}\n\t} else if len(startupRand)",
			},
		}},
		{file: "select.go", changes: []change{{
			"j := cheaprandn(uint32(norder + 1))", "j := uint32((uint64(simRand32()) * uint64(norder+1)) >> 32)",
		}}},
		{file: "time.go", changes: []change{{"t.rand = cheaprand()", "t.rand = simRand32()"}}},
		{file: "sema.go", changes: []change{
			{"s.ticket = cheaprand() | 1", "s.ticket = simRand32() | 1"},
			// A mutex turns fair when someone has waited for long: in the bubble's time.
			{
				"func internal_sync_nanotime() int64 {\n", "func internal_sync_nanotime() int64 {\n\tif b := getg().bubble; simOn && b != nil {\n\t\treturn b.now\n\t}\n",
			},
		}},
		{file: "proc.go", changes: []change{{
			"const forcePreemptNS = 10 * 1000 * 1000 // 10ms", "const forcePreemptNS = 3600 * 1000 * 1000 * 1000 // no time slices",
		}}},
	}
}

// source is what the runtime gets in addition: a generator (SplitMix64) for
// goroutines in a bubble, and the way to seed it.
const source = `
var (
	simOn    bool
	simState uint64
)

//go:nosplit
func simNext() uint64 {
	simState += 0x9e3779b97f4a7c15
	z := simState
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

//go:nosplit
func simRand32() uint32 {
	if simOn && getg().bubble != nil {
		return uint32(simNext() >> 16)
	}
	return cheaprand()
}

//go:linkname sim_seed ` + linkname + `
func sim_seed(seed uint64) {
	simState, simOn = seed, true
	getg().m.p.ptr().schedtick = 0 // every 61st time the scheduler looks elsewhere first
}
`

func main() {
	out := flag.String("out", "", "folder to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

// write writes the patched files and the list that the go command reads.
func write(out string) error {
	if out == "" {
		return errors.New("say where to with -out")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("asking the go command for its root: %w", err)
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	replace := map[string]string{}
	for _, p := range patches() {
		from := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", p.file)
		to := filepath.Join(out, p.file)
		if err := p.apply(from, to); err != nil {
			return err
		}
		replace[from] = to
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "overlay.json"), list, 0o600)
}

// apply makes the changes to one file.
func (p patch) apply(from, to string) error {
	data, err := os.ReadFile(from) // #nosec G304 -- a file of the Go installation
	if err != nil {
		return err
	}
	text := string(data)
	for _, c := range p.changes {
		if n := strings.Count(text, c.where); n != 1 {
			return fmt.Errorf("%s has %d times what is to be replaced, not once: %q; this overlay is for Go 1.26", from, n, c.where)
		}
		text = strings.Replace(text, c.where, c.with, 1)
	}
	return os.WriteFile(to, []byte(text+p.tail), 0o600)
}
