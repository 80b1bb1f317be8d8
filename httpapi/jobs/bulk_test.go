package jobs_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// outcomes formats the results of a change of many jobs.
func outcomes(d *wire.BulkDone) string {
	var out []string
	for _, r := range d.Results {
		text := r.JobID + ":" + r.Code
		if r.Success {
			text = r.JobID + ":ok"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// One request changes many jobs in one log entry, with one result and one audit record for each.
func TestManyJobsAreChanged(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	before := s.State().Index
	var done wire.BulkDone
	r := s.Do(http.MethodPost, "/queue/bulk", `{"action": "cancel", "ids": ["5", "1", "4", "99", "7"], "note": "no longer"}`)
	r.Into(&done)
	if got := outcomes(&done); got != "5:ok 1:ok 4:already_ended 99:not_found 7:ok" || done.Success || done.Done != 3 || done.Refused != 2 {
		t.Errorf("%s: %s", got, r.Body)
	}
	if after := s.State().Index; after != before+1 || r.Header.Get(wire.HeaderIndex) != fmt.Sprint(after) {
		t.Errorf("%d entries, answered at %s", after-before, r.Header.Get(wire.HeaderIndex))
	}
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/5", "").Into(&job)
	if last := job.Timeline[len(job.Timeline)-1]; last.Event != "canceled" || last.Detail != "no longer" {
		t.Errorf("%+v", last)
	}
	for _, v := range []struct{ body, want string }{
		{`{"action": "release", "ids": ["6"]}`, "6:ok"},
		{`{"action": "hold", "ids": ["6"]}`, "6:ok"},
		{`{"action": "requeue", "ids": ["2", "6"]}`, "2:ok 6:not_live"},
		{`{"action": "priority", "priority": 3, "ids": ["2", "3"]}`, "2:ok 3:ok"},
	} {
		done = wire.BulkDone{}
		if s.Do(http.MethodPost, "/queue/bulk", v.body).Into(&done); outcomes(&done) != v.want {
			t.Errorf("%s: %+v", v.body, done)
		}
	}
	if j, _ := s.State().Jobs.Get(3); j.Spec.Priority != 3 {
		t.Errorf("the priority is %d", j.Spec.Priority)
	}
}

// A request that is not as the caller was shown is refused as a whole.
func TestExpectedJobs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s) // 4 has ended
	send := func(expect string) *apitest.Reply {
		return s.Do(http.MethodPost, "/queue/bulk", `{"action": "cancel", "ids": ["2", "4", "5", "6"], "expect": `+expect+`}`)
	}
	before := s.State().Index
	for expect, want := range map[string]string{
		`{"count": 4}`:                       "3 of the jobs have not ended, not 4",
		`{"count": 3, "users": ["ann"]}`:     "their owners are ann, bob, not ann",
		`{"users": []}`:                      "their owners are ann, bob, not none",
		`{"count": 3, "states": ["queued"]}`: "some are running, and not only queued",
	} {
		r := send(expect)
		if r.Problem(http.StatusConflict, "conflict"); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %s", expect, r.Body)
		}
	}
	if s.State().Index != before {
		t.Error("a refused request has changed something")
	}
	const key = "0199c6a8-3b2e-7c4d-8e5f-000000000001"
	body := `{"action": "cancel", "ids": ["2", "4", "5", "6"], "expect": {"count": 3, "users": ["bob", "ann"], "states": ["queued", "running"]}}`
	var first, again wire.BulkDone
	s.Do(http.MethodPost, "/queue/bulk", body, "Idempotency-Key", key).Into(&first)
	index := s.State().Index
	s.Do(http.MethodPost, "/queue/bulk", body, "Idempotency-Key", key).Into(&again)
	if outcomes(&first) != "2:ok 4:already_ended 5:ok 6:ok" || outcomes(&again) != outcomes(&first) {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if now := s.State(); now.Index > index+1 {
		t.Errorf("the repetition made %d entries", now.Index-index)
	}
}

// Rights and bounds are those of the requests for one job.
func TestRightsOfManyJobs(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		for _, user := range []string{"ann", "bob", "ann"} {
			c.Submit(1, func(b *command.Submit) { b.Spec.User = user })
		}
	})
	var done wire.BulkDone
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "hold", "ids": ["1", "2", "3"]}`, apitest.As(apitest.Ann)...).Into(&done)
	if outcomes(&done) != "1:ok 2:denied 3:ok" || !strings.Contains(done.Results[1].Message, "job 2 is another user's") {
		t.Errorf("ann: %+v", done)
	}
	if held := task(s, 2).Held; held {
		t.Error("another user's job is held")
	}
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "release", "ids": ["1", "2", "3"]}`, apitest.As(apitest.Operator)...).Into(&done)
	if outcomes(&done) != "1:ok 2:ok 3:ok" && outcomes(&done) != "1:ok 2:not_held 3:ok" {
		t.Errorf("an operator: %+v", done)
	}
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "hold", "ids": ["1"]}`, apitest.As(apitest.Viewer)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "priority", "priority": 10, "ids": ["1"]}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d"`, i+1)
	}
	for body, field := range map[string]string{
		`{"action": "cancle", "ids": ["1"]}`:                                           "action",
		`{"action": "cancel", "ids": ["1", "x"]}`:                                      "ids[1]",
		`{"action": "cancel", "ids": ["1", "2", "1"]}`:                                 "ids[2]",
		`{"action": "cancel", "ids": []}`:                                              "ids",
		`{"action": "cancel"}`:                                                         "ids",
		`{"action": "cancel", "ids": [` + strings.Join(many, ",") + `]}`:               "ids",
		`{"action": "cancel", "ids": ["1"], "priority": 3}`:                            "priority",
		`{"action": "priority", "ids": ["1"]}`:                                         "priority",
		`{"action": "priority", "ids": ["1"], "priority": 11}`:                         "priority",
		`{"action": "hold", "ids": ["1"], "note": "` + strings.Repeat("x", 513) + `"}`: "note",
		`{"action": "hold", "ids": ["1"], "filter": {"user": "ann"}}`:                  "filter",
	} {
		s.Do(http.MethodPost, "/queue/bulk", body, apitest.As(apitest.Operator)...).About(field)
	}
}

// As many jobs as a request may name are changed in one entry, or with long notes in a few.
func TestMostJobsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Fill(s, 1000)
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%d"`, i+1)
	}
	for i, v := range []struct {
		action, note string
		entries      uint64
	}{{"hold", "", 1}, {"cancel", strings.Repeat("n", 512), 4}} {
		before := s.State().Index
		var done wire.BulkDone
		s.Do(http.MethodPost, "/queue/bulk", `{"action": "`+v.action+`", "ids": [`+strings.Join(ids, ",")+`], "note": "`+v.note+`"}`,
			"Idempotency-Key", fmt.Sprint("0199c6a8-3b2e-7c4d-8e5f-00000000000", i)).Into(&done)
		if n := s.State().Index - before; n > v.entries || done.Done != 1000 || !done.Success {
			t.Errorf("%s: %d entries, %d done", v.action, n, done.Done)
		}
	}
}
