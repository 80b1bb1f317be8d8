package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

func rangeIn(now time.Time, expected, soonest, latest time.Duration) *wire.Range {
	return &wire.Range{Expected: now.Add(expected), Soonest: now.Add(soonest), Latest: now.Add(latest)}
}

// A plan is a table with a line of time; a task that waits for something else says so.
func TestShowPlan(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	task := int64(3)
	p := &wire.Plan{
		At: now,
		Running: []wire.PlanEntry{{
			JobID: "1", Name: "train", User: "amy", GPUs: 4, Nodes: []string{"n1"}, StartedAt: now,
			End: rangeIn(now, 4*time.Hour, time.Hour, 8*time.Hour),
		}, {
			JobID: "4", User: "amy", GPUs: 2, Nodes: []string{"n2"}, StartedAt: now, End: rangeIn(now, 7*time.Hour, 2*time.Hour, 8*time.Hour),
			Pauses: []wire.Pause{{From: now.Add(time.Hour), Until: now.Add(3 * time.Hour)}, {From: now.Add(6 * time.Hour)}},
		}},
		Waiting: []wire.PlanEntry{
			{
				JobID: "2", Task: &task, User: "bob", GPUs: 2, Nodes: []string{"n1"}, Position: 1,
				Start: rangeIn(now, 4*time.Hour, 2*time.Hour, 8*time.Hour), End: rangeIn(now, 8*time.Hour, 3*time.Hour, 9*time.Hour),
			},
			{JobID: "5", User: "bob", GPUs: 1, After: "held"},
			{JobID: "6", User: "bob", GPUs: 1, Position: 2, After: "limit", Late: true},
		},
		Beyond: 7,
	}
	var b strings.Builder
	if err := showPlan(&b, p); err != nil {
		t.Fatal(err)
	}
	const want = `
ID   NAME   USER  GPUS  POS  STARTS                       ENDS                        NOW                       +8.0 h  NODES
1    train  amy      4    -  runs                         in 4.0 h (60 min to 8.0 h)  ================                  n1
4    -      amy      2    -  runs, suspended in 60 min    in 7.0 h (2.0 h to 8.0 h)   ====........============....      n2
2.3  -      bob      2    1  in 4.0 h (2.0 h to 8.0 h)    in 8.0 h (3.0 h to 9.0 h)   ........--------================  n1
5    -      bob      1    -  once it is released         -                           -                                 -
6    -      bob      1    2  not before its deadline     -                           -                                 -

7 more wait behind these.
`
	if got := "\n" + b.String(); trimmed(got) != trimmed(want) {
		t.Errorf("%s", got)
	}
}

// Where no end is foreseen there is no line of time to tell the length of.
func TestShowPlanWithoutAnEnd(t *testing.T) {
	var b strings.Builder
	p := &wire.Plan{At: time.Unix(0, 0), Waiting: []wire.PlanEntry{{JobID: "5", User: "bob", GPUs: 1, After: "orchestrator_stopped"}}}
	if err := showPlan(&b, p); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "+") || !strings.Contains(got, "NOW") {
		t.Errorf("%s", got)
	}
}

// trimmed is text whose lines have no spaces at their ends, and single ones elsewhere.
func trimmed(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(out, "\n")
}

// The answer to a submission says when the job starts, and what it costs not to be
// preemptible.
func TestPlaceAndStart(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) *wire.Range { return rangeIn(now, d, d/2, d*2) }
	job := wire.Job{SubmittedAt: now}
	for want, answer := range map[string]*wire.Submitted{
		"about position 9": {Job: job, QueuePosition: 9},
		"position 2, starts in about 40 min": {
			Job: job, QueuePosition: 2, PositionExact: true, PlannedStart: at(40 * time.Minute),
		},
		"position 2, not before its deadline": {Job: job, QueuePosition: 2, PositionExact: true, Late: true},
		"position 2, not before its deadline; with --preemptible in about 5 min": {
			Job: job, QueuePosition: 2, PositionExact: true, Late: true, IfPreemptible: at(5 * time.Minute),
		},
		"starts at once": {Job: job, QueuePosition: 1, PositionExact: true, PlannedStart: at(0)},
		"position 2, starts in about 3.0 h; with --preemptible in about 5 min": {
			Job: job, QueuePosition: 2, PositionExact: true, PlannedStart: at(3 * time.Hour), IfPreemptible: at(5 * time.Minute),
		},
		"position 2, starts in about 3.0 h; with --preemptible at once": {
			Job: job, QueuePosition: 2, PositionExact: true, PlannedStart: at(3 * time.Hour), IfPreemptible: at(time.Millisecond),
		},
	} {
		if got := placeAndStart(answer); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
