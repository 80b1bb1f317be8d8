package core_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A handler that panics is a 500 that says nothing of why; the log does. One that
// has begun its answer is cut off.
func TestAPanicIsAnError(t *testing.T) {
	s := apitest.New(t)
	var log bytes.Buffer
	s.API.Log = slog.New(slog.NewTextHandler(&log, nil))
	h := s.API.Around(http.MethodGet, "/x", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret words") }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") || !strings.Contains(log.String(), "secret words") {
		t.Errorf("answered %d %s, logged %s", w.Code, w.Body, &log)
	}
	half := s.API.Around(http.MethodGet, "/x", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("later")
	}))
	server := httptest.NewServer(half)
	defer server.Close()
	got, err := http.Get(server.URL) //nolint:noctx // it is cut off
	if err == nil {
		_, err = io.ReadAll(got.Body)
		_ = got.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks whole")
	}
}

// serves has the API itself serve connections until end is called.
func serves(s *apitest.Site) (address string, end func()) {
	s.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.T.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.API.Serve(l) }()
	return l.Addr().String(), func() {
		if err := errors.Join(s.API.Shutdown(s.T.Context()), <-served); err != nil {
			s.T.Error(err)
		}
	}
}

// A client that never gets done with its header is cut off.
func TestHalfAHeader(t *testing.T) {
	s := apitest.New(t)
	limit := &s.API.Life().Server.ReadHeaderTimeout
	*limit = min(*limit, 50*time.Millisecond) // with none there is none here, too
	address, end := serves(s)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, "GET /queue HTTP/1.1\r\nHost: localhost\r\n") // it may be cut off before the end
	if got, err := io.ReadAll(conn); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it is answered %q, %v", got, err)
	}
	_ = conn.Close()
	end()
}

// Clients that send what is no request, or too much, are told so, and the server goes on.
func TestHostileConnections(t *testing.T) {
	s := apitest.New(t)
	address, end := serves(s)
	for name, c := range map[string]struct{ send, want string }{
		"no HTTP":           {"\x16\x03\x01\r\n\r\n", "HTTP/1.1 400"},
		"a huge header":     {"GET /queue HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431"},
		"too long a body":   {"POST /queue/submit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{", "HTTP/1.1 413"},
		"a body cut short":  {"POST /queue/submit HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\r\n", "HTTP/1.1 400"},
		"two lengths":       {"POST /queue/submit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 400"},
		"a path with dots":  {"GET /queue/../metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 301"},
		"a name of no kind": {"FROB /queue HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 405"},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, c.send) // it may be cut off before the end
		if half, is := conn.(*net.TCPConn); is && name == "a body cut short" {
			_ = half.CloseWrite()
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if !strings.HasPrefix(line, c.want) {
			t.Errorf("%s: %q", name, line)
		}
		_ = conn.Close()
	}
	got, err := http.Get("http://" + address + "/healthz") //nolint:noctx // it answers
	if err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v %v", got, err)
	} else {
		_ = got.Body.Close()
	}
	end()
}

// A page of another site cannot submit by way of a user's browser.
func TestOtherSitesGiveNoOrders(t *testing.T) {
	s := apitest.New(t)
	kept := &apitest.Refusals{}
	s.API.Peer.Refusals = kept
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://example.org"}} {
		s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, headers...).Problem(http.StatusForbidden, "denied")
		s.Do(http.MethodDelete, "/queue/1", "", headers...).Problem(http.StatusForbidden, "denied")
		s.Do(http.MethodGet, "/queue", "", headers...).Into(new(wire.Queue))
	}
	s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, "Origin", s.URL, "Sec-Fetch-Site", "same-origin").Into(new(wire.Submitted))
	if len(kept.List) != 4 || kept.List[0].Code != "denied" || kept.List[0].Path != "/queue/submit" || kept.List[0].From != "127.0.0.1" || kept.List[0].Request == "" {
		t.Errorf("kept are %+v", kept.List)
	}
}

