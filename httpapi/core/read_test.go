package core_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A reader that names an index is answered when what it reads has changed after it,
// and not before.
func TestAReaderWaitsForAChange(t *testing.T) {
	s := apitest.New(t)
	r := s.Submit(`{"command":"x"}`)
	waiting := s.Async("/queue?wait=20s&index=" + r.Header.Get(wire.HeaderIndex))
	s.Waited(t)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetRetention{Retention: model.Retention{Age: time.Hour, Jobs: 5}})
	})
	if s.Waiters() == 0 {
		t.Fatalf("a change of something else answered %s", (<-waiting).Body)
	}
	s.Submit(`{"command":"x"}`)
	var q wire.Queue
	(<-waiting).Into(&q)
	if len(q.Queued) != 2 {
		t.Errorf("%d jobs wait", len(q.Queued))
	}
}

// A reader that waits for one job is not woken by changes of another.
func TestAReaderOfAJobWaitsForThatJob(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x"}`)
	r := s.Submit(`{"command":"x"}`)
	waiting := s.Async("/jobs/1?wait=20s&index=" + r.Header.Get(wire.HeaderIndex))
	s.Waited(t)
	s.Do(http.MethodDelete, "/queue/2", "").Into(new(wire.Done))
	s.Waited(t)
	select {
	case got := <-waiting:
		t.Fatalf("a change of another job answered %s", got.Body)
	default:
	}
	s.Do(http.MethodDelete, "/queue/1", "").Into(new(wire.Done))
	var job wire.Detail
	(<-waiting).Into(&job)
	if job.State != "canceled" {
		t.Errorf("the job is %s", job.State)
	}
}

// Polls of a quiet cluster come and go, and leave one wait behind, not one each.
func TestWaitsDoNotPileUp(t *testing.T) {
	s := apitest.New(t)
	r := s.Submit(`{"command":"x"}`)
	for range 20 {
		s.Do(http.MethodGet, "/queue?wait=1ms&index="+r.Header.Get(wire.HeaderIndex), "").Into(new(wire.Queue))
	}
	if n := s.Waiters(); n != 1 {
		t.Errorf("%d waits are left", n)
	}
}

// When the wait is over the answer is what there is.
func TestAWaitEnds(t *testing.T) {
	s := apitest.New(t)
	r := s.Submit(`{"command":"x"}`)
	index := r.Header.Get(wire.HeaderIndex)
	got := s.Do(http.MethodGet, "/queue?wait=10ms&index="+index, "")
	if got.Into(new(wire.Queue)); got.Header.Get(wire.HeaderIndex) != index {
		t.Errorf("at %s, not %s", got.Header.Get(wire.HeaderIndex), index)
	}
	s.Do(http.MethodGet, "/queue?wait=soon&index="+index, "").About("wait")
	s.Do(http.MethodGet, "/queue?index=-1", "").About("index")
	s.Do(http.MethodGet, "/queue?consistency=maybe", "").About("consistency")
	for _, c := range []string{"stale", "default", "linearizable"} {
		s.Do(http.MethodGet, "/queue?consistency="+c, "").Into(new(wire.Queue))
	}
}

// Shutting down ends polls at once.
func TestTheEndOfAnAPIEndsWaits(t *testing.T) {
	s := apitest.New(t)
	r := s.Submit(`{"command":"x"}`)
	waiting := s.Async("/queue?wait=1m&index=" + r.Header.Get(wire.HeaderIndex))
	s.Waited(t)
	if err := s.API.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case got := <-waiting:
		got.Into(new(wire.Queue))
	case <-time.After(30 * time.Second): // it is over by itself after a minute
		t.Fatal("a poll outlives the API")
	}
	s.Do(http.MethodGet, "/readyz", "").Problem(http.StatusServiceUnavailable, wire.CodeBehind)
	s.Do(http.MethodGet, "/healthz", "").Into(new(wire.Health))
}

func TestAPeerThatIsBehind(t *testing.T) {
	s := apitest.New(t)
	s.With(func(*statetest.Cluster) {
		s.Behind = &problem.Fault{Code: wire.CodeBehind, Err: errors.New("at 1, wanted 2")}
	})
	for _, path := range []string{"/queue", "/jobs/1", "/nodes", "/gpu/status", "/queue/statistics", "/cluster/peers", "/jobs/1/logs", "/readyz"} {
		s.Do(http.MethodGet, path, "").Problem(http.StatusServiceUnavailable, wire.CodeBehind)
	}
}

// A peer that has not caught up serves, and is not ready.
func TestAPeerThatHasNotCaughtUpIsNotReady(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Do(http.MethodGet, "/readyz", "").Into(new(wire.Health))
	s.With(func(*statetest.Cluster) { s.Lacks = 1000 })
	r := s.Do(http.MethodGet, "/readyz", "")
	if p := r.Problem(http.StatusServiceUnavailable, wire.CodeBehind); !strings.Contains(p.Detail, "lacks 1000 entries") || r.Header.Get("Retry-After") == "" {
		t.Errorf("it is not ready: %+v, Retry-After %q", p, r.Header.Get("Retry-After"))
	}
	s.Do(http.MethodGet, "/healthz", "").Into(new(wire.Health))
}

// The index in an answer is that of the state that it tells of.
func TestAnswersTellTheirIndex(t *testing.T) {
	s := apitest.New(t)
	r := s.Submit(`{"command":"x"}`)
	for _, path := range []string{"/queue", "/jobs/1", "/nodes", "/gpu/status", "/queue/statistics", "/orchestrator/status", "/cluster/peers", "/healthz"} {
		got := s.Do(http.MethodGet, path, "")
		if st := s.State(); got.Header.Get(wire.HeaderIndex) != strconv.FormatUint(st.Index, 10) || got.Header.Get(wire.HeaderLeader) != "p1" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	if r.Header.Get(wire.HeaderIndex) == "0" {
		t.Error("a submission has no index")
	}
}

// TestAnswersAreCompressed checks a long list, its tag, and the headers that all answers have.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for range 20 {
		s.Submit(`{"command":"true"}`).Into(new(wire.Submitted))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	zipped, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatalf("%v %v", err, answer.Header)
	}
	queue := &wire.Queue{}
	if err := json.NewDecoder(zipped).Decode(queue); err != nil || len(queue.Queued) != 20 {
		t.Errorf("%d jobs wait: %v", len(queue.Queued), err)
	}
	if ms, err := strconv.ParseInt(answer.Header.Get(wire.HeaderTime), 10, 64); err != nil || ms <= 0 {
		t.Errorf("the time is %q", answer.Header.Get(wire.HeaderTime))
	}
	again := s.Do(http.MethodGet, "/queue", "", "If-None-Match", answer.Header.Get("Etag"), "Accept-Encoding", "gzip")
	if again.Status != http.StatusNotModified {
		t.Errorf("the same list is sent again: %d", again.Status)
	}
}
