package forward

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// members is a peer whose leader is set by the test.
type members struct {
	mu     sync.Mutex
	leader Leader
	until  context.Context
	end    context.CancelFunc
	caught uint64
}

func newMembers(l Leader) *members {
	m := &members{leader: l}
	m.until, m.end = context.WithCancel(context.Background())
	return m
}

func (m *members) set(l Leader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leader = l
	m.end()
	m.until, m.end = context.WithCancel(context.Background())
}

func (m *members) Leader() (Leader, context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader, m.until
}

func (m *members) Saw(index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caught = index
}

// wires carries requests to other peers.
type wires struct {
	mu   sync.Mutex
	sent []*Request
	to   []peer.Server
	keys []string
	do   sender
}

// sender answers the nth request, counted from 1, to a peer.
type sender func(ctx context.Context, n int, to peer.Server, q *Request) (*Answer, error)

func (w *wires) send(ctx context.Context, to peer.Server, q *Request) (*Answer, error) {
	w.mu.Lock()
	w.sent, w.to = append(w.sent, q), append(w.to, to)
	w.keys = append(w.keys, http.Header(q.Header).Get(wire.HeaderRequestID))
	n := len(w.sent)
	w.mu.Unlock()
	return w.do(ctx, n, to, q)
}

func (w *wires) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sent)
}

func response(status int, body string, headers ...string) *Answer {
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &Answer{Status: status, Header: header, Body: []byte(body)}
}

// always answers every request alike.
func always(a *Answer, err error) sender {
	return func(context.Context, int, peer.Server, *Request) (*Answer, error) { return a, err }
}

// noLeader is a peer's answer that there is no leader.
func noLeader() *Answer {
	return response(http.StatusServiceUnavailable, "{}", wire.HeaderCode, wire.CodeNoLeader)
}

// hung never answers.
func hung(ctx context.Context, _ int, _ peer.Server, _ *Request) (*Answer, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("%w: %w", call.ErrOutcomeUnknown, ctx.Err())
}

func refusal(w http.ResponseWriter, _ *http.Request, code, detail string) {
	status := map[string]int{
		wire.CodeTooLarge: http.StatusRequestEntityTooLarge, wire.CodeInvalid: http.StatusUnprocessableEntity,
		wire.CodeOverloaded: http.StatusTooManyRequests,
	}[code]
	if status == 0 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set(wire.HeaderCode, code)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, detail)
}

var (
	elsewhere = Leader{ID: "p2", Address: "p2:1"}
	itself    = Leader{ID: "p1", Self: true}
)

// local answers as this peer would when it leads.
func local(calls *int, fails ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*calls++
		if *calls <= len(fails) {
			w.Header().Set(wire.HeaderCode, fails[*calls-1])
			w.Header().Set("X-Of-The-Failure", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "not now")
			return
		}
		w.Header().Set("X-Local", "yes")
		_, _ = w.Write(append([]byte("did "), body...))
	})
}

type bench struct {
	members *members
	wires   *wires
	calls   int
	handler http.Handler
}

func newBench(l Leader, rule Rule, do sender, fails ...string) *bench {
	b := &bench{members: newMembers(l), wires: &wires{do: do}}
	f := New(Config{Members: b.members, Send: b.wires.send, Refuse: refusal})
	b.handler = f.Wrap(local(&b.calls, fails...), rule)
	return b
}

