package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A task of an array points to its own explanation, and has no table without lines.
func TestShowATask(t *testing.T) {
	d := &wire.Detail{Task: new(int64(9)), Job: wire.Job{ID: "8", State: "queued", Array: &wire.Array{Size: 10}}}
	d.Explanation = &wire.Explanation{Summary: "It waits.", Task: d.Task}
	var out strings.Builder
	err := showJob(&out, d)
	if text := out.String(); err != nil || !strings.Contains(text, "It waits.  (more: berth explain 8.9)") || strings.Contains(text, "Timeline") {
		t.Errorf("%v\n%s", err, text)
	}
	out.Reset()
	out.Reset()
	whole := *d
	whole.Task = nil
	err = showShown(&out, &shown{&whole, &wire.Tasks{Tasks: []wire.Task{{Index: 7}}}})
	if text := out.String(); err != nil || !strings.Contains(text, "State        queued") || !strings.Contains(text, "berth show 8.7") ||
		!strings.Contains(text, "berth explain 8.9") {
		t.Errorf("the whole array: %v\n%s", err, text)
	}
	out.Reset()
	d.Explanation.Task = nil
	d.Array, d.Timeline = nil, []wire.Event{{Event: "submitted"}}
	err = showJob(&out, d)
	if text := out.String(); err != nil || !strings.Contains(text, "berth explain 8)") || !strings.Contains(text, "\nTimeline\nTIME") {
		t.Errorf("a job: %v\n%s", err, text)
	}
}

// PRI is a class for jobs and services, whatever number it was given as.
func TestClasses(t *testing.T) {
	for n, want := range map[int64][2]string{
		1: {"low", "low"}, 2: {"normal", "low"}, 3: {"high", "normal"}, 4: {"critical", "normal"}, 5: {"normal", "normal"},
		8: {"high", "high"}, 9: {"critical", "critical"},
	} {
		if got := [2]string{className(n), serviceClass(n)}; got != want {
			t.Errorf("%d is %q, not %q", n, got, want)
		}
	}
	var out strings.Builder
	q := &wire.Queue{Queued: []wire.Job{{ID: "1", Priority: 9, Position: 1}}}
	q.Services = []wire.ServiceAllocation{{ID: "web-1", Priority: 7, Position: 2}}
	if err := ShowQueue(&out, q); err != nil || !strings.Contains(out.String(), " critical ") || !strings.Contains(out.String(), " high ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	e := &wire.Explanation{AheadN: 2, Ahead: []wire.Ahead{{JobID: "1", Priority: 10, User: "ann"}, {Service: "web-1", Priority: 2, User: "bob"}}}
	err := showExplanation(&out, &wire.Detail{Explanation: e})
	if text := out.String(); err != nil || !strings.Contains(text, "ann   critical") || !strings.Contains(text, "bob   low") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Times are those of this place wherever they stand, also in texts of the cluster.
func TestTimesAreThoseOfThisPlace(t *testing.T) {
	at := time.Now().Add(50 * time.Hour).UTC().Truncate(time.Second)
	utc, here := at.Format(time.RFC3339), table.Clock(at, time.Now())
	job := wire.Job{ID: "1", State: "queued", Reason: "begins at " + utc}
	e := &wire.Explanation{
		Summary: "It waits until " + utc, Blockers: []wire.Blocker{{Message: "not before " + utc}},
		Unblock: []wire.Unblock{{Message: "the time comes, " + utc}},
	}
	for name, v := range map[string]struct {
		show  func(*strings.Builder) error
		times int
	}{
		"queue": {func(w *strings.Builder) error { return ShowQueue(w, &wire.Queue{Queued: []wire.Job{job}}) }, 1},
		"show": {func(w *strings.Builder) error {
			return showJob(w, &wire.Detail{Job: job, Explanation: e, Warnings: []string{"it is reserved until " + utc}})
		}, 3},
		"explain": {func(w *strings.Builder) error { return showExplanation(w, &wire.Detail{Job: job, Explanation: e}) }, 3},
		"service": {func(w *strings.Builder) error { return showAllocation(w, &wire.ServiceAllocation{Explanation: e}) }, 3},
		"submit":  {func(w *strings.Builder) error { return (&submission{}).report(w, &wire.Submitted{Job: job}) }, 1},
	} {
		var out strings.Builder
		if err := v.show(&out); err != nil || strings.Contains(out.String(), utc) || strings.Count(out.String(), here) != v.times {
			t.Errorf("%s: %v, want %s %d times:\n%s", name, err, here, v.times, out.String())
		}
	}
}

// An array's row shows the states of its tasks, without their total run time next to the limit of one.
func TestRowsOfArrays(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	j := wire.Job{
		StartedAt: began, RunSeconds: 500, TimeLimitSeconds: 120, Reason: "gpus",
		Array: &wire.Array{Size: 10, Running: 3, Queued: 5, Failed: 1, Completed: 1},
	}
	if got, want := placeOrReason(&j), "(3 run, 5 wait, 2 ended; gpus)"; got != want {
		t.Errorf("it stands as %q, want %q", got, want)
	}
	j.EndedAt = began.Add(90 * time.Second)
	if got := elapsed(&j); got != "1:30" {
		t.Errorf("it took %q", got)
	}
	j.Array = nil
	if got := elapsed(&j); got != "8:20/2:00" {
		t.Errorf("a job of one task took %q", got)
	}
}

func TestBecause(t *testing.T) {
	for _, v := range [][3]string{{"", "", ""}, {"exited", "", "exited"}, {"", "as asked", "as asked"}, {"deadline", "the deadline has come", "deadline: the deadline has come"}} {
		if got := becauseOf(v[0], v[1]); got != v[2] {
			t.Errorf("%q and %q are %q, not %q", v[0], v[1], got, v[2])
		}
	}
}

// The host of a running job is named with the time since which it is silent, in lists and where a job is explained, with what
// helps.
func TestSilentHosts(t *testing.T) {
	t.Parallel()
	d := &wire.Detail{Job: wire.Job{
		ID: "8", State: "running", AllocatedGPUs: []wire.GPURef{{NodeID: "gpu1", Index: 1}},
		SilentNodes: []wire.SilentNode{{NodeID: "gpu1", Since: time.Now().Add(-time.Minute), Holds: true}},
	}}
	var out strings.Builder
	if err := showExplanation(&out, d); err != nil || !strings.Contains(out.String(), "gpu1 silent since ") || !strings.Contains(out.String(), "berth node confirm-dead gpu1") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if got := placeOrReason(&d.Job); !strings.Contains(got, "gpu1 silent since ") {
		t.Errorf("in the list: %s", got)
	}
	d.SilentNodes = nil
	if got := placeOrReason(&d.Job) + stateLine(d); strings.Contains(got, "silent") {
		t.Errorf("a host that is heard: %s", got)
	}
}
