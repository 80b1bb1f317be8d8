// Package apitest opens the API of a peer for tests, over a cluster to which the test's commands are applied at once.
//
// New returns a Site: an API that listens on loopback. Do and Submit send requests, and a Reply fails the test unless it is the
// answer or the problem that must come. With changes the cluster below, as agents and the scheduler do. NewGuarded turns
// authentication on, NewFollower and NewSecured add a peer that passes requests on to the first one.
//
// Only tests and packages below test/ import this package.
// The tests of each package of the API stand next to it, as an external test package.
package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/oidc"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Wire is a peer's end of the wire to other peers.
type Wire struct {
	Answers *call.Server
	Calls   *call.Client
	Address string
}

// NewWire opens a peer port on loopback.
func NewWire(t testing.TB, self model.PeerID) Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answers := call.NewServer(nil)
	calls := call.NewClient(self, func(to peer.Server, timeout time.Duration) (net.Conn, error) {
		return net.DialTimeout("tcp", to.Address, timeout)
	})
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil || answers.Admit(conn, "") != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		_, _ = calls.Close(), answers.Close()
	})
	return Wire{answers, calls, listener.Addr().String()}
}

// Mates makes the site of p1 call another site p2.
func (s *Site) Mates(other *Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Mate = other.Wired.Address
}

// Site is an API over one peer, listening.
type Site struct {
	*Peer

	T     testing.TB
	API   *core.API
	URL   string
	Wired Wire
	Ring  *sealing.Ring // by which the API seals
	Ahead *atomic.Int64 // by how much the clock of what is kept of agents is ahead, in nanoseconds
}

// TakeOver has the API take an identity provider, or none, and keys from now on.
func (s *Site) TakeOver(provider *oidc.Settings, keys auth.Keys) {
	s.API.TakeOver(core.Terms{OIDC: provider, Keys: keys})
}

// Opened returns a text of the state, which must be sealed there.
func (s *Site) Opened(text string) string {
	s.T.Helper()
	if text != "" && !model.Sealed(text) {
		s.T.Errorf("%.60q is in the state as it is", text)
	}
	out, err := s.Ring.Open(text)
	if err != nil {
		s.T.Error(err)
	}
	return out
}

// NewAPI returns the API of a peer as a program has it.
func NewAPI(c core.Config) *core.API { return httpapi.New(c) }

// Parts returns the parts of a peer whose records, telemetry and output are empty.
func Parts(t testing.TB, peer interface {
	port.Proposer
	port.Reader
	port.Members
}, wired Wire,
) core.Peer {
	t.Helper()
	tails, err := soft.OpenTails(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	still := func() time.Duration { return 0 }
	return core.Peer{
		Proposer: peer, Reader: peer, Members: peer,
		Telemetry: soft.NewBoard(still), Tails: tails, Beats: soft.NewBeats(still), Feed: soft.NewFeed(1 << 20),
		Archive: &Shelf{}, Refusals: &Refusals{}, Reads: &Refusals{}, History: &history.Ring{}, Answers: wired.Answers, Calls: wired.Calls,
	}
}

// New returns the API of a peer p1, which leads, listening on loopback.
func New(t testing.TB) *Site {
	t.Helper()
	peer := NewPeer(t)
	ring, err := sealing.NewRing(sealing.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	began, ahead, wired := time.Now(), new(atomic.Int64), NewWire(t, "p1")
	boot := func() time.Duration { return time.Since(began) + time.Duration(ahead.Load()) }
	parts := Parts(t, peer, wired)
	parts.Feed, parts.Telemetry, parts.Beats = peer.Feed, soft.NewBoard(boot), soft.NewBeats(boot)
	api := httpapi.New(core.Config{
		Self: "p1", Version: "test", Sealing: ring, Dial: (&net.Dialer{}).DialContext,
		// the host of httptest's requests
		Now: func() time.Time { return peer.Now() }, Expires: func() time.Time { return time.Unix(2_000_000_000, 0) }, Settings: switches{},
		Own: []string{"example.com:80"}, Peer: parts,
	})
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		if err := api.Shutdown(t.Context()); err != nil {
			t.Log(err)
		}
		server.Close()
	})
	return &Site{peer, t, api, server.URL, wired, ring, ahead}
}

// Reply is an answer.
type Reply struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// Recorded returns the answer that a recorder has.
func Recorded(t testing.TB, w *httptest.ResponseRecorder) *Reply {
	return &Reply{t, w.Code, w.Header(), w.Body.Bytes()}
}

// Do asks with a body, unless it is empty, and headers in pairs.
func (s *Site) Do(method, path, body string, headers ...string) *Reply {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return &Reply{s.T, got.StatusCode, got.Header, data}
}

// Submit asks for a job.
func (s *Site) Submit(body string) *Reply {
	s.T.Helper()
	return s.Do(http.MethodPost, "/queue/submit", body)
}

// Into decodes a 200.
func (r *Reply) Into(out any) {
	r.t.Helper()
	if r.Status != http.StatusOK {
		r.t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		r.t.Fatalf("%v: %s", err, r.Body)
	}
}

// Problem is the problem that must have come, with a status and a code.
func (r *Reply) Problem(status int, code string) wire.Problem {
	r.t.Helper()
	var p wire.Problem
	if r.Status != status || r.Header.Get("Content-Type") != wire.ProblemType || json.Unmarshal(r.Body, &p) != nil ||
		p.Code != code || p.Status != status || p.Title == "" {
		r.t.Errorf("got %d %s %s, want %d %s", r.Status, r.Header.Get("Content-Type"), r.Body, status, code)
	}
	return p
}

// About fails unless the problem names the field.
func (r *Reply) About(field string) {
	r.t.Helper()
	p := r.Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	if len(p.Errors) != 1 || p.Errors[0].Field != field {
		r.t.Errorf("the problem is about %+v, want %s", p.Errors, field)
	}
}
