package jobs_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queued returns the ids of the jobs that wait, in order.
func queued(s *apitest.Site) (ids []string) {
	var q wire.Queue
	s.Do(http.MethodGet, "/queue?brief=true", "", apitest.As(apitest.Operator)...).Into(&q)
	for _, j := range q.Queued {
		ids = append(ids, j.ID)
	}
	return ids
}

// An operator moves a job ahead of another one; the job shows that, and so do its explanation and the audit trail's
// actor. A class ends the place.
func TestAJobIsMovedAhead(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 1) })
	for range 4 {
		s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, apitest.As(apitest.Ann)...)
	}
	move := func(job, body string, token string) *apitest.Reply {
		return s.Do(http.MethodPatch, "/queue/"+job+"/priority", body, apitest.As(token)...)
	}
	first := queued(s)
	var done wire.Done
	move("4", `{"before": "2"}`, apitest.Operator).Into(&done)
	if done.Message != "moved ahead of job 2" || !slices.Equal(queued(s), []string{"1", "4", "2", "3"}) {
		t.Fatalf("%+v: %v after %v", done, queued(s), first)
	}
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/4", "", apitest.As(apitest.Ann)...).Into(&job)
	if last := job.Timeline[len(job.Timeline)-1]; job.Moved != "2" || last.Event != "priority" || last.Detail != "moved ahead of job 2" || last.Actor != "user:otto" {
		t.Errorf("%q, %+v", job.Moved, last)
	}
	var why wire.Explanation
	s.Do(http.MethodGet, "/jobs/4/explain", "", apitest.As(apitest.Ann)...).Into(&why)
	if why.Position != 2 || len(why.Factors) == 0 || why.Factors[0].Name != "moved" {
		t.Errorf("%+v", why)
	}
	move("4", `{"before": "2"}`, apitest.Ann).Problem(http.StatusForbidden, model.CodeDenied.String())
	move("4", `{"priority": 2}`, apitest.Ann).Problem(http.StatusForbidden, model.CodeDenied.String())
	move("4", `{"before": "99"}`, apitest.Operator).Problem(http.StatusNotFound, wire.CodeNotFound)
	for body, field := range map[string]string{
		`{}`: "priority", `{"before": null}`: "priority", `{"priority": 2, "before": "3"}`: "priority", `{"before": "4"}`: "before", `{"before": "x"}`: "before", `{"before": ""}`: "before",
	} {
		move("4", body, apitest.Operator).About(field)
	}
	move("4", `{"priority": 2}`, apitest.Operator).Into(&done)
	job = wire.Detail{}
	if s.Do(http.MethodGet, "/jobs/4", "", apitest.As(apitest.Ann)...).Into(&job); job.Moved != "" || !slices.Equal(queued(s), first) {
		t.Errorf("after a class: ahead of %q, %v", job.Moved, queued(s))
	}
}

// Several jobs are moved by one request, in the order in which they are named.
func TestManyJobsAreMovedAhead(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 1) })
	for range 5 {
		s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, apitest.As(apitest.Ann)...)
	}
	var done wire.BulkDone
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "priority", "before": "2", "ids": ["5", "3", "99"]}`, apitest.As(apitest.Operator)...).Into(&done)
	if outcomes(&done) != "5:ok 3:ok 99:not_found" || done.Results[2].Status != http.StatusNotFound || !slices.Equal(queued(s), []string{"1", "5", "3", "2", "4"}) {
		t.Errorf("%+v: %v", done, queued(s))
	}
	done = wire.BulkDone{}
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "priority", "priority": 1, "ids": ["1", "5"]}`, apitest.As(apitest.Ann)...).Into(&done)
	if outcomes(&done) != "1:ok 5:denied" {
		t.Errorf("a user changes the class: %+v", done)
	}
	s.Do(http.MethodPost, "/queue/bulk", `{"action": "priority", "before": "2", "ids": ["1"]}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	for body, field := range map[string]string{
		`{"action": "priority", "before": "2", "ids": ["2"]}`:                                             "before",
		`{"action": "hold", "before": "2", "ids": ["3"]}`:                                                 "priority",
		`{"action": "priority", "before": "2", "priority": 3, "ids": ["3"]}`:                              "priority",
		`{"action": "priority", "ids": ["3"]}`:                                                            "priority",
		`{"action": "priority", "before": "2", "ids": ["` + strings.Join(numbers(3, 101), `", "`) + `"]}`: "ids", // each may move all others on
	} {
		s.Do(http.MethodPost, "/queue/bulk", body, apitest.As(apitest.Operator)...).About(field)
	}
}

// numbers returns so many numbers from the first on, as text.
func numbers(first, count int) (out []string) {
	for n := range count {
		out = append(out, strconv.Itoa(first+n))
	}
	return out
}
