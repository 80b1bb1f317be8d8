package httpapi

import (
	"bytes"
	"context"
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
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// one is a peer without Raft: what it is asked to propose is applied at once.
type one struct {
	mu      sync.Mutex
	cluster *statetest.Cluster
	waiting []waiter
	fail    error          // that proposals fail with
	behind  error          // that reads fail with
	lacks   uint64         // entries of the cluster's log
	voters  []model.PeerID // nil: p1, and p2, which is down
	aside   model.PeerID   // a voter that reports, and takes no part
	late    int            // over 0: this peer leads since a second, and the voter takes part from that many looks on
	id      string         // of the cluster
	first   string         // address of the peer port of p1
	mate    string         // and of p2
	leader  forward.Leader
	until   context.Context
	end     context.CancelFunc
	renewed []command.Renewal
	heard   []model.JobID // of clients of attached jobs
	moved   []string      // changes of the membership

	programs func(*upgrade.Cluster) // changes what is known of them

	feed *soft.Feed
}

// Hear notes a sign of life of an attached job's client.
func (p *one) Hear(job model.JobID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, job)
}

type waiter struct {
	set   model.TopicSet
	after uint64
	ch    chan struct{}
}

func newOne(tb statetest.TB) *one {
	p := &one{id: "c", cluster: statetest.New(tb), leader: forward.Leader{ID: "p1", Self: true, Address: "127.0.0.1:1"}, first: "127.0.0.1:7001", mate: "127.0.0.1:7002"}
	p.cluster.Unchecked = true
	p.feed = soft.NewFeed(1 << 20)
	p.cluster.Told = p.feed.Put
	p.until, p.end = context.WithCancel(context.Background())
	return p
}

// with changes the cluster and wakes waiting readers.
func (p *one) with(change func(*statetest.Cluster)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.cluster)
	p.wake()
}

func (p *one) wake() {
	var left []waiter
	for _, w := range p.waiting {
		if core.LastOf(&p.cluster.State, w.set) > w.after {
			close(w.ch)
		} else {
			left = append(left, w)
		}
	}
	p.waiting = left
}

func (p *one) failWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

func (p *one) lead(l forward.Leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = l
	p.end()
	p.until, p.end = context.WithCancel(context.Background())
}

func (p *one) Propose(_ context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return nil, 0, p.fail
	}
	results := p.cluster.Entry(commands...)
	p.wake()
	return results, p.cluster.State.Index, nil
}

func (p *one) Renew(_ context.Context, r command.Renewal, _ bool) (model.Code, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return 0, p.fail
	}
	p.renewed = append(p.renewed, r)
	results := p.cluster.Entry(p.cluster.Command(&command.Renew{Renewals: []command.Renewal{r}}))
	p.wake()
	return results[0].Verdicts[0], nil
}

func (p *one) State() state.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cluster.State
}

func (p *one) Read(context.Context, peer.Consistency) (state.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cluster.State, p.behind
}

func (p *one) Changed(set model.TopicSet, after uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan struct{})
	p.waiting = append(p.waiting, waiter{set, after, ch})
	p.wake()
	return ch
}

func (p *one) Leader() (forward.Leader, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leader, p.until
}

func (p *one) Saw(uint64) {}