// With authentication it is known on whose behalf a page of another site
// asked, and how often.
func TestOtherSitesAreCountedAsTheirCallers(t *testing.T) {
	s := apitest.NewGuarded(t)
	kept := &apitest.Refusals{}
	s.API.Peer.Refusals = kept
	s.API.Gate().Callers = auth.NewLimiter(1, func() time.Time { return time.Unix(1, 0) })
	headers := append(apitest.As(apitest.Ann), "Origin", "https://example.org")
	for range 2 {
		s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, headers...).Problem(http.StatusForbidden, "denied")
	}
	s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, headers...).Problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if len(kept.List) != 2 || kept.List[0].Actor != "user:ann" {
		t.Errorf("kept are %+v", kept.List)
	}
}

// Every peer is asked how far it is; one that cannot be reached, and one in whose
// place another answers, is told as such.
func TestPeersAreAsked(t *testing.T) {
	s := apitest.New(t)
	s.Mates(apitest.New(t))
	var peers wire.Peers
	s.Do(http.MethodGet, "/cluster/peers", "").Into(&peers)
	if len(peers.Peers) != 2 || !peers.Peers[0].Self || !peers.Peers[0].Reachable || peers.Peers[0].Role != "leader" || peers.Leader != "p1" {
		t.Errorf("the peers are %+v", peers)
	}
	if peers.Peers[1].Reachable {
		t.Error("p1 answers at the address of p2 and is taken for it")
	}
	s.Submit(`{"command":"x"}`).Into(new(wire.Submitted))
	other := apitest.NewFollower(t, s, auth.Keys{})
	s.Mates(other)
	s.Do(http.MethodGet, "/cluster/peers", "").Into(&peers)
	if p := peers.Peers[1]; !p.Reachable || p.AppliedIndex != s.State().Index || p.Role != "follower" || p.RaftAddress != other.Wired.Address {
		t.Errorf("p2 is %+v", p)
	}
}

// Each peer shows figures of its process and its data folder; one that cannot be reached shows none.
func TestFiguresOfPeers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.API.Config.Store = func() (peer.Store, error) {
		return peer.Store{
			SnapshotIndex: 7, SnapshotAt: s.Now().Add(-time.Minute), SnapshotBytes: 1 << 20, LogBytes: 2 << 20, Free: 3 << 30,
			Total: 4 << 30,
		}, nil
	}
	other := apitest.NewFollower(t, s, auth.Keys{})
	other.API.Config.Store = func() (peer.Store, error) { return peer.Store{}, errors.New("the disk is gone") }
	s.Mates(other)
	var peers wire.Peers
	s.Do(http.MethodGet, "/cluster/peers", "").Into(&peers)
	own, second := peers.Peers[0], peers.Peers[1]
	if own.SnapshotIndex != 7 || own.SnapshotAge == nil || *own.SnapshotAge < 60 || own.SnapshotBytes != 1<<20 || own.LogBytes != 2<<20 ||
		own.DiskFreeBytes != 3<<30 || own.DiskTotalBytes != 4<<30 ||
		own.MemoryBytes < 1<<20 || own.Lag == nil || *own.Lag != 0 || own.LeaderContact == nil {
		t.Errorf("p1 is %+v", own)
	}
	if !second.Reachable || second.Lag == nil || second.MemoryBytes < 1<<20 || second.SnapshotAge != nil || second.DiskTotalBytes != 0 {
		t.Errorf("p2, whose folder cannot be read, is %+v", second)
	}
	s.Mates(apitest.New(t)) // which is no p2
	peers = wire.Peers{}
	s.Do(http.MethodGet, "/cluster/peers", "").Into(&peers)
	if away := peers.Peers[1]; away.Reachable || away.Lag != nil || away.LeaderContact != nil || away.MemoryBytes != 0 {
		t.Errorf("a peer that does not answer is %+v", away)
	}
}

