package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// peer is a server that answers as told and counts what it was asked.
type peer struct {
	*httptest.Server

	mu    sync.Mutex
	asked []*http.Request
	body  []string
}

func newPeer(t *testing.T, do http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.asked = append(p.asked, r)
		p.body = append(p.body, string(data))
		p.mu.Unlock()
		do(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *peer) address() string { return p.Listener.Addr().String() }

func (p *peer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *peer) last() (*http.Request, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[len(p.asked)-1], p.body[len(p.body)-1]
}

// closedAddress returns an address without a listener.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func problem(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(wire.Problem{Title: "t", Status: status, Code: code, Detail: "d"})
	}
}

func says(body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		_, _ = io.WriteString(w, body)
	}
}

func connect(t *testing.T, addresses ...string) *Client {
	t.Helper()
	c, err := New(Options{Addresses: addresses, UserAgent: "test/1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestWhatIsSent(t *testing.T) {
	p := newPeer(t, says("{}", wire.HeaderIndex, "7"))
	c := connect(t, p.address())
	priority := int64(3)
	for _, step := range []struct {
		do         func() error
		want, body string
	}{
		{func() error {
			_, err := c.Submit(t.Context(), &wire.Submit{Command: "x", Priority: &priority}, "")
			return err
		}, "POST /queue/submit", `{"command":"x","priority":3}`},
		{func() error {
			_, err := c.Queue(t.Context(), QueueQuery{Limit: 5, After: "a", User: "u&v", State: "s", Ended: 2})
			return err
		}, "GET /queue?after=a&ended=2&limit=5&state=s&user=u%26v", ""},
		{func() error { _, err := c.Queue(t.Context(), QueueQuery{}); return err }, "GET /queue", ""},
		{func() error {
			_, _, err := c.Job(t.Context(), "1/2", JobQuery{Task: "3", Index: 9, Wait: time.Second, Consistency: "stale"})
			return err
		}, "GET /jobs/1%2F2?consistency=stale&index=9&task=3&wait=1s", ""},
		{func() error { _, err := c.Cancel(t.Context(), "1", AllTasks, ""); return err }, "DELETE /queue/1", ""},
		{func() error { _, err := c.Cancel(t.Context(), "1", "0", "no need"); return err }, "DELETE /queue/1?note=no+need&task=0", ""},
		{func() error { _, err := c.Controls().Hold(t.Context(), "1", "3-7,9", "why"); return err }, "POST /queue/1/hold?note=why&task=3-7%2C9", ""},
		{func() error { _, err := c.Controls().DropDependencies(t.Context(), "1", ""); return err }, "DELETE /queue/1/dependencies", ""},
		{func() error {
			_, err := c.Lists().Jobs(t.Context(), JobsQuery{Limit: 1, Selection: Selection{Filters: map[string]string{"user": "ann"}}})
			return err
		}, "GET /jobs?consistency=linearizable&limit=1&user=ann", ""},
		{func() error {
			_, err := c.Lists().Tasks(t.Context(), "1", TasksQuery{State: "failed", Limit: 2, After: "7"})
			return err
		}, "GET /jobs/1/tasks?after=7&limit=2&state=failed", ""},
		{func() error { _, err := c.SetPriority(t.Context(), "1", 4); return err }, "PATCH /queue/1/priority", `{"priority":4}`},
		{func() error { _, err := c.Statistics(t.Context()); return err }, "GET /queue/statistics", ""},
		{func() error { _, err := c.GPUStatus(t.Context()); return err }, "GET /gpu/status", ""},
		{func() error { _, err := c.Nodes(t.Context()); return err }, "GET /nodes", ""},
		{func() error { _, err := c.Peers(t.Context()); return err }, "GET /cluster/peers", ""},
		{func() error { _, err := c.Orchestrator(t.Context()); return err }, "GET /orchestrator/status", ""},
		{func() error { _, err := c.Switch(t.Context(), true); return err }, "POST /orchestrator/start", ""},
		{func() error { _, err := c.Switch(t.Context(), false); return err }, "POST /orchestrator/stop", ""},
		{func() error { _, err := c.SetPolicy(t.Context(), &wire.SetPolicy{Policy: "fcfs"}); return err }, "PUT /orchestrator/policy", `{"policy":"fcfs"}`},
		{func() error { _, err := c.Health(t.Context()); return err }, "GET /readyz", ""},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.want, err)
		}
		r, body := p.last()
		if got := r.Method + " " + r.URL.RequestURI(); got != step.want || body != step.body || r.Header.Get("User-Agent") != "test/1" {
			t.Errorf("sent %s %s, want %s %s", got, body, step.want, step.body)
		}
		key := r.Header.Get(wire.HeaderRequestID)
		if (len(key) == 36) != (r.Method != http.MethodGet) {
			t.Errorf("%s has the key %q", step.want, key)
		}
	}
	if _, index, _ := c.Job(t.Context(), "1", JobQuery{}); index != 7 {
		t.Errorf("the index is %d", index)
	}
}

