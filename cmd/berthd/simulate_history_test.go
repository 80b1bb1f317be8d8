package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// fakeAPI answers in place of a cluster.
type fakeAPI struct{ *httptest.Server }

// berth runs a command line against the fake and returns its exit code and output.
func (f *fakeAPI) berth(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	return called(args...)
}

// pastAPI is a cluster of two nodes of two GPUs, one of them drained, that has run a
// job of one task and an array, whose tasks come in pages of two.
func pastAPI(t *testing.T) *fakeAPI {
	t.Helper()
	at := func(second int) time.Time { return time.Unix(1_700_000_000+int64(second), 0) }
	gpus := []wire.GPU{{Type: "A", MemoryGB: 80, State: "free"}, {Index: 1, Type: "A", MemoryGB: 80, State: "free"}}
	task := func(index int64, ended int) wire.Task {
		return wire.Task{Index: index, State: "completed", EndedAt: at(ended), RunSeconds: 10}
	}
	pages := map[string]wire.Tasks{
		"":  {JobID: "2", Tasks: []wire.Task{task(0, 40), task(1, 50)}, Next: "2"},
		"2": {JobID: "2", Tasks: []wire.Task{task(2, 60), {Index: 3, State: "canceled", EndedAt: at(61)}}},
	}
	answers := map[string]any{
		"/queue": &wire.Queue{Queued: []wire.Job{}, Running: []wire.Job{}, Ended: []wire.Job{
			{ID: "2", User: "ann", GPUs: 1, Priority: 2, SubmittedAt: at(10), Eligible: at(20), EndedAt: at(61), Array: &wire.Array{Size: 4}},
			{ID: "1", User: "bob", GPUs: 2, Priority: 2, Constraint: "zone=a", SubmittedAt: at(0), EndedAt: at(30), RunSeconds: 30},
			{ID: "3", User: "bob", GPUs: 3, Priority: 2, SubmittedAt: at(0), EndedAt: at(30), RunSeconds: 30},
		}},
		"/nodes": &wire.Nodes{Nodes: []wire.Node{{ID: "n1", State: "up", GPUs: gpus, Labels: wire.Labels{"zone": "a"}}, {ID: "n2", State: "draining", GPUs: gpus}}},
		"/orchestrator/policies": &wire.Policies{Policy: "sjf", Parameters: []wire.Parameter{
			{Name: "depth", Value: "7"}, {Name: "backfill", Value: "none"},
		}},
	}
	f := &fakeAPI{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := answers[r.URL.Path]
		if r.URL.Path == "/jobs/2/tasks" {
			v = pages[r.URL.Query().Get("after")]
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// What the cluster has run is played on its own nodes under every policy, its own
// first, below what really happened.
func TestSimulateHistory(t *testing.T) {
	f := pastAPI(t)
	code, out, errs := f.berth(t, "simulate", "--history")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 9 || !strings.HasPrefix(out, "4 tasks since ") || !strings.Contains(lines[0], "on 1 node; without 1 task that these nodes could not run") {
		t.Fatalf("%d, %s%s", code, out, errs)
	}
	for i, want := range []string{"POLICY", "actual 4", "sjf 4", "fair_share 4"} {
		if got := strings.Join(strings.Fields(lines[2+i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, not %s", 2+i, got, want)
		}
	}
	if code, out, errs := f.berth(t, "simulate", "--history", "-o", "json"); code != 0 {
		t.Errorf("%d, %s", code, errs)
	} else {
		var r []simulate.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || len(r) != 6 {
			t.Fatalf("%v: %s", err, out)
		}
		// Eligible at 20, ended at 40, 50 and 60 after ten seconds each; and 30 seconds of all.
		if a := r[0]; a.Policy != "actual" || a.AvgWait != (10+20+30)/4.0 || a.Makespan != 60 || a.Utilization == 0 {
			t.Errorf("what happened: %+v", a)
		}
		// Job 1 has both GPUs until 30; then two tasks at a time.
		if p := r[1]; p.Policy != "sjf" || p.Backfill != "none" || p.Makespan != 50 || p.AvgWait != (10+10+20)/4.0 {
			t.Errorf("played: %+v", p)
		}
	}
}

// Flags overrule what the cluster says.
func TestSimulateHistoryOtherwise(t *testing.T) {
	f := pastAPI(t)
	var r []simulate.Result
	code, out, errs := f.berth(t, "simulate", "--history", "-o", "json", "--nodes", "2", "--gpus-per-node", "4", "--policy", "fcfs", "--backfill", "skip")
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r) != 2 {
		t.Fatalf("%d, %v, %s%s", code, err, out, errs)
	}
	if p := r[1]; p.Policy != "fcfs" || p.Backfill != "skip" || p.Jobs != 5 || p.MaxWait != 0 {
		t.Errorf("on more nodes: %+v", p)
	}
	if a := r[0]; a.Jobs != 5 || a.Utilization <= 90 {
		t.Errorf("what happened was on the nodes that there are: %+v", a)
	}
	if code, out, _ := f.berth(t, "simulate", "--history", "--last", "1", "--policy", "fcfs"); code != 0 || !strings.HasPrefix(out, "1 task since") {
		t.Errorf("the last one: %d, %s", code, out)
	}
	for _, args := range [][]string{{"--history", "--trace", "x"}, {"--history", "--last", "0"}, {}, {"--history", "--backfill", "x"}, {"--history", "--policy", "x"}} {
		if code, _, errs := f.berth(t, append([]string{"simulate"}, args...)...); code == 0 || errs == "" {
			t.Errorf("%v is taken: %d, %q", args, code, errs)
		}
	}
}
