package simulate

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/queue"
)

// Where only one job can run at a time the textbooks' orders are plain to see: whoever has
// least left of run time, or of GPU time, has the node.
func TestTextbooksAreAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(queue.Textbooks()).Draw(t, "order")
		var trace []Job
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			at += time.Duration(rapid.IntRange(0, 400).Draw(t, "pause")) * time.Second
			trace = append(trace, Job{
				ID: strconv.Itoa(i), User: "u", Submit: at, GPUs: uint32(rapid.IntRange(3, 5).Draw(t, "GPUs")),
				Duration: time.Duration(rapid.IntRange(1, 2000).Draw(t, "run time")) * time.Second,
			})
		}
		var log bytes.Buffer
		o := options(name)
		o.Nodes, o.GPUs, o.Log, o.Preemptible, o.RestartCost = 1, 5, &log, 1, 0
		o.Tuning.NoPreemption, o.Tuning.MinRun, o.Tuning.Budget, o.Tuning.Hysteresis, o.Tuning.WaitBound = false, 0, 1000, 100, 366*24*time.Hour
		if _, err := Play(t.Context(), trace, o); err != nil {
			t.Fatal(err)
		}
		got := map[int]time.Duration{}
		for _, v := range readLog(t, &log) {
			if v[1] == "end" {
				s, _ := strconv.ParseFloat(v[0], 64)
				n, _ := strconv.Atoi(v[2])
				got[n] = time.Duration(s) * time.Second
			}
		}
		for n, want := range oneAtATime(trace, name == "srsf") {
			if got[n] != want {
				t.Errorf("job %d ends at %s, by the definition of %s at %s", n, got[n], name, want)
			}
		}
	})
}

// oneAtATime is when each job ends if whoever has least left always runs; at a tie who came first.
func oneAtATime(trace []Job, byGPUTime bool) []time.Duration {
	left, ends := make([]time.Duration, len(trace)), make([]time.Duration, len(trace))
	for now, next := time.Duration(0), 0; ; {
		for ; next < len(trace) && trace[next].Submit <= now; next++ {
			left[next] = trace[next].Duration
		}
		best := -1
		var least time.Duration
		for i := range next {
			key := left[i]
			if byGPUTime {
				key *= time.Duration(trace[i].GPUs)
			}
			if left[i] > 0 && (best < 0 || key < least) {
				best, least = i, key
			}
		}
		if best < 0 && next == len(trace) {
			return ends
		}
		until := now + century
		if next < len(trace) {
			until = trace[next].Submit
		}
		if best >= 0 {
			until = min(until, now+left[best])
			if left[best] -= until - now; left[best] == 0 {
				ends[best] = until
			}
		}
		now = until
	}
}
