package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Flags that contradict each other, or do nothing, are refused rather than one of them played.
func TestSimulateRefusesContradictions(t *testing.T) {
	f := pastAPI(t)
	trace := writeFile(t, "job_id,submit_s,gpus,duration_s\na,0,1,100\n")
	for line, says := range map[string]string{
		"--backfill easy --set backfill=none":     "--backfill easy and --set backfill=none contradict each other: leave one out",
		"--backfill easy --set depth=5":           "--backfill easy makes one reservation, and --set depth=5 asks for more",
		"--preempt off --set no_preemption=false": "--preempt off and --set no_preemption=false contradict each other",
		"--set depth=5 --set depth=6":             "--set depth is given twice",
		"--last 3":                                "--last needs --history: of a trace all jobs are simulated",
		"--compare fcfs,sjf,fcfs":                 "--compare contains fcfs twice",
		"--restart-cost 1x":                       "must be seconds, or text such as",
		"--restart-cost 400d":                     "must be at most 366 days",
	} {
		code, out, errs := f.berth(t, append([]string{"simulate", "--trace", trace}, strings.Fields(line)...)...)
		if code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", line, code, out, errs, says)
		}
	}
	for _, line := range []string{
		"--backfill none --set backfill=none", "--backfill conservative --set depth=5", "--preempt off --set no_preemption=true", "--set backfill=skip",
		"--set no_preemption=true", "--set half_life=7d", "--policy srtf --preempt off",
	} {
		if code, out, errs := f.berth(t, append([]string{"simulate", "--trace", trace}, strings.Fields(line)...)...); code != 0 {
			t.Errorf("%s: exit code %d, %s%s", line, code, out, errs)
		}
	}
}

// A restart costs the same however the time is written, as with every flag of a time.
func TestTimesAreWrittenAsEverywhere(t *testing.T) {
	f := pastAPI(t)
	trace := writeFile(t, "job_id,submit_s,gpus,duration_s\na,0,4,100000\nb,10,4,100\n")
	play := []string{"simulate", "--trace", trace, "--nodes", "1", "--gpus-per-node", "4", "--policy", "srtf", "-o", "json", "--restart-cost"}
	for text, makespan := range map[string]float64{"60": 100160, "1m": 100160, "0": 100100, "1d": 100100 + 86400, "1-00:00:00": 100100 + 86400} {
		code, out, errs := f.berth(t, append(play, text)...)
		var r simulate.Result
		if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || r.Makespan != makespan {
			t.Errorf("%s: exit code %d, %v, it lasts %.0f s, not %.0f\n%s", text, code, err, r.Makespan, makespan, errs)
		}
	}
}

// A column that is not read is reported, and the simulation goes on: its name may be misspelt.
func TestSimulateTellsWhatItDoesNotRead(t *testing.T) {
	f := pastAPI(t)
	trace := writeFile(t, "job_id,submit_s,gpus,duration_s,gpu_typ,color\na,0,1,100,h100,red\n")
	code, out, errs := f.berth(t, "simulate", "--trace", trace, "-o", "json")
	want := "Warning: of " + trace + " these columns are not read: gpu_typ, color. There may be job_id, submit_s, gpus, duration_s, user, project, " +
		"priority, nodes, gpu_type, gpu_memory_gb, constraint.\n"
	if code != 0 || !json.Valid([]byte(out)) || errs != want {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, out, errs, want)
	}
	path := filepath.Join(t.TempDir(), "all.csv")
	if err := os.WriteFile(path, []byte(strings.Join(simulate.Columns(), ",")+"\na,0,1,100,ann,p,2,1,,80,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := f.berth(t, "simulate", "--trace", path); code != 0 || errs != "" {
		t.Errorf("every column: exit code %d, %s%s", code, out, errs)
	}
}
