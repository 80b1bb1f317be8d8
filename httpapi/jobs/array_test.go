package jobs_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What is asked for in whichever way becomes numbers in their one form.
func TestArraysAreAskedFor(t *testing.T) {
	s := apitest.New(t)
	for body, want := range map[string]struct{ array, sweep string }{
		`"array_size":1`:                      {"", ""},
		`"array_size":100,"array_limit":8`:    {"0-99", ""},
		`"array_indices":"0-99:10"`:           {"0-90:10", ""},
		`"array_indices":"9-12,3,7"`:          {"3,7,9-12", ""},
		`"array_indices":"5"`:                 {"5", ""},
		`"array_indices":"5","array_size":1`:  {"5", ""},
		`"params":["lr=1,2","seed=1..3"]`:     {"0-5", "lr=1,2\nseed=1..3"},
		`"params":["x=1"]`:                    {"0", "x=1"},
		`"params":["x=1..3"],"array_size":3`:  {"0-2", "x=1..3"},
		`"params":["x=1..3"],"array_limit":2`: {"0-2", "x=1..3"},
	} {
		if got := s.Spec(`{"command":"x",` + body + `}`); got.Array != want.array || got.Sweep != want.sweep {
			t.Errorf("%s became the array %q and the sweep %q", body, got.Array, got.Sweep)
		}
	}
}

func TestWrongTurns(t *testing.T) {
	s := apitest.New(t)
	s.Spec(`{"command":"x"}`)
	for field, bodies := range map[string][]string{
		"array_indices": {`"array_indices":"0-10000"`, `"array_indices":"a"`, `"params":["x=1"],"array_indices":"0"`},
		"array_size":    {`"array_size":3,"array_indices":"0-3"`, `"array_size":2,"params":["x=1..3"]`},
		"params":        {`"params":["x"]`, `"params":["x=1","x=2"]`, `"params":["x=1..101","y=1..100"]`, `"params":["x=1\ny=2"]`, `"params":["x=5..2"]`, `"params":["x=1,,2"]`, `"params":["x=1,1"]`, `"params":"x=1"`},
		"dependencies": {
			`"dependencies":["1"]`, `"dependencies":["afterok"]`, `"dependencies":["afterok:"]`, `"dependencies":["afterok:0"]`,
			`"dependencies":["singleton"]`, `"dependencies":["afterok:1?"]`, `"dependencies":["afterok:1","afterok:1?after:2"]`, `"dependencies":["afterok:1?after:2","after:3?after:4"]`,
			`"dependencies":["afterok:1+5"]`, `"dependencies":["after:1+"]`, `"dependencies":["after:1+9999999"]`, `"dependencies":["after:1+-5"]`, `"dependencies":["AfterOK:1"]`,
		},
		"begin":    {`"begin":"tomorrow"`, `"begin":"+soon"`, `"begin":"3000-01-01T00:00:00Z"`, `"begin":7`},
		"deadline": {`"deadline":"1969-01-01T00:00:00Z"`, `"deadline":"+1h","begin":"+2h"`},
	} {
		for _, body := range bodies {
			r := s.Submit(`{"command":"x",` + body + `}`)
			if r.About(field); t.Failed() {
				t.Fatalf("%s: %s", body, r.Body)
			}
		}
	}
	for body, says := range map[string]string{
		`"dependencies":["afterok:2"]`: "no job 2 yet", `"deadline":"2001-01-01T00:00:00Z"`: "has passed",
		`"begin":"2199-01-01T00:00:00Z"`: "366 days",
	} {
		if p := s.Submit(`{"command":"x",`+body+`}`).Problem(http.StatusUnprocessableEntity, "invalid"); !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %s", body, p.Detail)
		}
	}
}

