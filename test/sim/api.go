package sim

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// The calls that a peer takes from agents, users and other peers.
const (
	methodPropose uint8 = 1
	methodRenew   uint8 = 2
	methodDesired uint8 = 3
)

// Answers that are no answers.
const (
	codeNotDone = raftnet.FirstOwnCode + iota // nothing was proposed: try elsewhere
	codeUnknown                               // it may or may not have been carried out
)

// forwardedBy leads a request that has had its one hop, first one that has not.
const (
	first       = 0
	forwardedBy = 1
)

// proposal is the answer to methodPropose, whose request is an encoded entry.
type proposal struct {
	Result      command.Result
	Index       uint64
	Incarnation model.Incarnation
}

// renewal is the answer to methodRenew.
type renewal struct {
	Code  model.Code
	Index uint64 // of a state that holds the renewal
}

// poll asks for what is desired on a node, beyond an index.
type poll struct {
	Node  model.NodeID
	After uint64
	Wait  time.Duration
	Fresh bool // nothing acknowledged before the poll may be missing
}

// api is the way in to one peer.
type api struct {
	peer   *cluster.Peer
	self   string // the machine
	client *raftnet.Client
	server *raftnet.Server
	mux    *raftnet.Mux
	grants *atomic.Bool // answers renewals without the log, as no peer may
	stale  bool         // answers polls although it hears no leader
}

func apiAddress(machine string) string  { return machine + ":8000" }
func raftAddress(machine string) string { return machine + ":7000" }

// serve opens the way in.
func serve(network raftnet.Network, machine string, p *cluster.Peer, grants *atomic.Bool, stale bool) (*api, error) {
	a := &api{
		peer: p, self: machine, grants: grants, stale: stale, server: raftnet.NewServer(nil),
		client: raftnet.NewClient(network, apiAddress(machine)),
	}
	a.server.Handle(methodPropose, a.propose)
	a.server.Handle(methodRenew, a.renew)
	a.server.Handle(methodDesired, a.desired)
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: network, Bind: apiAddress(machine), Calls: a.server})
	if err != nil {
		return nil, errors.Join(err, a.client.Close(), a.server.Close())
	}
	a.mux = mux
	return a, nil
}

// close ends the way in and every call under way.
func (a *api) close() {
	_ = a.mux.Close()
	_ = a.client.Close()
	_ = a.server.Close()
}

// answer turns the peer's errors into codes.
func failure(err error) error {
	code := codeUnknown
	notLeader := new(cluster.NotLeaderError)
	for _, sure := range []error{
		cluster.ErrNoLeader, cluster.ErrOverloaded, cluster.ErrNoSpace, cluster.ErrDiverged, cluster.ErrBehind, raftnet.ErrNotSent,
	} {
		if errors.Is(err, sure) || errors.As(err, &notLeader) {
			code = codeNotDone
		}
	}
	if errors.Is(err, cluster.ErrOutcomeUnknown) {
		code = codeUnknown
	}
	return &raftnet.RemoteError{Code: code, Text: err.Error()}
}

// forward passes a request on to the leader, if err says that this peer is not
// the one and the request has not been passed on before.
func (a *api) forward(ctx context.Context, err error, method uint8, body []byte) ([]byte, error) {
	other := new(cluster.NotLeaderError)
	if !errors.As(err, &other) || body[0] == forwardedBy || string(other.Leader) == a.self {
		return nil, failure(err)
	}
	again := append([]byte{forwardedBy}, body[1:]...)
	return a.client.Call(ctx, apiAddress(string(other.Leader)), method, again)
}

// propose has the command of an encoded entry carried out.
func (a *api) propose(ctx context.Context, _ string, body []byte) ([]byte, error) {
	entry, err := command.Decode(body[1:])
	if err != nil {
		return nil, err
	}
	results, index, err := a.peer.Propose(ctx, entry.Commands...)
	if err != nil {
		return a.forward(ctx, err, methodPropose, body)
	}
	s := a.peer.State()
	return cbor.Marshal(proposal{results[0], index, s.Settings().Incarnation})
}

func (a *api) renew(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var r command.Renewal
	if err := cbor.Unmarshal(body[1:], &r); err != nil {
		return nil, err
	}
	if a.grants.Load() {
		return cbor.Marshal(renewal{Code: model.CodeOK})
	}
	code, err := a.peer.Renew(ctx, r)
	if err != nil {
		return a.forward(ctx, err, methodRenew, body)
	}
	s := a.peer.State()
	return cbor.Marshal(renewal{code, s.Index})
}

// desired answers once what is desired on the node has changed, or the wait is
// over.
func (a *api) desired(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var q poll
	if err := cbor.Unmarshal(body[1:], &q); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	level := cluster.Default
	if q.Fresh {
		level = cluster.Linearizable
	}
	s, err := a.peer.Read(ctx, level, 0)
	for err == nil && s.DesiredIndex(q.Node) <= q.After && wait.Err() == nil {
		select {
		case <-a.peer.Changed(model.TopicSet(0).With(model.TopicNode).With(model.TopicJob).With(model.TopicFleet), s.Index):
		case <-wait.Done():
		}
		s, err = a.peer.Read(ctx, cluster.Default, 0)
	}
	if err == nil && !a.stale && a.peer.Status().Leader.ID == "" {
		err = cluster.ErrNoLeader // somebody else may know better
	}
	if err != nil {
		return nil, failure(err)
	}
	return cbor.Marshal(s.Desired(q.Node))
}

// caller calls the cluster by way of any peer: one for as long as it answers,
// then the next. Each method has a turn of its own, since a peer that is no good
// for one may be for another.
type caller struct {
	client *raftnet.Client
	peers  func() []string // addresses
	turns  [methodDesired + 1]int
}

// call asks once, by way of the peer whose turn it is.
func (c *caller) call(ctx context.Context, turn int, method uint8, body []byte) ([]byte, error) {
	peers := c.peers()
	return c.client.Call(ctx, peers[turn%len(peers)], method, append([]byte{first}, body...))
}

// encodeOne is the request of methodPropose.
func encodeOne(c command.Command) ([]byte, error) {
	return command.Encode(0, "", []command.Command{c})
}
