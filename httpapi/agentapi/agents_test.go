package agentapi_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// day is an agent's on a site of its own, from its registration on.
type day struct {
	*apitest.Site

	a   *client.Agent
	reg *agentwire.Registered
}

func newDay(t *testing.T) *day {
	t.Helper()
	s := apitest.New(t)
	a := s.Agent()
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: "127.0.0.1:7000", APIAddress: "127.0.0.1:9", Level: 1}})
	})
	reg, err := a.Register(t.Context(), apitest.Registration())
	if err != nil || reg.Code != model.CodeOK || reg.Epoch == 0 || reg.Incarnation.IsZero() || len(reg.Peers) != 1 || reg.Index == 0 {
		t.Fatalf("registered as %+v: %v", reg, err)
	}
	return &day{s, a, reg}
}

// A registration that was overtaken is answered with the epoch that it has to follow.
func TestAnAgentRegistersInTurn(t *testing.T) {
	d := newDay(t)
	again := apitest.Registration()
	again.Follows = d.reg.Epoch + 3
	got, err := d.a.Register(t.Context(), again)
	if err != nil || got.Code != model.CodeStaleEpoch || got.Epoch != d.reg.Epoch {
		t.Fatalf("out of turn: %+v: %v", got, err)
	}
	again.Follows = got.Epoch
	if got, err = d.a.Register(t.Context(), again); err != nil || got.Code != model.CodeOK || got.Epoch != d.reg.Epoch+1 {
		t.Errorf("in turn: %+v: %v", got, err)
	}
}

// A machine that has a copy of a node's data folder registers as the node, is refused, and tries again.
func TestTwoAgentsOfOneNodeAreShown(t *testing.T) {
	d := newDay(t)
	copied := apitest.Registration()
	copied.Machine = "m2"
	for range 3 {
		if got, err := d.a.Register(t.Context(), copied); err != nil || got.Code != model.CodeIdentity {
			t.Fatalf("another machine: %+v: %v", got, err)
		}
		d.Ahead.Add(int64(6 * time.Second))
	}
	var one wire.NodeDetail
	var all wire.Nodes
	var status wire.GPUStatus
	d.Do(http.MethodGet, "/nodes/n1", "").Into(&one)
	d.Do(http.MethodGet, "/nodes", "").Into(&all)
	d.Do(http.MethodGet, "/gpu/status", "").Into(&status)
	for _, n := range []wire.Node{one.Node, all.Nodes[0], status.Nodes[0]} {
		if n.Health != wire.HealthTwoAgents || !strings.Contains(n.Reason, "another agent, at 127.0.0.1, registers as n1: node n1 is machine m1, this is m2") {
			t.Errorf("%s, %s", n.Health, n.Reason)
		}
	}
}

// A renewal renews, and brings what the GPUs measure.
func TestAnAgentRenews(t *testing.T) {
	d := newDay(t)
	sample := model.Sample{GPU: "GPU-1", Utilization: 60, MemoryUsedMB: 2048, Temperature: 50, PowerWatts: 300}
	renew := &agentwire.Renew{Node: "n1", Incarnation: d.reg.Incarnation, Epoch: d.reg.Epoch, Seq: 1, Samples: []model.Sample{sample}}
	if got, err := d.a.Renew(t.Context(), renew); err != nil || got.Code != model.CodeOK || got.Newest != 1 || len(got.Peers) != 1 {
		t.Errorf("renewed: %+v: %v", got, err)
	}
	if got, err := d.a.Renew(t.Context(), renew); err != nil || got.Code != model.CodeStaleSeq || got.Newest != 1 {
		t.Errorf("renewed with an old number: %+v: %v", got, err)
	}
	var status wire.GPUStatus
	d.Do(http.MethodGet, "/gpu/status", "").Into(&status)
	if g := status.Nodes[0].GPUs[0]; g.UtilizationPercent != 60 || g.MemoryUsedGB != 2 || g.AgeSeconds == nil ||
		status.ClusterStatus.BusyPercent != 60 {
		t.Errorf("measured: %+v", g)
	}
}