// ask sends one request and tells how long it took.
func (b *bench) ask(body string, headers ...string) (*httptest.ResponseRecorder, time.Duration) {
	r := httptest.NewRequest(http.MethodPost, "/queue/submit?x=%20y", strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	began := time.Now()
	b.handler.ServeHTTP(w, r)
	return w, time.Since(began)
}

var usual = Rule{MaxBody: 1000, Keyed: true}

func TestTheLeaderCarriesOutItself(t *testing.T) {
	b := newBench(itself, usual, nil)
	w, _ := b.ask("this")
	if w.Body.String() != "did this" || w.Header().Get("X-Local") != "yes" || b.calls != 1 {
		t.Errorf("got %q %v after %d calls", w.Body, w.Header(), b.calls)
	}
	if key := w.Header().Get(wire.HeaderRequestID); len(key) != 36 || key[14] != '7' {
		t.Errorf("the key drawn for it is %q, no UUIDv7", key)
	}
}

// A follower passes the request on whole, by one hop, and answers with what the
// leader has answered once its own state is there.
func TestAFollowerPassesOn(t *testing.T) {
	b := newBench(elsewhere, usual, func(_ context.Context, _ int, _ peer.Server, q *Request) (*Answer, error) {
		return response(http.StatusConflict, "from p2: "+string(q.Body), wire.HeaderIndex, "42", "Content-Type", "x/y", "Connection", "close"), nil
	})
	w, _ := b.ask("this", "Authorization", "Bearer t", wire.HeaderRequestID, "mine", "Connection", "keep-alive", "Origin", "http://p1:1")
	q, header := b.wires.sent[0], http.Header(b.wires.sent[0].Header)
	if q.Method != http.MethodPost || q.Target != "/queue/submit?x=%20y" || q.Client != "192.0.2.1" || header.Get("Authorization") != "Bearer t" ||
		header.Get(wire.HeaderRequestID) != "mine" || header.Get("Connection") != "" || header.Get("Origin") != "" ||
		b.wires.to[0] != (peer.Server{ID: "p2", Address: "p2:1"}) {
		t.Errorf("sent %+v to %+v", q, b.wires.to[0])
	}
	if w.Code != http.StatusConflict || w.Body.String() != "from p2: this" || w.Header().Get("Content-Type") != "x/y" ||
		w.Header().Get("Connection") != "" || w.Header().Get(wire.HeaderRequestID) != "mine" {
		t.Errorf("answered %d %q %v", w.Code, w.Body, w.Header())
	}
	if b.members.caught != 42 || b.calls != 0 {
		t.Errorf("caught up with %d, %d calls here", b.members.caught, b.calls)
	}
}

// One hop: what came from a peer is carried out here or refused.
func TestASecondHopIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(elsewhere, usual, nil, wire.CodeNoLeader, wire.CodeNoLeader)
		r := httptest.NewRequest(http.MethodPost, "/queue/submit", strings.NewReader("this"))
		r = r.WithContext(context.WithValue(r.Context(), passedKey{}, &Passed{From: "p3"}))
		w, began := httptest.NewRecorder(), time.Now()
		b.handler.ServeHTTP(w, r)
		took := time.Since(began)
		if w.Code != http.StatusServiceUnavailable || w.Body.String() != "not now" || b.calls != 1 || took != 0 {
			t.Errorf("answered %d %q after %d calls and %s", w.Code, w.Body, b.calls, took)
		}
	})
}

// While there is no leader a request waits, and goes on at the very moment that a peer
// does.
func TestARequestWaitsForALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Leader{}, usual, always(response(http.StatusOK, "done"), nil))
		go func() {
			time.Sleep(437 * time.Millisecond)
			b.members.set(elsewhere)
		}()
		w, took := b.ask("this")
		if w.Body.String() != "done" || took != 437*time.Millisecond {
			t.Errorf("answered %d %q after %s", w.Code, w.Body, took)
		}
	})
}

// A leader that stops answering is left when another leads, and the same key goes
// to the next one.
func TestALeaderThatHangsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(elsewhere, usual, func(ctx context.Context, n int, to peer.Server, q *Request) (*Answer, error) {
			if to.Address == "p2:1" {
				return hung(ctx, n, to, q)
			}
			return response(http.StatusOK, "done by p3"), nil
		})
		go func() {
			time.Sleep(300 * time.Millisecond)
			b.members.set(Leader{ID: "p3", Address: "p3:1"})
		}()
		w, took := b.ask("this")
		if w.Body.String() != "done by p3" || took != 300*time.Millisecond {
			t.Errorf("answered %d %q after %s", w.Code, w.Body, took)
		}
		if k := b.wires.keys; len(k) != 2 || k[0] != k[1] || k[0] == "" || k[0] != w.Header().Get(wire.HeaderRequestID) {
			t.Errorf("keys %q, answered %q", k, w.Header().Get(wire.HeaderRequestID))
		}
	})
}

// A leader that is gone but not yet replaced is tried again and again, not without
// a pause; then this peer itself is elected.
func TestALeaderThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(elsewhere, usual, always(nil, call.ErrNotSent), wire.CodeOutcomeUnknown)
		go func() {
			time.Sleep(500 * time.Millisecond)
			b.members.set(itself)
		}()
		w, took := b.ask("this")
		if w.Body.String() != "did this" || w.Header().Get("X-Of-The-Failure") != "" || took > 520*time.Millisecond {
			t.Errorf("answered %d %q %v after %s", w.Code, w.Body, w.Header(), took)
		}
		if n := b.wires.count(); n < 3 || n > 12 {
			t.Errorf("the dead leader was tried %d times", n)
		}
	})
}

