package e2e

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

var cuts = flag.String("chaos.cuts", "10s,31s", "for how long nodes are cut off, each another one; the lease is of 30s")

// writer writes down its attempt and the time, ten times a second.
const writer = `while :; do echo "$BERTH_ATTEMPT $(date +%s%N)" >> "$WRITES"; sleep 0.1; done`

// Nodes are cut off from all peers, for less and for more than their lease of 30 s. A
// job goes on under a short cut. Under a long one its supervisor ends it in time, and
// whatever its next attempt writes comes after the last that the one before wrote.
func TestNodesAreCutOff(t *testing.T) {
	var times []time.Duration
	for text := range strings.SplitSeq(*cuts, ",") {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, d)
	}
	var islands []*island
	for n := range times {
		i, err := newIsland(t, fmt.Sprintf("island%d", n))
		if errors.Is(err, errNoNetworks) {
			t.Skipf("needs root, to cut networks: %v", err)
		}
		islands = append(islands, i)
	}
	c := start(t, "--nodes", "1", "--gpus", "4")
	c.ok("cordon", "node1")
	jobs := map[string]string{}
	files := map[string]string{}
	for _, i := range islands {
		i.settle(c)
		file := filepath.Join(t.TempDir(), "writes")
		grace, contact := wireSeconds(0), wireSeconds(30)
		id := c.submit(&wire.Submit{
			Command: writer, Env: map[string]string{"WRITES": file}, OnLost: "requeue", Grace: &grace, DisconnectGrace: &contact,
		})
		jobs[c.running(id).AllocatedGPUs[0].NodeID], files[id] = id, file
	}
	c.ok("undrain", "node1")
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	t.Run("for", func(t *testing.T) { // all at the same time
		for n, i := range islands {
			t.Run(times[n].String(), func(t *testing.T) {
				t.Parallel()
				cutOff(ctx, t, i, times[n], files[jobs[i.name]])
			})
		}
	})
	for id := range files { // order-free: jobs outlive their agents, and would go on writing
		c.ok("cancel", id)
		c.ended(id)
	}
}

// lease is that of the jobs, and begins a stop early enough for the kill.
const (
	lease      = 30 * time.Second
	fenceBegin = 20 * time.Second
)

func cutOff(ctx context.Context, t *testing.T, i *island, long time.Duration, file string) {
	waitUntil := func(what string, holds func(w writes) bool) {
		t.Helper()
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			if holds(readWrites(t, file)) {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("not in time: %s; written: %+v", what, readWrites(t, file))
			}
		}
	}
	waitUntil("the job writes", func(w writes) bool { return len(w) == 1 })
	i.gate.set(false)
	healed := time.Now().Add(long)
	waitUntil("the cut ends", func(writes) bool { return time.Now().After(healed) })
	i.gate.set(true)
	if long < fenceBegin {
		waitUntil("the job goes on", func(w writes) bool { return w[1].last > healed.Add(5*time.Second).UnixNano() })
		if w := readWrites(t, file); len(w) != 1 {
			t.Errorf("a cut of %s ended an attempt: %+v", long, w)
		}
		return
	}
	waitUntil("another attempt writes", func(w writes) bool { return w[2].last > 0 })
	w := readWrites(t, file)
	if w[1].last >= w[2].first {
		t.Errorf("attempt 1 wrote %s after attempt 2 had begun", time.Duration(w[1].last-w[2].first))
	}
	t.Logf("between the last write of attempt 1 and the first of attempt 2 there were %s", time.Duration(w[2].first-w[1].last))
	if end := healed.Add(-long).Add(lease).UnixNano(); w[1].last > end {
		t.Errorf("attempt 1 wrote after its lease")
	}
}

// writes are the first and the last time that each attempt has written.
type writes map[int]struct{ first, last int64 }

func readWrites(t *testing.T, path string) writes {
	t.Helper()
	out := writes{}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var attempt int
		var at int64
		if _, err := fmt.Sscan(lines.Text(), &attempt, &at); err != nil {
			continue // the last one, half written
		}
		v := out[attempt]
		if v.first == 0 {
			v.first = at
		}
		v.last = max(v.last, at)
		out[attempt] = v
	}
	return out
}