// Through a follower and its leader a submission is one hop and the same answer.
func TestTwoPeers(t *testing.T) {
	leader, follower := apitest.New(t), apitest.New(t)
	follower.FailWith(&problem.Fault{Code: wire.CodeNoLeader, Err: errors.New("p2 leads")})
	l := leader.KnownLeader
	l.ID, l.Self, l.Address = "p2", false, leader.Wired.Address
	follower.Lead(l)
	var out wire.Submitted
	r := follower.Submit(`{"command":"x","user":"ann"}`)
	if r.Into(&out); out.JobID != "1" || r.Header.Get(wire.HeaderIndex) == "" || len(r.Header.Get(wire.HeaderRequestID)) != 36 {
		t.Errorf("submitted %+v with %v", out, r.Header)
	}
	follower.Submit(`{"command":""}`).About("command")
	if st := leader.State(); st.Jobs.Len() != 1 {
		t.Errorf("the leader has %d jobs", st.Jobs.Len())
	}
	// A peer that is taken for the leader and is not does not pass it on again. What is
	// on its way when patience ends has an outcome that is not known.
	l.Address = follower.Wired.Address
	follower.Lead(l)
	r = follower.Submit(`{"command":"x"}`)
	if code := r.Header.Get(wire.HeaderCode); r.Status != http.StatusServiceUnavailable ||
		code != wire.CodeNoLeader && code != wire.CodeOutcomeUnknown {
		t.Errorf("got %d %s: %s", r.Status, code, r.Body)
	}
	if st := leader.State(); st.Jobs.Len() != 1 {
		t.Errorf("the leader has %d jobs", st.Jobs.Len())
	}
}

func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		apitest.BenchBody, `{"a":{"b":[{"c":1,"c":2}]}}`, `{"command":"\"}{"}`, `{"env":{"a":"}","b":"{"}}`, `[]`, `{"\u0061":1,"a":2}`, "{\"\\\\\":1}",
	} {
		f.Add([]byte(seed))
	}
	strict := strict.New[wire.Submit]()
	site := apitest.New(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := strict.Decode(body)
		if (got == nil) == (err == nil) {
			t.Fatalf("%v and %v", got, err)
		}
		if err == nil {
			s := site.API.State()
			_, err = intake.Prepare(site.API.Basis(auth.With(t.Context(), &auth.Caller{Kind: auth.Open, Role: model.RoleAdmin}), &s), got)
		}
		if err == nil {
			return
		}
		var p *problem.Failure
		var m *model.Problem
		if !errors.As(err, &p) && !errors.As(err, &m) {
			t.Fatal(fmt.Errorf("no problem: %w", err))
		}
	})
}

// What a route takes no body for is refused by its name there, as everywhere; an empty
// object asks for nothing.
func TestRoutesWithoutBodies(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "x"}`)
	for _, path := range []string{"/orchestrator/start", "/queue/1/hold"} {
		if r := s.Do(http.MethodPost, path, `{"x": 1}`); r.Status != http.StatusUnprocessableEntity || !strings.Contains(string(r.Body), `"x"`) {
			t.Errorf("%s is answered %d %s", path, r.Status, r.Body)
		}
		for _, body := range []string{"", " ", "{}"} {
			if r := s.Do(http.MethodPost, path, body); r.Status != http.StatusOK {
				t.Errorf("%s with %q is answered %d %s", path, body, r.Status, r.Body)
			}
		}
	}
}

// Requests that ask for no route are counted under a name of their own.
func TestNoRouteIsCounted(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodGet, "/nowhere", "")
	text := string(s.Do(http.MethodGet, "/metrics", "").Body)
	if !strings.Contains(text, `requests_total{code="404",route="other"} 1`) || strings.Contains(text, `route=""`) {
		t.Errorf("%s", text)
	}
}
