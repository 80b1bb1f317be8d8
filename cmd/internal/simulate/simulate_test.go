package simulate

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

func options(policy string) Options {
	return Options{
		Nodes: 2, GPUs: 8, Policy: policy, Tuning: model.DefaultTuning(), Estimates: Estimates{Low: 1, High: 1},
		RestartCost: time.Minute, Seed: 1,
	}
}

func play(t *testing.T, trace string, o Options) *Result {
	t.Helper()
	jobs, _, err := Read(strings.NewReader("job_id,user,submit_s,gpus,duration_s\n" + trace))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Play(t.Context(), jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readLog is a play's log, line by line.
func readLog(t rapid.TB, log *bytes.Buffer) [][]string {
	t.Helper()
	in := csv.NewReader(log)
	in.FieldsPerRecord = -1
	lines, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// A play's figures are those that a reader works out by hand.
func TestPlay(t *testing.T) {
	o := options("fcfs")
	o.Tuning.Backfill = model.BackfillNone
	// Job 0 takes one node for 100 s; job 1 needs both and runs from 100 to 200; job 2 could
	// start at once but comes after it.
	r := play(t, "0,a,0,8,100\n1,b,0,16,100\n2,a,10,8,100\n", o)
	if r.Jobs != 3 || r.Makespan != 300 || r.AvgJCT != (100+200+290)/3.0 || r.MaxWait != 190/3600.0 || r.Preemptions != 0 {
		t.Errorf("strictly in order: %+v", r)
	}
	o.Tuning.Backfill = model.BackfillSkip
	if r = play(t, "0,a,0,8,100\n1,b,0,16,100\n2,a,10,8,100\n", o); r.Makespan != 210 || r.MaxWait != 110/3600.0 {
		t.Errorf("whatever fits: %+v", r)
	}
	// Job 2 ends before job 0's GPUs are needed, job 3 would not.
	o.Tuning.Backfill, o.Tuning.Depth = model.BackfillReserve, 1
	if r = play(t, "0,a,0,8,100\n1,b,0,16,100\n2,a,10,8,80\n3,a,10,8,100\n", o); r.Makespan != 300 || r.MaxWait != 190/3600.0 {
		t.Errorf("around a reservation: %+v", r)
	}
	if u := r.Utilization; math.Abs(u-100*float64(8*100+16*100+8*80)/float64(16*200)) > 0.01 {
		t.Errorf("the utilisation while all GPUs are asked for is %f", u)
	}
}

// A job of two nodes' GPUs takes any on as few as hold them, or waits for two whole ones if told so.
func TestWholeNodes(t *testing.T) {
	o := options("fcfs")
	o.Nodes = 4
	if r := play(t, "0,a,0,5,100\n1,a,0,5,100\n2,a,0,5,100\n3,b,10,16,50\n", o); r.Makespan != 100 {
		t.Errorf("8 + 3 + 3 + 2 GPUs are free, but all ended after %.0f s", r.Makespan)
	}
	o.WholeNodes = true
	if r := play(t, "0,a,0,5,100\n1,a,0,5,100\n2,a,0,5,100\n3,b,10,16,50\n", o); r.Makespan != 150 {
		t.Errorf("only one node is empty, but all ended after %.0f s", r.Makespan)
	}
}

// A suspended job goes on where it was, after what a restart costs.
func TestPlaySuspends(t *testing.T) {
	o := options("sjf")
	o.Preemptible, o.Tuning.MinRun = 1, 0
	r := play(t, "0,a,0,16,10000\n1,b,1000,16,600\n", o)
	if r.Preemptions != 1 || r.Makespan != 10000+600+60 {
		t.Errorf("the long job was suspended %d times, and all ended after %.0f s", r.Preemptions, r.Makespan)
	}
	o.Tuning.NoPreemption = true
	if r = play(t, "0,a,0,16,10000\n1,b,1000,16,600\n", o); r.Preemptions != 0 || r.Makespan != 10600 {
		t.Errorf("without preemption: %+v", r)
	}
}

// A log lets another program check the simulation: no node holds more than it has, jobs
// are whole, and run for as long as they must.
func TestPlayCanBeChecked(t *testing.T) {
	var log bytes.Buffer
	o := options("fair_share")
	o.Preemptible, o.Log, o.Estimates = 0.7, &log, Estimates{Low: 1, High: 9}
	jobs := traceOf(t, 300)
	if _, err := Play(t.Context(), jobs, o); err != nil {
		t.Fatal(err)
	}
	used, ran, begun, starts, ended := map[string]int{}, map[string]float64{}, map[string]float64{}, map[string]int{}, 0
	for _, line := range readLog(t, &log) {
		at, _ := strconv.ParseFloat(line[0], 64)
		id, gpus := line[2], 0
		for _, part := range line[4:] {
			node, n, _ := strings.Cut(part, ":")
			c, _ := strconv.Atoi(n)
			gpus += c
			if line[1] == "start" {
				used[node] += c
			} else {
				used[node] -= c
			}
			if used[node] < 0 || used[node] > o.GPUs {
				t.Fatalf("%v: node %s holds %d", line, node, used[node])
			}
		}
		if want, _ := strconv.Atoi(line[3]); line[1] != "submit" && gpus != want {
			t.Fatalf("%v: a gang of %d has %d", line, want, gpus)
		}
		switch line[1] {
		case "start":
			begun[id] = at
			starts[id]++
		case "suspend", "preempt", "end":
			ran[id] += at - begun[id]
		}
		if line[1] == "end" {
			ended++
			i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id })
			want := jobs[i].Duration.Seconds()
			if most := want + float64(starts[id]-1)*60; ran[id] < want-1 || ran[id] > most+1 {
				t.Fatalf("job %s ran %.0f s in %d attempts, and takes %.0f s", id, ran[id], starts[id], want)
			}
		}
	}
	if ended != len(jobs) {
		t.Errorf("%d of %d jobs ended", ended, len(jobs))
	}
}

// traceOf makes up jobs of all sizes and lengths, more than the cluster can take.
func traceOf(t *testing.T, n int) []Job {
	t.Helper()
	jobs := make([]Job, n)
	x := uint32(7)
	draw := func(n uint32) uint32 {
		x = x*1664525 + 1013904223
		return x >> 8 % n
	}
	var at time.Duration
	for i := range jobs {
		at += time.Duration(draw(1200)) * time.Second
		jobs[i] = Job{
			ID: strconv.Itoa(i), User: "u" + strconv.Itoa(int(draw(5))), Submit: at, GPUs: 1 << draw(5),
			Duration: time.Duration(60+draw(9000)) * time.Second,
		}
	}
	return jobs
}

// What is no trace is refused with the line and what is wrong there.
func TestRead(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  "the trace is empty: it begins with a header line, such as job_id,submit_s,gpus,duration_s",
		"job_id,gpus\n":                     "lacks the column submit_s",
		"job_id,submit_s,gpus,duration_s\n": "no jobs",
		"job_id,submit_s,gpus,duration_s\n1,0,0,5\n":    "line 2",
		"job_id,submit_s,gpus,duration_s\n1,x,1,5\n":    "submit_s",
		"job_id,submit_s,gpus,duration_s\n1,0,1,-5\n":   "duration_s",
		"job_id,submit_s,gpus,duration_s\n1,0,1,NaN\n":  "duration_s",
		"job_id,submit_s,gpus,duration_s\n1,0,1\n":      "line 2 of the trace has 3 fields, and the header has 4: give every line the same number",
		"job_id,submit_s,gpus,duration_s\na,0,1,5,6\n":  "line 2 of the trace has 5 fields, and the header has 4",
		"job_id,submit_s,gpus,duration_s\na\"b,0,1,5\n": "line 2 of the trace: misplaced quotation mark in column 2",
		"job_id,\"sub": "line 1 of the trace: misplaced quotation mark in column",
		"job_id,submit_s,gpus,duration_s,user\n1,0,1,5,a b\n": "user \"a b\" must be",
		"job_id,submit_s,gpus,duration_s,gpus\n1,0,1,5,1\n":   "the column \"gpus\" twice",
		"job_id,submit_s,gpus,duration_s\n1,0,x,5\n":          "gpus \"x\" must be a number from 1 to",
		"job_id,submit_s,gpus,duration_s\n,0,1,5\n":           "job_id \"\" must be 1 to",
		"job_id,submit_s,gpus,duration_s\na,0,1,5\na,1,1,5\n": "line 3 of the trace: job_id \"a\" is a duplicate of line 2",
		"job_id,submit_s,gpus,duration_s\n1,0,1,3e9\n":        "duration_s: \"3e9\" must be 0 to 31622400 seconds",
	} {
		if _, _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	jobs, unread, err := Read(strings.NewReader("user,job_id,submit_s,gpus,duration_s,more,status\n,b,5.5,2,10,x,\nann,a,1,1,10,,\n"))
	if err != nil || len(jobs) != 2 || jobs[0].ID != "a" || jobs[1].User != "everybody" || jobs[1].Submit != 4500*time.Millisecond {
		t.Errorf("read %+v: %v", jobs, err)
	}
	if !slices.Equal(unread, []string{"more"}) {
		t.Errorf("the columns that are not read are %q", unread)
	}
}

// Times may be in seconds since 1970, a file may begin with a byte order mark, and an id hold commas.
func TestReadAsOthersWrite(t *testing.T) {
	jobs, _, err := Read(strings.NewReader("\ufeffjob_id,submit_s,gpus,duration_s\n\"a,b\",1700000000,1,10\nc,1700000005,1,10\n"))
	if err != nil || jobs[0].ID != "a,b" || jobs[0].Submit != 0 || jobs[1].Submit != 5*time.Second {
		t.Fatalf("%+v, %v", jobs, err)
	}
	var log bytes.Buffer
	o := options("fcfs")
	o.Log = &log
	if r, err := Play(t.Context(), jobs, o); err != nil || r.Makespan != 15 {
		t.Errorf("%+v, %v", r, err)
	}
	if line := readLog(t, &log)[0]; line[2] != "a,b" || line[3] != "1" {
		t.Errorf("the log has %q", line)
	}
}

// A play ends, and says so, before its clock does; what could never run is said before anything is played.
func TestPlayIsBounded(t *testing.T) {
	var log bytes.Buffer
	o := options("fcfs")
	o.Log = &log
	jobs := []Job{{ID: "a", User: "u", GPUs: 16, Duration: century + 1}}
	if _, err := Play(t.Context(), jobs, o); err == nil || !strings.Contains(err.Error(), "exceeds a hundred years") {
		t.Errorf("%v", err)
	}
	log.Reset()
	if _, err := Play(t.Context(), append(jobs, Job{ID: "x", User: "u", GPUs: 17, Duration: 1}), o); err == nil || log.Len() > 0 ||
		!strings.Contains(err.Error(), "job x of the trace could never run on these nodes: it asks for 17 GPUs: the cluster has 16; name more") {
		t.Errorf("%v, and the log has %d bytes", err, log.Len())
	}
}

// Quantiles are by nearest rank.
func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for n, want := range map[int]float64{1: 1, 50: 50, 90: 90, 99: 99, 100: 100} {
		if got := quantile(hundred, n); got != want {
			t.Errorf("the %d %% of 1 to 100 is %g", n, got)
		}
	}
	if quantile([]float64{1, 2, 3}, 50) != 2 || quantile([]float64{1, 2}, 50) != 1 || quantile([]float64{7}, 99) != 7 {
		t.Error("of few")
	}
}

