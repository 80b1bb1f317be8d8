package root

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// arrayPeer answers as a peer at which an array of two tasks has run, and notes what output was asked
// for.
func arrayPeer(t *testing.T) (address string, asked func() []string) {
	var mu sync.Mutex
	var list []string
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	array := &wire.Array{Size: 2, Indices: "3,7", Completed: 2}
	mux.HandleFunc("POST /queue/submit", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Submitted{Success: true, JobID: "17", Job: wire.Job{ID: "17", State: "queued", Array: array}})
	})
	mux.HandleFunc("POST /jobs/17/attach", func(w http.ResponseWriter, _ *http.Request) { answer(w, &wire.Done{}) })
	mux.HandleFunc("GET /jobs/17", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Detail{Job: wire.Job{ID: "17", State: "completed", Array: array, Attempts: 1}, History: []wire.Attempt{}})
	})
	mux.HandleFunc("GET /jobs/17/tasks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Tasks{Tasks: []wire.Task{{Index: 3, State: "completed", Attempts: 1}, {Index: 7, State: "completed", Attempts: 1}}})
	})
	mux.HandleFunc("GET /jobs/17/logs", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		mu.Lock()
		list = append(list, r.URL.RawQuery)
		mu.Unlock()
		if q.Get("stream") == "stdout" {
			fmt.Fprintf(w, "hello from %s\nno end", q.Get("task")) //nolint:gosec // a test's answer
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(list))
	}
}

// The output of an array is that of all its tasks, each line after its task's number.
func TestOutputOfAllTasks(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"submit --follow", "run"} {
		address, _ := arrayPeer(t)
		words := strings.Fields(command)
		code, out, errs := called(append(append([]string{words[0], "--address", address}, words[1:]...), "-a", "3,7", "--", "true")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		slices.Sort(lines)
		want := []string{"[3] hello from 3", "[3] no end", "[7] hello from 7", "[7] no end"}
		if code != 0 || !slices.Equal(lines, want) {
			t.Errorf("%s: exit code %d, %q, %s", command, code, lines, errs)
		}
	}
}

// logs -f of an array is that of all tasks, and of one where an attempt or a rank is named.
func TestLogsOfAnArray(t *testing.T) {
	t.Parallel()
	address, asked := arrayPeer(t)
	code, out, errs := called("logs", "-f", "--out", "--address", address, "17")
	if code != 0 || !strings.Contains(out, "[3] hello from 3\n") || !strings.Contains(out, "[7] hello from 7\n") {
		t.Errorf("exit code %d, %q, %s", code, out, errs)
	}
	before := len(asked())
	if code, _, errs = called("logs", "-f", "--rank", "0", "--address", address, "17"); code != cmdline.ExitUsage || !strings.Contains(errs, "such as 17.3") {
		t.Errorf("a rank of an array: exit code %d, %s", code, errs)
	}
	if len(asked()) != before {
		t.Error("output was asked for")
	}
}

// An explicit 0 is asked for as such.
func TestTailOfZero(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"logs --tail 0 17.3":    {"stream=stderr&tail=0&task=3", "stream=stdout&tail=0&task=3"},
		"logs 17.3":             {"stream=stderr&task=3", "stream=stdout&task=3"},
		"logs -f --tail 0 17.3": {"attempt=1&bytes=true&follow=true&stream=stderr&tail=0&task=3", "attempt=1&bytes=true&follow=true&stream=stdout&tail=0&task=3"},
		"logs -f --tail 5 17.3": {"attempt=1&bytes=true&follow=true&stream=stderr&tail=5&task=3", "attempt=1&bytes=true&follow=true&stream=stdout&tail=5&task=3"},
	} {
		address, asked := arrayPeer(t)
		words := strings.Fields(line)
		code, _, errs := called(append([]string{words[0], "--address", address}, words[1:]...)...)
		if got := asked(); code != 0 || !slices.Equal(got, want) {
			t.Errorf("%s: exit code %d, asked for %q, want %q; %s", line, code, got, want, errs)
		}
	}
	for line, says := range map[string]string{
		"logs --tail -1 17":      "--tail must be at least 0",
		"logs --attempt 0 17":    "--attempt must be at least 1",
		"queue -n 0":             "--limit must be at least 1",
		"reserve -g 0 --nodes a": "--gpus must be at least 1",
	} {
		if code, _, errs := called(append(strings.Fields(line), "--address", "127.0.0.1:1")...); code != cmdline.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
	}
}

// Numbers of 0 are sent as they were given, and the cluster says what may be.
func TestExplicitZeros(t *testing.T) {
	f := newFakeAPI(t)
	f.berth(t, "submit", "-N", "0", "-c", "0", "--gpus-per-node", "0", "--min-gpus", "0", "--max-retries", "0", "--", "x")
	for name, got := range map[string]*int64{"nodes": f.got.Nodes, "cpus": f.got.CPUs, "gpus_per_node": f.got.GPUsPerNode, "min_gpus": f.got.MinGPUs, "max_retries": f.got.MaxRetries} {
		if got == nil || *got != 0 {
			t.Errorf("%s was sent as %v", name, got)
		}
	}
	f.berth(t, "submit", "--", "x")
	if f.got.Nodes != nil || f.got.CPUs != nil || f.got.GPUsPerNode != nil || f.got.MinGPUs != nil {
		t.Errorf("what was not given was sent: %+v", f.got)
	}
}

// Where the number of a job cannot be written, the user is told that it is submitted.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	address, _ := arrayPeer(t)
	var errs strings.Builder
	code := Run([]string{"submit", "--address", address, "--", "true"}, full{}, &errs)
	if code != cmdline.ExitFailure || !strings.Contains(errs.String(), "job 17 is submitted: do not submit it again; its number could not be printed: the disk is full") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }
