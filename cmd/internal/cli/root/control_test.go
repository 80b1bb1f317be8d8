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

// changing is an API of jobs: 2 has ended, 3 is another user's, 9 does not exist, others may be changed.
type changing struct {
	mu    sync.Mutex
	asked []string // methods, paths and, of changes of many jobs, bodies
}

func (c *changing) outcome(id string) (status int, code, text string) {
	switch id {
	case "2":
		return http.StatusConflict, "already_ended", "job 2 has ended"
	case "3":
		return http.StatusForbidden, "denied", "its owner is another user"
	case "9":
		return http.StatusNotFound, "not_found", "there is no such job"
	}
	return 0, "", "done"
}

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := r.Method + " " + r.URL.RequestURI()
	if r.URL.Path == "/queue/bulk" {
		var body wire.Bulk
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.asked = append(c.asked, strings.TrimSpace(fmt.Sprintf("%s %s %v %s %s", at, body.Action, body.IDs, body.Before, body.Note)))
		out := wire.BulkDone{}
		for _, id := range body.IDs {
			status, code, text := c.outcome(id)
			out.Results = append(out.Results, wire.BulkResult{JobID: id, Success: status == 0, Status: status, Code: code, Message: text})
		}
		_ = json.NewEncoder(w).Encode(&out)
		return
	}
	c.asked = append(c.asked, at)
	status, code, text := c.outcome(strings.Split(strings.TrimPrefix(r.URL.Path, "/queue/"), "/")[0])
	if status == 0 {
		fmt.Fprintf(w, `{"success":true,"message":%q}`, text)
		return
	}
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":"No","status":%d,"code":%q,"detail":%q}`, status, code, text)
}

// Several whole jobs are changed by one request, with the result of each as if it had been changed alone; one job, tasks of
// arrays, and what such a request cannot do are changed one by one.
func TestSeveralJobsAreChangedAtOnce(t *testing.T) {
	for _, v := range []struct {
		args      string
		code      int
		out, errs string
		asked     []string
	}{
		{
			"cancel 1 2 3", cmdline.ExitFailure, "Job 1: done\nCanceled 1 of 3 jobs\n", "berth: job 2 has ended; job 3: its owner is another user\n",
			[]string{"POST /queue/bulk cancel [1 2 3]"},
		},
		{"cancel 1", 0, "Job 1: done\n", "", []string{"DELETE /queue/1"}},
		{"cancel 9", cmdline.ExitNotFound, "", "berth: job 9: there is no such job\n", []string{"DELETE /queue/9"}},
		{"hold 1 9 --reason later", cmdline.ExitNotFound, "Job 1: done\n", "berth: job 9: there is no such job\n", []string{"POST /queue/bulk hold [1 9]  later"}},
		{"release 4 5", 0, "Job 4: done\nJob 5: done\n", "", []string{"POST /queue/bulk release [4 5]"}},
		{"release --dependencies 4 5", 0, "Job 4: done\nJob 5: done\n", "", []string{"DELETE /queue/4/dependencies", "DELETE /queue/5/dependencies"}},
		{"requeue 4 5", 0, "Job 4: done\nJob 5: done\n", "", []string{"POST /queue/bulk requeue [4 5]"}},
		{"requeue --hold 4 5", 0, "Job 4: done\nJob 5: done\n", "", []string{"POST /queue/4/requeue?hold=true", "POST /queue/5/requeue?hold=true"}},
		{"hold 4 5.3", 0, "Job 4: done\nJob 5.3: done\n", "", []string{"POST /queue/4/hold", "POST /queue/5/hold?task=3"}},
		{"hold 4 4", 0, "Job 4: done\nJob 4: done\n", "", []string{"POST /queue/4/hold", "POST /queue/4/hold"}},
		{"queue move 4 --before 7", 0, "Job 4: done\n", "", []string{"PATCH /queue/4/priority"}},
		{"queue move 4 5 --before 7", 0, "Job 4: done\nJob 5: done\n", "", []string{"POST /queue/bulk priority [4 5] 7"}},
		{"queue move 4", cmdline.ExitUsage, "", "", nil},
		{"queue move 4.1 --before 7", cmdline.ExitUsage, "", "", nil},
		{"queue move 4 --before 7.1", cmdline.ExitUsage, "", "", nil},
		{"queue move --before 7", cmdline.ExitUsage, "", "", nil},
	} {
		t.Run(v.args, func(t *testing.T) {
			api := &changing{}
			f := &fakeAPI{Server: httptest.NewServer(api)}
			t.Cleanup(f.Close)
			code, out, errs := f.berth(t, strings.Fields(v.args)...)
			if code != v.code || out != v.out || v.errs != "" && errs != v.errs || !slices.Equal(api.asked, v.asked) {
				t.Errorf("exit code %d, want %d\n%s%sasked %q", code, v.code, out, errs, api.asked)
			}
		})
	}
}

// More jobs than one request may change, or may move ahead of another one, are changed by several, in their order.
func TestVeryManyJobsAreChanged(t *testing.T) {
	for _, v := range []struct {
		args               []string
		jobs, asked        int
		first, rest, ended string
	}{
		{[]string{"cancel"}, 2500, 3, "POST /queue/bulk cancel [100 101", "POST /queue/bulk cancel [2100", "Canceled 2500 of 2500 jobs\n"},
		{[]string{"queue", "move", "--before", "7"}, 205, 3, "POST /queue/bulk priority [100 101", "POST /queue/bulk priority [300 301 302 303 304] 7", "Job 304: done\n"},
	} {
		api := &changing{}
		f := &fakeAPI{Server: httptest.NewServer(api)}
		t.Cleanup(f.Close)
		for id := range v.jobs {
			v.args = append(v.args, fmt.Sprint(100+id))
		}
		code, out, errs := f.berth(t, v.args...)
		if n := len(api.asked); code != 0 || errs != "" || !strings.HasSuffix(out, v.ended) || n != v.asked ||
			!strings.HasPrefix(api.asked[0], v.first) || !strings.HasPrefix(api.asked[n-1], v.rest) {
			t.Errorf("%s: exit code %d, %d requests: %s", v.args[0], code, n, errs)
		}
	}
}