func TestParseEstimates(t *testing.T) {
	for text, want := range map[string]Estimates{
		"exact": {Low: 1, High: 1}, "none": {}, "history": {History: true}, "x1..9": {Low: 1, High: 9}, "x0.5..2.5": {Low: 0.5, High: 2.5},
	} {
		if got, err := ParseEstimates(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "x9..1", "x0..1", "xNaN..2", "x1..1e9", "y1..2"} {
		if _, err := ParseEstimates(text); err == nil {
			t.Errorf("%q is understood", text)
		}
	}
}

// The definitions give, on a public trace, what another simulator gets there. The
// trace's folder is named by BERTH_TRACES.
func TestPublicTrace(t *testing.T) {
	folder := os.Getenv("BERTH_TRACES")
	if folder == "" {
		t.Skip("needs BERTH_TRACES, a folder of public traces")
	}
	file, err := os.Open(filepath.Join(folder, "itp_thin60_0.csv"))
	if err != nil {
		t.Skipf("needs this trace in the folder of BERTH_TRACES: %v", err)
	}
	defer file.Close() //nolint:errcheck // only read
	jobs, _, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for mode, jct := range map[model.Backfill]float64{model.BackfillNone: 359_100, model.BackfillSkip: 112_200} {
		o := options("fcfs")
		o.Tuning.Backfill = mode
		r, err := Play(t.Context(), jobs, o)
		if err != nil || math.Abs(r.AvgJCT-jct) > jct/100 {
			t.Errorf("%s: %+v, %v; want %.0f s", mode, r, err, jct)
		}
	}
}

func TestPlot(t *testing.T) {
	r := play(t, "0,a,0,8,100\n1,b,0,16,100\n2,a,10,8,100\n", options("fcfs"))
	svg := string(SVG(r))
	for _, part := range []string{
		"fcfs: GPUs in use, of 16<", ">4<", ">12<", ">16<", "at most 24<", ">minutes<", ">3<",
		"H1070.0V214.0\"", // the last interval, down to the floor at the end
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("the picture lacks %q: %s", part, svg)
		}
	}
	if svg := string(SVG(play(t, "0,a,0,8,100\n", options("fcfs")))); !strings.Contains(svg, "no job waited") {
		t.Errorf("of an empty queue: %s", svg)
	}
}

// Plays that are compared are drawn on one scale.
func TestPlotsShareAScale(t *testing.T) {
	short, long := &Result{Makespan: 3600, gpus: 16, samples: []sample{{0, 16, 10}}},
		&Result{Makespan: 7200, gpus: 8, samples: []sample{{0, 8, 73}}}
	if got, want := scaleOf([]*Result{short, long}), (scale{2, axis{16, 4}, axis{80, 20}}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got, want := scaleOf([]*Result{{gpus: 96}}).used, (axis{96, 32}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}