// A sweep is shown with its values, as a whole and task by task.
func TestASweepIsShown(t *testing.T) {
	s := apitest.New(t)
	s.Spec(`{"command":"x","params":["lr=1e-3,1e-4","seed=1..3"],"array_limit":2}`)
	d := s.Detail("/jobs/1?task=4")
	if !maps.Equal(d.Params, map[string]string{"lr": "1e-4", "seed": "2"}) || *d.Task != 4 || d.Array.Indices != "0-5" || len(d.Array.Params) != 2 {
		t.Errorf("task 4 is %+v of %+v", d.Params, d.Array)
	}
	var all, page wire.Tasks
	s.Do(http.MethodGet, "/jobs/1/tasks?state=queued", "").Into(&all)
	s.Do(http.MethodGet, "/jobs/1/tasks?limit=2&after=3", "").Into(&page)
	if len(all.Tasks) != 6 || all.Tasks[5].Params["seed"] != "3" || all.Next != "" {
		t.Errorf("the tasks are %+v", all)
	}
	if len(page.Tasks) != 2 || page.Tasks[0].Index != 3 || page.Next != "5" {
		t.Errorf("a page of the tasks is %+v", page)
	}
	s.Do(http.MethodGet, "/jobs/2/tasks", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/1/tasks?state=odd", "").About("state")
	s.Do(http.MethodGet, "/jobs/1/tasks?after=x", "").About("after")
}

// Without a task the answer is about the array as a whole.
func TestAnArrayIsDescribedAsAWhole(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.Submit(`{"command":"x","array_indices":"4-7"}`)
	begin := func(task uint32) (a model.AttemptKey) {
		s.With(func(c *statetest.Cluster) {
			c.Wait(time.Second)
			a = c.PlaceTask(model.TaskKey{Job: 1, Task: task})
			c.Start(a)
		})
		return a
	}
	end := func(a model.AttemptKey, code int32) {
		s.With(func(c *statetest.Cluster) { c.Exit(a, code) })
	}
	is := func(state string, queued, running, completed, failed int64) (d *wire.Detail) {
		t.Helper()
		d = s.Detail("/jobs/1")
		a := d.Array
		if d.State != state || a.Queued != queued || a.Running != running || a.Completed != completed || a.Failed != failed ||
			d.Task != nil || d.ExitCode != nil || len(d.Timeline)+len(d.History) > 0 || !d.EndedAt.IsZero() != (queued+running == 0) {
			t.Errorf("the array is %s with %+v, task %v, want %s; %+v", d.State, *a, d.Task, state, d)
		}
		return d
	}
	if d := is("queued", 4, 0, 0, 0); d.Explanation == nil || *d.Explanation.Task != 4 || !d.StartedAt.IsZero() {
		t.Errorf("an array that waits is explained by %+v", d.Explanation)
	}
	second := begin(5)
	at := s.Detail("/jobs/1?task=5").StartedAt
	end(second, 0)
	if d := is("queued", 3, 0, 1, 0); !d.StartedAt.Equal(at) || *d.Explanation.Task != 4 {
		t.Errorf("it started at %v, want %v", d.StartedAt, at)
	}
	first := begin(4)
	is("running", 2, 1, 1, 0)
	end(first, 3)
	is("queued", 2, 0, 1, 1)
	if d := s.Detail("/jobs/1?task=4"); d.State != "failed" || d.ExitCode == nil || *d.ExitCode != 3 || len(d.History) != 1 || *d.Task != 4 {
		t.Errorf("task 4 is %+v", d)
	}
	s.Do(http.MethodGet, "/jobs/1/logs", "").About("task")
	end(begin(6), 0)
	end(begin(7), 0)
	if d := is("failed", 0, 0, 3, 1); d.Explanation != nil || !d.StartedAt.Equal(at) {
		t.Errorf("what has ended is explained by %+v, started at %v", d.Explanation, d.StartedAt)
	}
}

// Tasks are named by their numbers.
func TestTasksByNumber(t *testing.T) {
	s := apitest.New(t)
	s.Spec(`{"command":"x","array_indices":"3,7,9-12"}`)
	s.Do(http.MethodGet, "/jobs/1?task=0", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPost, "/queue/1/hold?task=7-9", "").Into(&wire.Done{})
	var done wire.Done
	s.Do(http.MethodDelete, "/queue/1?task=10-13,3", "").Into(&done)
	if want := "canceled: 4 of the 5 named tasks; the others have ended, or do not exist"; done.Message != want {
		t.Errorf("the answer is %q, want %q", done.Message, want)
	}
	var vain wire.Submitted
	s.Submit(`{"command":"x","dependencies":["afterok:1"]}`).Into(&vain)
	if len(vain.Warnings) != 1 || !strings.Contains(vain.Warnings[0], "the success of job 1") {
		t.Errorf("a job that waits for its success is warned %q", vain.Warnings)
	}
	s.Do(http.MethodDelete, "/queue/1?task=", "").About("task")
	s.Do(http.MethodPost, "/queue/1/release?task=", "").About("task")
	for n, want := range map[string]string{"3": "canceled", "7": "queued", "9": "queued", "12": "canceled"} {
		if d := s.Detail("/jobs/1?task=" + n); d.State != want || d.Held != (want == "queued") {
			t.Errorf("task %s is %s, held %v", n, d.State, d.Held)
		}
	}
	s.Do(http.MethodDelete, "/queue/1?task=4-6", "").Problem(http.StatusNotFound, "not_found")
	s.Do(http.MethodDelete, "/queue/1?task=3", "").Problem(http.StatusConflict, "already_ended")
	s.Do(http.MethodDelete, "/queue/1?task=x", "").About("task")
	s.Do(http.MethodGet, "/jobs/1/logs?task=7", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}

// Dependencies are shown everywhere, until they are dropped.
func TestDependenciesAreTold(t *testing.T) {
	s := apitest.New(t)
	for range 3 {
		s.Spec(`{"command":"x"}`)
	}
	var out wire.Submitted
	s.Submit(`{"command":"x","dependencies":["afterok:1:2","afterany:3","afterok:1"]}`).Into(&out)
	if out.QueuePosition != 0 || out.Job.Reason != "waits for job 1 and 2 more" || out.Job.State != "queued" {
		t.Errorf("the answer is %+v", out)
	}
	d := s.Detail("/jobs/4")
	if len(d.After) != 3 || d.After[2] != (wire.Dependency{JobID: "3", Kind: "afterany", State: "waiting", JobState: "queued"}) {
		t.Errorf("the dependencies are %+v", d.After)
	}
	if b := d.Explanation.Blockers; len(b) < 3 || b[0].Code != "dependency" || b[0].JobID != "1" || b[0].State != "queued" {
		t.Errorf("the blockers are %+v", b)
	}
	var done wire.Done
	if s.Do(http.MethodPost, "/queue/4/hold", "").Into(&done); done.Message != "held; it waits for job 1 and 2 more" {
		t.Errorf("the answer to a hold is %q", done.Message)
	}
	s.Do(http.MethodDelete, "/queue/4/dependencies?note=urgent", "").Into(&done)
	if d := s.Detail("/jobs/4"); d.After[0].State != "dropped" || d.Reason != "held" {
		t.Errorf("after they were dropped: %+v, %s", d.After, d.Reason)
	}
	s.Do(http.MethodDelete, "/queue/4/dependencies", "").Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodDelete, "/queue/x/dependencies", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}

// Begins, tasks of the same number, and alternatives are shown with what belongs to them, and come back as they were given.
func TestConditionsAreTold(t *testing.T) {
	s := apitest.New(t)
	for _, body := range []string{
		`{"command":"x","array_size":2}`, `{"command":"x","array_size":2,"dependencies":["aftercorr:1"]}`,
		`{"command":"x","dependencies":["afterok:2","after:1+10?afterok:1"]}`,
	} {
		s.Spec(body)
	}
	d := s.Detail("/jobs/3")
	want := []wire.Dependency{
		{JobID: "1", Kind: "afterok", State: "waiting", JobState: "queued", Any: true},
		{JobID: "1", Kind: "after", State: "waiting", JobState: "queued", Any: true, Delay: 600},
		{JobID: "2", Kind: "afterok", State: "waiting", JobState: "queued"},
	}
	if !slices.Equal(d.After, want) {
		t.Errorf("the dependencies are %+v", d.After)
	}
	if m := d.Explanation.Blockers[1].Message; m != "it starts 10 minutes after job 1 has begun, and that is queued; another of its conditions is enough" {
		t.Errorf("the message is %q", m)
	}
	if m := s.Detail("/jobs/2?task=1").Explanation.Blockers[0].Message; m != "it starts after task 1.1 has completed, and that is queued" {
		t.Errorf("the message of a task is %q", m)
	}
	var again wire.Submit
	s.Do(http.MethodGet, "/jobs/3/spec", "").Into(&again)
	if !slices.Equal(again.Dependencies, []string{"afterok:2", "afterok:1?after:1+10"}) {
		t.Errorf("the submission has %q", again.Dependencies)
	}
}

// A job whose dependency cannot be met names that job.
func TestWaitedInVain(t *testing.T) {
	s := apitest.New(t)
	s.Spec(`{"command":"x"}`)
	s.Spec(`{"command":"x","dependencies":["afterok:1"]}`)
	s.Do(http.MethodDelete, "/queue/1", "").Into(&wire.Done{})
	s.With(func(c *statetest.Cluster) { c.Do(&command.Settle{Jobs: []model.JobID{2}}) })
	if d := s.Detail("/jobs/2"); d.State != "canceled" || d.Reason != "dependency not met: job 1" {
		t.Errorf("it is %s: %s", d.State, d.Reason)
	}
}

func TestBeginAndDeadline(t *testing.T) {
	s := apitest.New(t)
	now := s.Now()
	got := s.Spec(`{"command":"x","begin":"+1h30m","deadline":"` + now.Add(3*time.Hour).Format(time.RFC3339) + `"}`)
	if got.Begin.Time() != now.Add(90*time.Minute) || got.Deadline.Time().Sub(now).Round(time.Second) != 3*time.Hour {
		t.Errorf("it is to begin at %v and to end by %v", got.Begin.Time(), got.Deadline.Time())
	}
	d := s.Detail("/jobs/1")
	if d.Eligible != d.BeginAt || d.Yields {
		t.Errorf("it is eligible at %v, and preemptible: %v", d.Eligible, d.Yields)
	}
	if s.Spec(`{"command":"x","preemptible":true}`); !s.Detail("/jobs/2").Yields || !s.Detail("/jobs/2").Eligible.IsZero() {
		t.Errorf("a preemptible job is told as %+v", s.Detail("/jobs/2").Job)
	}
	if d.BeginAt.IsZero() || d.Deadline.IsZero() || !strings.HasPrefix(d.Reason, "begins at ") || d.Explanation.Blockers[0].Code != "begin" ||
		d.Explanation.Blockers[0].Until.IsZero() {
		t.Errorf("it is told as %s, %+v", d.Reason, d.Explanation.Blockers)
	}
}

// The newest job of a user comes first.
func TestJobsByAge(t *testing.T) {
	s := apitest.New(t)
	for _, user := range []string{"ann", "bob", "ann", "bob"} {
		s.Spec(`{"command":"x","user":"` + user + `"}`)
	}
	for query, want := range map[string]string{"": "4 3 2 1", "?user=ann": "3 1", "?user=ann&limit=1": "3", "?user=eve": ""} {
		var out wire.Jobs
		s.Do(http.MethodGet, "/jobs"+query, "").Into(&out)
		var ids []string
		for _, j := range out.Jobs {
			ids = append(ids, j.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q lists %s, want %s", query, got, want)
		}
	}
}

// Of an array whose first tasks run the first that waits is explained, unless one is named.
func TestAnArrayIsExplainedByATaskThatWaits(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	s.Submit(`{"command":"x","array_indices":"4-7"}`)
	s.With(func(c *statetest.Cluster) { c.PlaceTask(model.TaskKey{Job: 1, Task: 4}) })
	var e wire.Explanation
	s.Do(http.MethodGet, "/jobs/1/explain", "").Into(&e)
	if e.Task == nil || *e.Task != 5 {
		t.Errorf("it explains %+v", e)
	}
	s.Do(http.MethodGet, "/jobs/1/explain?task=7", "").Into(&e)
	if *e.Task != 7 {
		t.Errorf("it explains task %d", *e.Task)
	}
	s.Do(http.MethodGet, "/jobs/1/explain?task=4", "").Problem(http.StatusConflict, model.CodeNotQueued.String())
}
