package sim

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster"
)

var (
	seedFlag    = flag.Uint64("sim.seed", 1, "first seed")
	seedsFlag   = flag.Int("sim.seeds", 0, "how many seeds; 0: as many as fit the length of the tests")
	minutesFlag = flag.Int("sim.minutes", 4, "about how many virtual minutes a seed lasts")
	logFlag     = flag.String("sim.log", "", "file for the peers' own logs")
)

// settling is about how long a run takes after its faults.
const settling = 110 * time.Second

// seeds returns the first seed and their number. Short tests run few, that BERTH_SIM_SEED chooses, a
// hexadecimal number such as the start of a commit's hash.
func seeds(t *testing.T) (first uint64, n int) {
	t.Helper()
	first, n = *seedFlag, *seedsFlag
	if n > 0 {
		return first, n
	}
	if !testing.Short() {
		return first, seedsByDefault
	}
	if chosen := os.Getenv("BERTH_SIM_SEED"); chosen != "" {
		var err error
		if first, err = strconv.ParseUint(chosen, 16, 48); err != nil {
			t.Fatalf("BERTH_SIM_SEED: %v", err)
		}
	}
	return first, shortSeeds
}

// setup draws the size of a cluster from its seed.
func setup(seed uint64, minutes int) Setup {
	rng := newRNG(seed, 0)
	s := Setup{
		Seed: seed, Peers: 3, Nodes: 2 + rng.IntN(3), GPUs: 2 + rng.IntN(3), Users: 2 + rng.IntN(2),
		Faulty: max(time.Minute, time.Duration(minutes)*time.Minute-settling),
		Tuning: cluster.Tuning{SnapshotThreshold: 100, SnapshotInterval: 5 * time.Second},
	}
	if rng.IntN(6) == 0 {
		s.Peers = 5
	}
	switch rng.IntN(10) { // raft's pace is most of what a quiet minute costs
	case 0: // as it is on a good network
	case 1, 2:
		s.Tuning.CommitTimeout = 50 * time.Millisecond
	default:
		l := leisurely()
		s.Tuning.Timeouts, s.Tuning.CommitTimeout = l.Timeouts, l.CommitTimeout
	}
	if rng.IntN(3) == 0 { // so that followers need snapshots
		s.Tuning.TrailingLogs, s.Unguarded.ShortLogs = 70, true
	}
	s.Away = rng.IntN(2) == 0
	return s
}

// leisurely returns a pace of raft's that costs a tenth of the usual one: the timeouts of
// a wide network, and idle followers learn late of what is committed.
func leisurely() cluster.Tuning {
	return cluster.Tuning{Timeouts: cluster.WAN, CommitTimeout: 200 * time.Millisecond}
}

// TestSim lets clusters run under every fault there is.
func TestSim(t *testing.T) {
	parallel(t)
	var virtual atomic.Int64
	var ruled tally
	first, n := seeds(t)
	t.Cleanup(func() {
		t.Logf("%d seeds, %v of virtual time", n, time.Duration(virtual.Load()).Round(time.Second))
		ruled.enough(t, n)
	})
	for i := range n {
		seed := first + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			parallel(t)
			began := time.Now()
			s := setup(seed, *minutesFlag)
			if *logFlag != "" {
				f, err := os.Create(*logFlag)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = f.Close() }()
				s.Log = f
			}
			r := run(t, s, nil)
			virtual.Add(int64(r.Virtual))
			ruled.add(r.Rules)
			t.Logf("%v virtual in %v: %d entries, %d jobs, %d requests, %d attempts lost, trace %s", r.Virtual.Round(time.Second),
				time.Since(began).Round(time.Millisecond), r.Entries, r.Jobs, r.Acked, r.Lost, r.Hash)
			describeFailure(t, seed, r)
		})
	}
}

// tally counts the placements that rules of users' requirements concerned.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(rules map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	for breach, n := range rules {
		c.counts[breach] += n
	}
}

// enough fails the test if many seeds have never put a rule to the test.
func (c *tally) enough(t *testing.T, seeds int) {
	t.Helper()
	for _, v := range unsaids() {
		t.Logf("%5d placements might have broken the rule against: %s", c.counts[v.breach], v.breach)
		if c.counts[v.breach] == 0 && seeds >= 50 && !t.Failed() {
			t.Errorf("no placement in %d seeds could break the rule against: %s", seeds, v.breach)
		}
	}
}

// parallel lets a test run in parallel with others, unless it is to be repeated or read.
func parallel(t *testing.T) {
	t.Helper()
	if !overlaid && *logFlag == "" {
		t.Parallel()
	}
}

// scripted is parallel for a test with a course of events of its own. With -short, the race detector sees the random courses of
// TestSim alone: make test runs all others without it, and make test-long with it.
func scripted(t *testing.T) {
	t.Helper()
	if underRace && testing.Short() {
		t.Skip("with -short, only TestSim runs with the race detector")
	}
	parallel(t)
}

// run simulates in a bubble of its own.
func run(t *testing.T, s Setup, script func(*World)) (r *Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seedRuntime(t, s.Seed)
		r = Run(s, script)
	})
	return r
}

// explain fails the test with everything that helps to find out why.
func describeFailure(t *testing.T, seed uint64, r *Report) {
	t.Helper()
	if r.Broken == nil {
		return
	}
	var faults, commands strings.Builder
	r.trace.Write(&faults, true)
	r.WriteLog(&commands, 200)
	trace, log, err := r.Save(t.ArtifactDir())
	if err != nil {
		t.Error(err)
	}
	t.Errorf("seed %d: %v\n\nfaults:\n%s\nthe last commands:\n%s\nall of it: %s, %s\nagain: go test ./test/sim -run TestSim "+
		"-sim.seed %d -sim.seeds 1 -sim.minutes %d (the package comment tells how to make it exact)", seed, r.Broken, faults.String(),
		commands.String(), trace, log, seed, *minutesFlag)
}
