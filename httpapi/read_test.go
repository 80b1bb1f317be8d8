package httpapi

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
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// waits reports that a reader waits for a change; a woken one is notified while the change is made.
func (p *one) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0
}

// waited returns when a reader waits for a change.
func (p *one) waited(t *testing.T) {
	t.Helper()
	limit := time.After(time.Minute)
	for !p.waits() {
		select {
		case <-limit:
			t.Fatal("no reader waits")
		case <-time.After(time.Millisecond):
		}
	}
}

// async asks in the background.
func (s *site) async(path string) <-chan *reply {
	ch := make(chan *reply, 1)
	go func() { ch <- s.do(http.MethodGet, path, "") }()
	return ch
}

// A reader that names an index is answered when what it reads has changed after it,
// and not before.
func TestAReaderWaitsForAChange(t *testing.T) {
	s := newSite(t)
	r := s.submit(`{"command":"x"}`)
	waiting := s.async("/queue?wait=20s&index=" + r.header.Get(wire.HeaderIndex))
	s.waited(t)
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.SetRetention{Retention: model.Retention{Age: time.Hour, Jobs: 5}})
	})
	if !s.waits() {
		t.Fatalf("a change of something else answered %s", (<-waiting).body)
	}
	s.submit(`{"command":"x"}`)
	var q wire.Queue
	(<-waiting).into(&q)
	if len(q.Queued) != 2 {
		t.Errorf("%d jobs wait", len(q.Queued))
	}
}

// A reader that waits for one job is not woken by changes of another.
func TestAReaderOfAJobWaitsForThatJob(t *testing.T) {
	s := newSite(t)
	s.submit(`{"command":"x"}`)
	r := s.submit(`{"command":"x"}`)
	waiting := s.async("/jobs/1?wait=20s&index=" + r.header.Get(wire.HeaderIndex))
	s.waited(t)
	s.do(http.MethodDelete, "/queue/2", "").into(new(wire.Done))
	s.waited(t)
	select {
	case got := <-waiting:
		t.Fatalf("a change of another job answered %s", got.body)
	default:
	}
	s.do(http.MethodDelete, "/queue/1", "").into(new(wire.Done))
	var job wire.Detail
	(<-waiting).into(&job)
	if job.State != "canceled" {
		t.Errorf("the job is %s", job.State)
	}
}

// Polls of a quiet cluster come and go, and leave one wait behind, not one each.
func TestWaitsDoNotPileUp(t *testing.T) {
	s := newSite(t)
	r := s.submit(`{"command":"x"}`)
	for range 20 {
		s.do(http.MethodGet, "/queue?wait=1ms&index="+r.header.Get(wire.HeaderIndex), "").into(new(wire.Queue))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.waiting); n != 1 {
		t.Errorf("%d waits are left", n)
	}
}

// When the wait is over the answer is what there is.
func TestAWaitEnds(t *testing.T) {
	s := newSite(t)
	r := s.submit(`{"command":"x"}`)
	index := r.header.Get(wire.HeaderIndex)
	got := s.do(http.MethodGet, "/queue?wait=10ms&index="+index, "")
	if got.into(new(wire.Queue)); got.header.Get(wire.HeaderIndex) != index {
		t.Errorf("at %s, not %s", got.header.Get(wire.HeaderIndex), index)
	}
	s.do(http.MethodGet, "/queue?wait=soon&index="+index, "").about("wait")
	s.do(http.MethodGet, "/queue?index=-1", "").about("index")
	s.do(http.MethodGet, "/queue?consistency=maybe", "").about("consistency")
	for _, c := range []string{"stale", "default", "linearizable"} {
		s.do(http.MethodGet, "/queue?consistency="+c, "").into(new(wire.Queue))
	}
}

// Shutting down ends polls at once.
func TestTheEndOfAnAPIEndsWaits(t *testing.T) {
	s := newSite(t)
	r := s.submit(`{"command":"x"}`)
	waiting := s.async("/queue?wait=1m&index=" + r.header.Get(wire.HeaderIndex))
	s.waited(t)
	if err := s.api.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case got := <-waiting:
		got.into(new(wire.Queue))
	case <-time.After(30 * time.Second): // it is over by itself after a minute
		t.Fatal("a poll outlives the API")
	}
	s.do(http.MethodGet, "/readyz", "").problem(http.StatusServiceUnavailable, wire.CodeBehind)
	s.do(http.MethodGet, "/healthz", "").into(new(wire.Health))
}

func TestAPeerThatIsBehind(t *testing.T) {
	s := newSite(t)
	s.mu.Lock()
	s.behind = &problem.Fault{Code: wire.CodeBehind, Err: errors.New("at 1, wanted 2")}
	s.mu.Unlock()
	for _, path := range []string{"/queue", "/jobs/1", "/nodes", "/gpu/status", "/queue/statistics", "/cluster/peers", "/jobs/1/logs", "/readyz"} {
		s.do(http.MethodGet, path, "").problem(http.StatusServiceUnavailable, wire.CodeBehind)
	}
}

// A peer that has not caught up serves, and is not ready.
func TestAPeerThatHasNotCaughtUpIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do(http.MethodGet, "/readyz", "").into(new(wire.Health))
	s.mu.Lock()
	s.lacks = 1000
	s.mu.Unlock()
	r := s.do(http.MethodGet, "/readyz", "")
	if p := r.problem(http.StatusServiceUnavailable, wire.CodeBehind); !strings.Contains(p.Detail, "lacks 1000 entries") || r.header.Get("Retry-After") == "" {
		t.Errorf("it is not ready: %+v, Retry-After %q", p, r.header.Get("Retry-After"))
	}
	s.do(http.MethodGet, "/healthz", "").into(new(wire.Health))
}

// The index in an answer is that of the state that it tells of.
func TestAnswersTellTheirIndex(t *testing.T) {
	s := newSite(t)
	r := s.submit(`{"command":"x"}`)
	for _, path := range []string{"/queue", "/jobs/1", "/nodes", "/gpu/status", "/queue/statistics", "/orchestrator/status", "/cluster/peers", "/healthz"} {
		got := s.do(http.MethodGet, path, "")
		if st := s.State(); got.header.Get(wire.HeaderIndex) != strconv.FormatUint(st.Index, 10) || got.header.Get(wire.HeaderLeader) != "p1" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	if r.header.Get(wire.HeaderIndex) == "0" {
		t.Error("a submission has no index")
	}
}

// TestAnswersAreCompressed checks a long list, its tag, and the headers that all answers have.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 20 {
		s.submit(`{"command":"true"}`).into(new(wire.Submitted))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/queue", nil)
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
	again := s.do(http.MethodGet, "/queue", "", "If-None-Match", answer.Header.Get("Etag"), "Accept-Encoding", "gzip")
	if again.status != http.StatusNotModified {
		t.Errorf("the same list is sent again: %d", again.status)
	}
}
