package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// supervisorOf returns the program whose supervisors are measured: BERTH_PROGRAM, the
// path of a berth, or else this test.
func supervisorOf() []string {
	if path := os.Getenv("BERTH_PROGRAM"); path != "" {
		return []string{path, "supervise"}
	}
	return []string{"/proc/self/exe", "supervise"}
}

// A new supervisor, from the agent's call to the job's first instruction, with and
// without others that wait for a rank.
func BenchmarkStart(b *testing.B) {
	for _, name := range []string{"first", "again"} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b)
			var total time.Duration
			for range b.N {
				if name == "first" {
					bench.ranks.Close()
					bench.open()
				}
				total += startOnce(bench)
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/start")
		})
	}
}

// startOnce returns how long a rank takes to its job's first instruction.
func startOnce(bench *bench) time.Duration {
	k := bench.rank("exec date +%s%N", plain)
	begun := time.Now()
	k.start().exit()
	said, err := strconv.ParseInt(strings.TrimSpace(k.output(runner.StdoutFile)), 10, 64)
	if err != nil {
		bench.t.Fatal(err)
	}
	return time.Unix(0, said).Sub(begun)
}

// What a job may write a second.
func BenchmarkOutput(b *testing.B) {
	const size = 512 << 20
	bench := newBench(b)
	b.SetBytes(size)
	for range b.N {
		k := bench.rank(fmt.Sprintf("exec dd if=/dev/zero bs=64k count=%d status=none", size>>16), plain).start()
		if e := k.exit(); !e.Clean() {
			b.Fatal(e)
		}
		if err := os.Remove(k.f.Path() + "/" + runner.StdoutFile); err != nil {
			b.Fatal(err)
		}
	}
}

// What a supervisor has of memory while its job runs: all, and what is its alone.
func BenchmarkMemory(b *testing.B) {
	bench := newBench(b)
	var all, own uint64
	for range b.N {
		k := bench.rank("echo out; exec sleep 600", plain).start()
		s := k.phase(model.RankRunning)
		since := time.Now()
		waitFor(b, "a settled supervisor", func() bool { return time.Since(since) > 2*settleAfter })
		total, anonymous := resident(b, s.PID)
		all, own = all+total, own+anonymous
		k.order(runner.Orders{Run: true, Kill: true})
		k.exit()
	}
	b.ReportMetric(float64(all)/float64(b.N)/1024, "MiB-resident")
	b.ReportMetric(float64(own)/float64(b.N)/1024, "MiB-anonymous")
}

// resident reads what a process has in memory, in KiB.
func resident(b *testing.B, pid int) (total, anonymous uint64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseUint(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			total = n
		case "RssAnon:":
			anonymous = n
		}
	}
	return total, anonymous
}
