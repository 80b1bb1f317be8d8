package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/fsm/model"
)

// A trace is played on the nodes of a file, and drawn as a page of all policies; what
// is not valid is reported, and nothing is written then.
func TestSimulateACluster(t *testing.T) {
	f := pastAPI(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trace := write("jobs.csv", "job_id,submit_s,gpus,duration_s,gpu_type\na,0,4,100,h100\nb,0,4,100,h100\n")
	nodes := write("cluster.yaml", "nodes: [{gpus: 8, model: A100}, {gpus: 4, model: H100}]\n")
	plot := filepath.Join(dir, "play.html")
	code, out, errs := f.berth(t, "simulate", "--trace", trace, "--cluster", nodes, "--compare", "fcfs,sjf", "--plot", plot)
	if code != 0 || !strings.Contains(out, "3:20") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	if page, err := os.ReadFile(plot); err != nil || strings.Count(string(page), "<svg ") != 2 {
		t.Errorf("the page is %s, %v", page, err)
	}
	wrong := write("wrong.yaml", "nodes: [{gpu: 8}]\n")
	for want, args := range map[string][]string{
		"is not valid: it may have nodes":          {"--cluster", wrong},
		"no such file":                             {"--cluster", filepath.Join(dir, "none.yaml")},
		"--cluster and --nodes exclude each other": {"--cluster", nodes, "--nodes", "2"},
		"could never run on these nodes":           {"--cluster", write("a.yaml", "nodes: [{gpus: 8, model: A100}]\n"), "--plot", filepath.Join(dir, "not.html")},
		"draws a picture into FILE.svg":            {"--plot", filepath.Join(dir, "not.png")},
		"or plot a page":                           {"--compare", "fcfs,sjf", "--plot", filepath.Join(dir, "not.svg")},
	} {
		if code, out, errs := f.berth(t, append([]string{"simulate", "--trace", trace}, args...)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: %d, %q, %q; want %q", args, code, out, errs, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "not.html")); err == nil {
		t.Error("a page was written of a play that failed")
	}
}

// How far forecasts come true is a table of its own, without rows for policies under which no job waits.
func TestSimulateForetells(t *testing.T) {
	f := pastAPI(t)
	trace := filepath.Join(t.TempDir(), "jobs.csv")
	play := func(jobs string) string {
		t.Helper()
		if err := os.WriteFile(trace, []byte("job_id,submit_s,gpus,duration_s\n"+jobs), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := f.berth(t, "simulate", "--trace", trace, "--nodes", "1", "--gpus-per-node", "4", "--policy", "fcfs", "--estimates", "exact",
			"--preempt", "off", "--foretell")
		_, table, _ := strings.Cut(out, "\n\n")
		if code != 0 {
			t.Fatalf("%d: %s%s", code, out, errs)
		}
		return table
	}
	want := "POLICY  FORETOLD  IN RANGE  SOONER  LATER  P50 OFF  P90 OFF\nfcfs    2         100.0 %   0.0 %   0.0 %  0:00     0:00\n"
	if got := play("a,0,4,100\nb,0,4,100\nc,10,1,50\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want = "POLICY  FORETOLD  IN RANGE  SOONER  LATER  P50 OFF  P90 OFF\nfcfs    0         -         -       -      -        -\n"
	if got := play("a,0,4,100\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The textbooks' orders are played under their own names, and are no policies of a cluster.
func TestSimulateTextbooks(t *testing.T) {
	f := pastAPI(t)
	trace := filepath.Join(t.TempDir(), "jobs.csv")
	// The second is shorter than what the first has yet to run, in the first's first half hour.
	jobs := "job_id,submit_s,gpus,duration_s\na,0,4,1000\nb,10,4,100\nc,1000,4,200\nd,1010,1,300\n"
	if err := os.WriteFile(trace, []byte(jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	play := func(args ...string) []simulate.Result {
		t.Helper()
		code, out, errs := f.berth(t, append([]string{"simulate", "--trace", trace, "--nodes", "1", "--gpus-per-node", "4", "--restart-cost", "0s", "-o", "json"}, args...)...)
		var r []simulate.Result
		if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
			t.Fatalf("%d, %v: %s%s", code, err, out, errs)
		}
		return r
	}
	r := play("--compare", "srtf,srsf,sjf")
	if r[0].Policy != "srtf" || r[1].Policy != "srsf" || r[2].Policy != "sjf" || r[0].Preemptions == 0 || r[2].Preemptions != 0 {
		t.Errorf("%+v", r)
	}
	if r := play("--compare", "srtf,srsf", "--set", "min_run=2h"); r[0].Preemptions != 0 || r[1].Preemptions != 0 {
		t.Errorf("a flag changes what they preset: %+v", r)
	}
	if slices.Contains(model.Policies(), "srtf") || model.KnownPolicy("srsf") {
		t.Error("a cluster could have an order of the textbooks")
	}
	if code, _, errs := f.berth(t, "simulate", "--trace", trace, "--policy", "sjf", "--compare", "srtf"); code == 0 || !strings.Contains(errs, "compare") {
		t.Errorf("--policy together with --compare: %d, %s", code, errs)
	}
}