// assigned has a job placed on the agent's node while it polls.
func (d *day) assigned(t *testing.T) *model.Assignment {
	t.Helper()
	set, err := d.a.Desired(t.Context(), &agentwire.Poll{Node: "n1"})
	if err != nil || set.Epoch != d.reg.Epoch || len(set.Ranks) != 0 {
		t.Fatalf("desired: %+v: %v", set, err)
	}
	d.Submit(`{"script":"#!/bin/sh\necho hello","command":"arg","env":{"B":"2","A":"1"}}`).Into(new(wire.Submitted))
	polled := make(chan *model.Desired, 1)
	go func() {
		got, err := d.a.Desired(t.Context(), &agentwire.Poll{Node: "n1", After: set.Index, Wait: 20 * time.Second})
		if err != nil {
			t.Error(err)
		}
		polled <- got
	}()
	d.Waited(t)
	d.With(func(c *statetest.Cluster) { c.Place(1) })
	set = <-polled
	if len(set.Ranks) != 1 || set.Ranks[0].GPUs[0] != "GPU-1" {
		t.Fatalf("desired: %+v", set)
	}
	return &set.Ranks[0]
}

// An agent learns of a job as soon as it is placed, and fetches what it runs.
func TestAnAgentGetsAJob(t *testing.T) {
	d := newDay(t)
	rank := d.assigned(t)
	if script, err := d.a.Blob(t.Context(), rank.Script); err != nil || script != "#!/bin/sh\necho hello" {
		t.Errorf("the script is %q: %v", script, err)
	}
	if env, err := d.a.Blob(t.Context(), rank.Env); err != nil || env != "A=1\x00B=2" {
		t.Errorf("the environment is %q: %v", env, err)
	}
	var problem *wire.Problem
	if _, err := d.a.Blob(t.Context(), model.Hash{1}); !errors.As(err, &problem) || problem.Code != wire.CodeNotFound {
		t.Errorf("an unknown hash: %v", err)
	}
}

// An agent reports; what the state refuses is an answer with its code.
func TestAnAgentReports(t *testing.T) {
	d := newDay(t)
	rank := d.assigned(t)
	report := &agentwire.Report{Node: "n1", Incarnation: d.reg.Incarnation, Epoch: d.reg.Epoch, Reports: []model.Progress{
		{Rank: rank.Rank, Phase: model.RankRunning}, {Rank: model.RankKey{Job: 99, N: 1}, Phase: model.RankRunning},
	}}
	got, err := d.a.Report(t.Context(), report)
	if err != nil || got.Code != model.CodeOK || got.Verdicts[0] != model.CodeOK || got.Verdicts[1] != model.CodeNotFound {
		t.Errorf("reported: %+v: %v", got, err)
	}
	report.Epoch++
	if got, err := d.a.Report(t.Context(), report); err != nil || got.Code != model.CodeStaleEpoch || got.Detail == "" {
		t.Errorf("reported as another: %+v: %v", got, err)
	}
	inventory := &agentwire.Inventory{Node: "n1", Incarnation: d.reg.Incarnation, Epoch: d.reg.Epoch, Devices: apitest.Registration().Devices}
	if got, err := d.a.Inventory(t.Context(), inventory); err != nil || got.Code != model.CodeOK {
		t.Errorf("inventory: %+v: %v", got, err)
	}
	before := d.State().Index
	if got, err := d.a.Inventory(t.Context(), inventory); err != nil || got.Code != model.CodeOK || d.State().Index != before {
		t.Errorf("an inventory without news: %+v: %v, and the log moved from %d to %d", got, err, before, d.State().Index)
	}
	inventory.Trouble = "the disk is full"
	if got, err := d.a.Inventory(t.Context(), inventory); err != nil || got.Code != model.CodeOK || d.State().Index == before {
		t.Errorf("an inventory with news: %+v: %v, and the log stayed at %d", got, err, before)
	}
}

// The end of a rank's output is kept, and served while its node is away.
func TestAnAgentLeavesTails(t *testing.T) {
	d := newDay(t)
	rank := d.assigned(t)
	if err := d.a.Tail(t.Context(), &agentwire.Tail{Node: "n1", Rank: rank.Rank, Stdout: []byte("one\ntwo\nthree\n"), Stderr: []byte("bad")}); err != nil {
		t.Error(err)
	}
	var problem *wire.Problem
	if err := d.a.Tail(t.Context(), &agentwire.Tail{Node: "n2", Rank: rank.Rank}); !errors.As(err, &problem) || problem.Code != wire.CodeNotFound {
		t.Errorf("a tail of another node's rank: %v", err)
	}
	got := d.Do(http.MethodGet, "/jobs/1/logs?tail=2", "")
	if string(got.Body) != "two\nthree\n" || got.Header.Get(wire.HeaderSource) != "tail" {
		t.Errorf("the log is %q %v", got.Body, got.Header)
	}
	if got := d.Do(http.MethodGet, "/jobs/1/logs?stream=stderr", ""); string(got.Body) != "bad" {
		t.Errorf("the log is %q", got.Body)
	}
}

