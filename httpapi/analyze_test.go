package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The published example's workload is analyzed against the cluster's GPUs, by any peer,
// also one that knows no leader.
func TestAWorkloadIsAnalyzed(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) { c.Node("n1", 8) })
	s.lead(forward.Leader{})
	var p wire.WorkloadPlan
	s.do(http.MethodPost, "/gpu/workload", `{"service_name": "training", "workload_type": "training",
		"workload_data": {"model_size": "large", "batch_size": 128, "our_own": {"a": [1]}}}`).into(&p)
	if p.GPUs != 2 || p.GPUType != "H200" || !p.Fits || p.MemoryMB < 100000 || p.MemoryMB > 144384 || p.Priority != 5 ||
		len(p.Ignored) != 1 || len(p.Reasoning) < 4 || p.ServiceName != "training" {
		t.Errorf("%+v", p)
	}
	for body, field := range map[string]string{
		`{"workload_type": "x"}`:                               "workload_type",
		`{"workload_data": {"batch_size": -1}}`:                "workload_data.batch_size",
		`{"workload_data": [1]}`:                               "workload_data",
		`{"workload": "training"}`:                             "workload",
		`{"service_name": "` + strings.Repeat("x", 129) + `"}`: "service_name",
	} {
		s.do(http.MethodPost, "/gpu/workload", body).about(field)
	}
	s.do(http.MethodPost, "/gpu/workload", `{"workload_data": {"a": 1, "a": 2}}`).problem(http.StatusBadRequest, wire.CodeMalformed)
}

// What runs of the name have used is found in the state, of one user and of all.
func TestAnalysisKnowsEarlierRuns(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) {
		n := c.Node("n1", 8)
		for i := range 6 {
			a := c.Place(c.Submit(2, func(b *command.Submit) { b.Spec.Name, b.Spec.User = "bert", []string{"ann", "bob"}[i%2] }))
			c.Start(a)
			c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Ran: time.Hour, PeakMB: uint32(10000 + 10000*(i%2))}}))
			n.Clean()
		}
	})
	for user, mb := range map[string]int64{"": 22016, `, "user": "ann"`: 11008, `, "user": "carl"`: 8192} {
		var p wire.WorkloadPlan
		s.do(http.MethodPost, "/gpu/workload", `{"service_name": "bert"`+user+`}`).into(&p)
		if p.MemoryMB != mb || (p.GPUs == 2) != (mb != 8192) {
			t.Errorf("user %s: %+v", user, p)
		}
	}
}

// helper is an adviser that answers so.
func helper(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAdvisersAnswer(t *testing.T) {
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	closed := httptest.NewServer(text(200, "{}"))
	closed.Close()
	asked := make(chan string, 9) // both are asked at once
	for name, v := range map[string]struct{ url, failure, body string }{
		"well": {url: helper(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Method + " " + r.URL.Path
			text(200, `{"gpu_count": 3}`)(w, r)
		}), body: `{"gpu_count": 3}`},
		"an error":    {url: helper(t, text(500, "{}")), failure: "with status 500"},
		"no JSON":     {url: helper(t, text(200, "hello")), failure: "not a JSON object"},
		"a list":      {url: helper(t, text(200, "[]")), failure: "not a JSON object"},
		"without end": {url: helper(t, text(200, `{"a": "`+strings.Repeat("x", maxAdvice)+`"}`)), failure: "more than"},
		"a redirect": {url: helper(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}), failure: "302"},
		"nothing": {url: closed.URL, failure: "cannot be reached"},
		"too late": {url: helper(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client has gone
			<-r.Context().Done()
		}), failure: "no answer within"},
		"half of it": {url: helper(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = w.Write([]byte("{"))
		}), failure: "EOF"},
	} {
		got := newAdvisers([]Adviser{{"a", v.url}, {"b", v.url + "/own/path"}}).ask(t.Context(), &wire.Workload{})
		if len(got) != 2 || got[0].Name != "a" || !strings.Contains(got[0].Failure, v.failure) || (v.failure == "") != (got[0].Failure == "") || v.body != "" && string(got[0].Body) != v.body {
			t.Errorf("%s: %+v", name, got)
		}
	}
	close(asked)
	var paths []string
	for path := range asked {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"POST /gpu/workload", "POST /own/path"}) {
		t.Errorf("asked %v", paths)
	}
}

// After three failures in a row an adviser is let be, then asked by one request again.
func TestAnAdviserIsLetBe(t *testing.T) {
	asked, well := 0, false
	a := newAdvisers([]Adviser{{"a", helper(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; !well {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("{}"))
	})}})
	ask := func() bool { return a.ask(context.Background(), &wire.Workload{})[0].Skipped }
	for i := range 5 {
		if skipped := ask(); skipped != (i >= failuresMost) {
			t.Errorf("question %d: skipped %t", i, skipped)
		}
	}
	a[0].until = time.Now() // its time is over
	if ask() || !ask() || asked != failuresMost+1 {
		t.Errorf("it was asked %d times", asked)
	}
	a[0].until, well = time.Now(), true
	for range 3 {
		if ask() {
			t.Error("it is well again and is not asked")
		}
	}
	if asked != failuresMost+4 {
		t.Errorf("it was asked %d times", asked)
	}
}