func (p *one) Clocks() peer.Clocks {
	out := peer.Clocks{Ahead: map[model.PeerID]time.Duration{"p1": 0}, Agree: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.voters {
		out.Ahead[id] = 0
	}
	return out
}

// votersNow returns the voters: p1 and p2, unless a test has others, which are all up. p.mu is held.
func (p *one) votersNow() []model.PeerID {
	if p.voters != nil {
		return p.voters
	}
	return []model.PeerID{"p1", "p2"}
}

// Programs returns what p1 knows of two peers; tests change that.
func (p *one) Programs() upgrade.Cluster {
	s := p.State()
	p.mu.Lock()
	defer p.mu.Unlock()
	set := s.Settings()
	out := upgrade.Cluster{Level: set.Level, Now: set.Clock, Peers: []upgrade.Peer{
		{ID: "p1", Level: command.Level, Version: "v1.1.0", Heard: true, CaughtUp: true, Settled: true, Leads: p.leader.Self, Votes: true},
		{ID: "p2", Level: command.Level, Version: "v1.1.0", Heard: true, CaughtUp: true, Settled: true, Votes: true},
	}}
	if p.leader.Self {
		out.Leading = time.Minute
	}
	if p.programs != nil {
		p.programs(&out)
	}
	return out
}

func (p *one) Remove(_ context.Context, id model.PeerID) error { return p.changes("remove", id) }

func (p *one) Promote(_ context.Context, id model.PeerID) error { return p.changes("promote", id) }

func (p *one) Transfer(_ context.Context, to model.PeerID) error { return p.changes("transfer", to) }

// changes notes a change of the membership.
func (p *one) changes(what string, id model.PeerID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = append(p.moved, what+" "+string(id))
	return nil
}

// wired is a peer's end of the wire to other peers.
type wired struct {
	answers *call.Server
	calls   *call.Client
	address string
}

// newWired opens a peer port on loopback.
func newWired(t testing.TB, self model.PeerID) wired {
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
	return wired{answers, calls, listener.Addr().String()}
}

// mates makes the site of p1 call another site p2.
func (s *site) mates(other *site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mate = other.wired.address
}

// site is an API over one peer, listening.
type site struct {
	*one

	t     testing.TB
	api   *core.API
	url   string
	wired wired
	ring  *sealing.Ring // by which the API seals
	ahead *atomic.Int64 // by how much the clock of what is kept of agents is ahead, in nanoseconds
}

// opened returns a text of the state, which must be sealed there.
func (s *site) opened(text string) string {
	s.t.Helper()
	if text != "" && !model.Sealed(text) {
		s.t.Errorf("%.60q is in the state as it is", text)
	}
	out, err := s.ring.Open(text)
	if err != nil {
		s.t.Error(err)
	}
	return out
}

func newSite(t testing.TB) *site {
	t.Helper()
	peer := newOne(t)
	tails, err := soft.OpenTails(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := sealing.NewRing(sealing.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	began, ahead, port := time.Now(), new(atomic.Int64), newWired(t, "p1")
	api := New(core.Config{
		Self: "p1", Version: "test", Sealing: ring, Dial: (&net.Dialer{}).DialContext,
		Now: func() time.Time { return peer.now() }, Expires: func() time.Time { return time.Unix(2_000_000_000, 0) }, Settings: switches{}, Own: []string{"example.com:80"}, // the host of httptest's requests
		Peer: core.Peer{
			Proposer: peer, Reader: peer, Members: peer, Tails: tails, Beats: peer, Feed: peer.feed, Programs: peer, Answers: port.answers, Calls: port.calls,
			Telemetry: soft.NewBoard(func() time.Duration { return time.Since(began) + time.Duration(ahead.Load()) }),
		},
	})
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		if err := api.Shutdown(t.Context()); err != nil {
			t.Log(err)
		}
		server.Close()
	})
	return &site{peer, t, api, server.URL, port, ring, ahead}
}

// now is the cluster's time: tests are not older than the state that they make.
func (p *one) now() time.Time {
	s := p.State()
	return s.Settings().Clock.Time()
}

// reply is an answer.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do asks with a body, unless it is empty, and headers in pairs.
func (s *site) do(method, path, body string, headers ...string) *reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reply{s.t, got.StatusCode, got.Header, data}
}

func (s *site) submit(body string) *reply {
	s.t.Helper()
	return s.do(http.MethodPost, "/queue/submit", body)
}

// into decodes a 200.
func (r *reply) into(out any) {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", r.status, r.body)
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
}

// problem is the problem that must have come, with a status and a code.
func (r *reply) problem(status int, code string) wire.Problem {
	r.t.Helper()
	var p wire.Problem
	if r.status != status || r.header.Get("Content-Type") != wire.ProblemType || json.Unmarshal(r.body, &p) != nil ||
		p.Code != code || p.Status != status || p.Title == "" {
		r.t.Errorf("got %d %s %s, want %d %s", r.status, r.header.Get("Content-Type"), r.body, status, code)
	}
	return p
}

// about fails unless the problem names the field.
func (r *reply) about(field string) {
	r.t.Helper()
	p := r.problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	if len(p.Errors) != 1 || p.Errors[0].Field != field {
		r.t.Errorf("the problem is about %+v, want %s", p.Errors, field)
	}
}