// What the leader's board has is told by followers, too; a tail that one peer was
// given, all keep.
func TestPeersShareWhatIsSoft(t *testing.T) {
	d, other := newDay(t), apitest.New(t)
	rank := d.assigned(t).Rank
	sample := model.Sample{GPU: "GPU-1", Utilization: 60}
	renew := &agentwire.Renew{Node: "n1", Incarnation: d.reg.Incarnation, Epoch: d.reg.Epoch, Seq: 1, Samples: []model.Sample{sample}}
	if _, err := d.a.Renew(t.Context(), renew); err != nil {
		t.Fatal(err)
	}
	d.Mates(other)
	other.With(func(c *statetest.Cluster) { *c = *d.Cluster }) // it has applied the same log
	l := d.KnownLeader
	l.ID, l.Self, l.Address = "p0", false, d.Wired.Address
	other.Lead(l)
	var status wire.GPUStatus
	other.Do(http.MethodGet, "/gpu/status", "").Into(&status)
	if g := status.Nodes[0].GPUs[0]; g.UtilizationPercent != 60 {
		t.Errorf("a follower tells %+v", g)
	}
	if err := d.a.Tail(t.Context(), &agentwire.Tail{Node: "n1", Rank: rank, Stdout: []byte("last words")}); err != nil {
		t.Fatal(err)
	}
	if got, found := other.API.Peer.Tails.Get(rank); !found || string(got.Stdout) != "last words" {
		t.Errorf("the other peer keeps %q", got.Stdout)
	}
}

func TestAgentsThatSendNonsense(t *testing.T) {
	s := apitest.New(t)
	for _, path := range []string{
		agentwire.PathRegister, agentwire.PathRenew, agentwire.PathDesired, agentwire.PathReport, agentwire.PathInventory,
		agentwire.PathBlob, agentwire.PathTail,
	} {
		for _, body := range []string{"", "{}", "\xff\xff", strings.Repeat("\x81", 1000), "\xa1\x01\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"} {
			s.Do(http.MethodPost, path, body).Problem(http.StatusBadRequest, wire.CodeMalformed)
		}
		s.Do(http.MethodPost, path, string(bytes.Repeat([]byte{0x40}, agentwire.MaxBody+1))).Problem(http.StatusRequestEntityTooLarge,
			wire.CodeTooLarge)
		s.Do(http.MethodGet, path, "").Problem(http.StatusMethodNotAllowed, wire.CodeMethod)
	}
	bad := apitest.Registration()
	bad.Machine = ""
	if got, err := s.Agent().Register(t.Context(), bad); err != nil || got.Code != model.CodeInvalid || got.Detail == "" {
		t.Errorf("registered without a machine: %+v: %v", got, err)
	}
}

// A peer that hears no leader sends polls elsewhere, and does not know of renewals.
func TestAgentsOfAPeerWithoutALeader(t *testing.T) {
	s := apitest.New(t)
	a := s.Agent()
	s.FailWith(&problem.Fault{Code: wire.CodeOutcomeUnknown, Err: errors.New("x")})
	var refusal *wire.Problem
	if _, err := a.Renew(t.Context(), &agentwire.Renew{Node: "n1", Seq: 1}); !errors.As(err, &refusal) || refusal.Code != wire.CodeOutcomeUnknown {
		t.Errorf("a renewal without an outcome: %v", err)
	}
	leader := s.KnownLeader
	leader.ID, leader.Self = "", false
	s.Lead(leader)
	if _, err := a.Desired(t.Context(), &agentwire.Poll{Node: "n1"}); !errors.As(err, &refusal) || refusal.Code != wire.CodeNoLeader {
		t.Errorf("a poll without a leader: %v", err)
	}
	if _, err := a.Blob(t.Context(), model.Hash{1}); !errors.As(err, &refusal) || refusal.Code != wire.CodeNoLeader {
		t.Errorf("a text without a leader: %v", err)
	}
	s.Behind = &problem.Fault{Code: wire.CodeBehind, Err: errors.New("waited for a leader")}
	if _, err := a.Desired(t.Context(), &agentwire.Poll{Node: "n1", Fresh: true}); !errors.As(err, &refusal) || refusal.Code != wire.CodeNoLeader {
		t.Errorf("a poll that must be new, without a leader: %v", err)
	}
	if _, err := a.Renew(t.Context(), &agentwire.Renew{Node: "n1", Seq: 2}); !errors.As(err, &refusal) || refusal.Code != wire.CodeNoLeader {
		t.Errorf("a renewal without a leader: %v", err)
	}
}