// The next peer is asked when one cannot be reached or cannot just now; the one that
// answered is asked first from then on.
func TestAnotherPeerIsAsked(t *testing.T) {
	busy := newPeer(t, problem(http.StatusServiceUnavailable, wire.CodeNoLeader))
	good := newPeer(t, says(`{"job_id":"5"}`))
	c := connect(t, closedAddress(t), busy.address(), good.address())
	for range 3 {
		if got, err := c.Submit(t.Context(), &wire.Submit{Command: "x"}, "k"); err != nil || got.JobID != "5" {
			t.Fatalf("%+v: %v", got, err)
		}
	}
	if busy.count() != 1 || good.count() != 3 {
		t.Errorf("asked %d and %d times", busy.count(), good.count())
	}
	first, _ := busy.last()
	last, _ := good.last()
	if first.Header.Get(wire.HeaderRequestID) != "k" || last.Header.Get(wire.HeaderRequestID) != "k" {
		t.Error("the key is another")
	}
}

// A change goes on asking, under one key, until a peer can; a read says at once
// what it was told.
func TestAChangeGoesOnAsking(t *testing.T) {
	n := 0
	keys := map[string]bool{}
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get(wire.HeaderRequestID)] = true
		if n++; n < 4 {
			problem(http.StatusServiceUnavailable, wire.CodeOutcomeUnknown)(w, r)
			return
		}
		says(`{"job_id":"5"}`)(w, r)
	})
	c := connect(t, p.address())
	if _, err := c.Queue(t.Context(), QueueQuery{}); !isProblem(err, wire.CodeOutcomeUnknown) || p.count() != 1 {
		t.Errorf("a read: %v after %d", err, p.count())
	}
	clear(keys)
	if got, err := c.Submit(t.Context(), &wire.Submit{Command: "x"}, ""); err != nil || got.JobID != "5" || p.count() != 4 || len(keys) != 1 {
		t.Errorf("%+v: %v after %d with keys %v", got, err, p.count(), keys)
	}
}

func isProblem(err error, code string) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Code == code
}

func TestPatienceEnds(t *testing.T) {
	p := newPeer(t, problem(http.StatusServiceUnavailable, wire.CodeNoLeader))
	c, err := New(Options{Addresses: []string{p.address()}, Patience: 250 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetPriority(t.Context(), "1", 1); !isProblem(err, wire.CodeNoLeader) || p.count() > 4 {
		t.Errorf("%v after %d", err, p.count())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.SetPriority(ctx, "1", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// A refusal is final: no other peer is asked.
func TestARefusalIsFinal(t *testing.T) {
	p := newPeer(t, problem(http.StatusConflict, "already_ended"))
	other := newPeer(t, says("{}"))
	c := connect(t, p.address(), other.address())
	if _, err := c.Cancel(t.Context(), "1", AllTasks, ""); !isProblem(err, "already_ended") || other.count() != 0 {
		t.Errorf("%v, another was asked %d times", err, other.count())
	}
}

func TestNobodyCanBeReached(t *testing.T) {
	a, b := closedAddress(t), closedAddress(t)
	c := connect(t, a, b)
	_, err := c.Queue(t.Context(), QueueQuery{})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "http://") || strings.Contains(err.Error(), "Get") {
		t.Errorf("the form of a request is shown: %v", err)
	}
	if _, err := connect(t).Queue(t.Context(), QueueQuery{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without addresses: %v", err)
	}
	for _, bad := range []string{"", "localhost", ":1", "a:b:c", "http://x:1"} {
		if _, err := New(Options{Addresses: []string{bad}}); err == nil {
			t.Errorf("%q is taken for an address", bad)
		}
	}
}

// Servers that are none of ours are no peers.
func TestFaultyServers(t *testing.T) {
	for name, do := range map[string]http.HandlerFunc{
		"a page":         says("<html>"),
		"half an answer": says(`{"queued":[`),
		"nothing":        says(""),
		"a proxy's page": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusBadGateway) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"a broken problem": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "{")
		},
		"an early end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{}")
		},
	} {
		if _, err := connect(t, newPeer(t, do).address()).Nodes(t.Context()); name != "an early end" && err == nil ||
			err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A peer that hangs is left for the next one.
func TestAPeerThatHangs(t *testing.T) {
	hung := make(chan struct{})
	p := newPeer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	})
	defer close(hung)
	good := newPeer(t, says(`{}`))
	c := connect(t, p.address(), good.address())
	c.calls.limit = 50 * time.Millisecond
	if _, err := c.Nodes(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestALogIsAStream(t *testing.T) {
	next := make(chan string)
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		for s := range next {
			_, _ = io.WriteString(w, s)
			_ = http.NewResponseController(w).Flush()
		}
	})
	c := connect(t, p.address())
	c.calls.limit = 10 * time.Second
	go func() { next <- "a" }()
	log, err := c.Logs(t.Context(), "1", LogQuery{Task: "1", Attempt: 2, Rank: 3, Stream: "stderr", Tail: new(4), Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := p.last()
	if got := r.URL.RequestURI(); got != "/jobs/1/logs?attempt=2&follow=true&rank=3&stream=stderr&tail=4&task=1" {
		t.Errorf("asked %s", got)
	}
	buffer := make([]byte, 8)
	if n, err := log.Read(buffer); err != nil || string(buffer[:n]) != "a" {
		t.Errorf("read %q: %v", buffer[:n], err)
	}
	close(next)
	if rest, err := io.ReadAll(log); err != nil || len(rest) > 0 {
		t.Errorf("then %q: %v", rest, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