// After three seconds the client is told what is known: nothing was done, or that
// it may have been.
func TestPatienceEnds(t *testing.T) {
	for name, c := range map[string]struct {
		leader Leader
		do     sender
		code   string
	}{
		"no leader":            {Leader{}, nil, wire.CodeNoLeader},
		"no address":           {Leader{ID: "p2"}, nil, wire.CodeNoLeader},
		"it is not him":        {elsewhere, always(noLeader(), nil), wire.CodeNoLeader},
		"it hangs":             {elsewhere, hung, wire.CodeOutcomeUnknown},
		"its API is not ready": {elsewhere, always(nil, &call.RemoteError{Kind: call.KindUnknown}), wire.CodeNoLeader},
		"it has a defect":      {elsewhere, always(nil, &call.RemoteError{Kind: call.KindFailed}), wire.CodeOutcomeUnknown},
		"it breaks off once": {elsewhere, func(_ context.Context, n int, _ peer.Server, _ *Request) (*Answer, error) {
			if n == 1 {
				return nil, call.ErrOutcomeUnknown
			}
			return noLeader(), nil
		}, wire.CodeOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(c.leader, usual, c.do)
				w, took := b.ask("this")
				if w.Header().Get(wire.HeaderCode) != c.code || took != Patience || w.Header().Get(wire.HeaderRequestID) == "" {
					t.Errorf("answered %d %v after %s, want %s", w.Code, w.Header(), took, c.code)
				}
			})
		})
	}
}

// A renewal is sent once, whatever comes of it.
func TestWhatMustNotBeRepeatedIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(elsewhere, Rule{MaxBody: 1000, Once: true}, always(noLeader(), nil))
		w, took := b.ask("this")
		if b.wires.count() != 1 || took != 0 || w.Header().Get(wire.HeaderCode) != wire.CodeNoLeader || b.wires.keys[0] != "" {
			t.Errorf("sent %d times in %s: %v", b.wires.count(), took, w.Header())
		}
	})
}

// A client that leaves takes its request with it.
func TestAClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(elsewhere, usual, hung)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		began := time.Now()
		b.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/x", strings.NewReader("y")))
		if took := time.Since(began); took != 100*time.Millisecond || w.Body.Len() > 0 {
			t.Errorf("held for %s, answered %q", took, w.Body)
		}
	})
}

func TestBodiesAreBounded(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"with its length":    strings.NewReader(strings.Repeat("x", 1001)),
		"without its length": io.MultiReader(bytes.NewReader(make([]byte, 600)), bytes.NewReader(make([]byte, 600))),
	} {
		b := newBench(itself, usual, nil)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/x", r))
		if w.Code != http.StatusRequestEntityTooLarge || b.calls != 0 {
			t.Errorf("%s: answered %d after %d calls", name, w.Code, b.calls)
		}
	}
	b := newBench(itself, usual, nil)
	if w, _ := b.ask(strings.Repeat("x", 1000)); w.Code != http.StatusOK {
		t.Errorf("as much as is allowed: answered %d", w.Code)
	}
	if w, _ := b.ask("x", wire.HeaderRequestID, strings.Repeat("k", 129)); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a key too long: answered %d", w.Code)
	}
}

// What waits is bounded, too, and room comes back.
func TestRoomIsGivenBack(t *testing.T) {
	r := room{most: 10}
	if !r.take(6) || r.take(5) || !r.take(4) {
		t.Error("the room is not counted")
	}
	r.give(6)
	if !r.take(6) {
		t.Error("room does not come back")
	}
	b := &bench{members: newMembers(itself), wires: &wires{}}
	f := New(Config{Members: b.members, Send: b.wires.send, Refuse: refusal})
	b.handler = f.Wrap(local(&b.calls), usual)
	f.held.most = heldEach
	if w, _ := b.ask("this"); w.Code != http.StatusTooManyRequests {
		t.Errorf("without room: answered %d", w.Code)
	}
	f.held.most = heldEach + 4
	for range 3 {
		if w, _ := b.ask("this"); w.Code != http.StatusOK {
			t.Errorf("with room: answered %d", w.Code)
		}
	}
	if used := f.held.used.Load(); used != 0 {
		t.Errorf("%d bytes are held for ever", used)
	}
}
