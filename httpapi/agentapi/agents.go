// Package agentapi answers the agents of nodes, in CBOR.
package agentapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/seal"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of requests of agents.
const (
	pollMost   = time.Minute
	maxSamples = 4 * model.MaxDevices
	tailLimit  = 2 * time.Second // for another peer to take a tail
)

// Routes adds the paths for agents.
func Routes(a *core.API) { agents{a}.route() }

// agents answers nodes' agents, in CBOR.
type agents struct{ api *core.API }

func (a agents) route() {
	rule := forward.Rule{MaxBody: agentwire.MaxBody}
	post(a, agentwire.PathRenew, &forward.Rule{MaxBody: rule.MaxBody, Once: true}, a.renew)
	post(a, agentwire.PathDesired, nil, a.desired)
	post(a, agentwire.PathReport, &rule, a.report)
	post(a, agentwire.PathInventory, &rule, a.inventory)
	post(a, agentwire.PathRegister, &rule, a.register)
	post(a, agentwire.PathBlob, nil, a.blob)
	post(a, agentwire.PathTail, nil, a.tail)
	post(a, agentwire.PathSilence, nil, a.silence)
	post(a, agentwire.PathCertificate, nil, a.certify)
	post(a, agentwire.PathTrust, &rule, a.trust)
	core.AnswerCall(a.api, copyTail, a.takeTail)
}

// post routes a path. Requests of a path with a rule go to the leader.
func post[Q, A any](a agents, path string, rule *forward.Rule, do func(context.Context, *Q) (*A, uint64, error)) {
	h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, index, err := question(w, r, do)
		if err != nil {
			problem.Of(a.api.Log, err).Write(w)
			return
		}
		data, err := agentwire.Encode(out)
		if err != nil {
			problem.Of(a.api.Log, err).Write(w)
			return
		}
		w.Header().Set("Content-Type", agentwire.MediaType)
		w.Header().Set(wire.HeaderIndex, strconv.FormatUint(index, 10))
		_, _ = w.Write(data) //nolint:gosec // CBOR under its own type, and no answer is a page; a client that has left needs none
	}))
	if rule != nil {
		h = core.Write{Handler: a.api.Forward.Wrap(a.api.Confirm(http.MethodPost, path, h), *rule)}
	}
	a.api.Router.Path(path).Methods(http.MethodPost).Handler(a.api.Around(http.MethodPost, path, h))
}

// question parses a request, calls its handler and writes the answer.
func question[Q, A any](w http.ResponseWriter, r *http.Request, do func(context.Context, *Q) (*A, uint64, error)) (*A, uint64, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(core.HeaderLimit)) // a reader without deadlines has no slow client
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, agentwire.MaxBody))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, 0, problem.Refuse(wire.CodeTooLarge, "the body is larger than the limit of this path")
	case err != nil:
		return nil, 0, problem.Refuse(wire.CodeMalformed, "the body broke off")
	}
	q := new(Q)
	if err := agentwire.Decode(data, q); err != nil {
		return nil, 0, problem.Refuse(wire.CodeMalformed, "the body cannot be decoded; the agent's version may be too old or too new")
	}
	return do(r.Context(), q)
}

func nodeActor(id model.NodeID) string { return "node:" + string(id) }

// addresses returns the API addresses of all peers.
func addresses(s *state.State) (out []string) {
	for _, p := range s.Peers.All() {
		if p.APIAddress != "" {
			out = append(out, p.APIAddress)
		}
	}
	return out
}

// have proposes a node's command. A refusal by the state, or of a malformed command, is an answer
// here.
func (a agents) have(ctx context.Context, node model.NodeID, body command.Body) (command.Result, uint64, error) {
	if err := core.ForNode(ctx, node); err != nil {
		return command.Result{}, 0, err
	}
	r, index, err := a.api.ProposeAs(ctx, nodeActor(node), "", body)
	if problem, is := errors.AsType[*model.Problem](err); is {
		return command.Result{Code: model.CodeInvalid, Detail: problem.Error()}, a.api.State().Index, nil
	}
	if _, is := errors.AsType[*problem.Failure](err); is && r.Code != model.CodeOK && r.Code != model.CodeNotBootstrapped &&
		r.Code != model.CodeClock {
		return r, index, nil
	}
	return r, index, err
}

// Reachable returns the address under which peers reach a node that registers, from the address
// that the node reports: another host than the one that the registration comes from is an error. A
// node that listens on loopback and registers from elsewhere cannot be reached: its address is
// empty. A node that registers from loopback is on the host of this peer, or behind a proxy there,
// and may report any address.
func Reachable(reported, from string) (string, error) {
	client, err := netip.ParseAddr(from)
	at, bad := netip.ParseAddrPort(reported)
	if err != nil || bad != nil { // nothing can be compared: the command checks the address
		return reported, nil
	}
	client = client.Unmap().WithZone("")
	switch ip := at.Addr().Unmap(); {
	case client.IsLoopback(), client == ip:
		return reported, nil
	case ip.IsLoopback():
		return "", nil
	}
	return "", fmt.Errorf("the node reports the address %s and registers from %s: set agent.listen to the address from which the agent reaches the peers",
		reported, client)
}

func (a agents) register(ctx context.Context, q *agentwire.Register) (*agentwire.Registered, uint64, error) {
	c := command.Register(*q)
	address, err := Reachable(c.Address, core.SenderOf(ctx))
	if err != nil {
		s := a.api.State()
		return &agentwire.Registered{Code: model.CodeInvalid, Detail: err.Error(), Index: s.Index}, s.Index, nil
	}
	c.Address = address
	r, index, err := a.have(ctx, q.Node, &c)
	if err != nil {
		return nil, 0, err
	}
	s := a.api.State()
	if other := r.Code == model.CodeIdentity || r.Code == model.CodeStaleEpoch; other && s.Nodes.Has(q.Node) {
		a.api.Peer.Telemetry.Refuse(q.Node, fmt.Sprintf("another agent, at %s, registers as %s: %s", cmp.Or(core.SenderOf(ctx), c.Address), q.Node, r.Detail))
	}
	return &agentwire.Registered{
		Code: r.Code, Detail: r.Detail, Incarnation: s.Settings().Incarnation, Epoch: r.Number, Index: index,
		Verdicts: r.Verdicts, Peers: addresses(&s),
	}, index, nil
}

func (a agents) renew(ctx context.Context, q *agentwire.Renew) (*agentwire.Renewed, uint64, error) {
	if err := core.ForNode(ctx, q.Node); err != nil {
		return nil, 0, err
	}
	code, err := a.api.Peer.Proposer.Renew(ctx, command.Renewal{Node: q.Node, Incarnation: q.Incarnation, Epoch: q.Epoch, Seq: q.Seq},
		q.Urgent)
	if err != nil {
		return nil, 0, problem.Unsure(err)
	}
	if n := len(q.Samples); code == model.CodeOK && n > 0 && n <= maxSamples { // only of a registered node
		a.api.Peer.Telemetry.Put(q.Node, q.Samples)
	}
	s := a.api.State()
	lease, _ := s.Leases.Get(q.Node)
	return &agentwire.Renewed{
		Code: code, Newest: lease.Seq, Index: s.Index, Peers: addresses(&s), Voters: a.api.Peer.Members.Status().Silence.Voters,
		Trust: s.Trust().Revision,
	}, s.Index, nil
}

// silence returns what this peer itself knows, and asks no other peer.
func (a agents) silence(context.Context, *struct{}) (*agentwire.Silence, uint64, error) {
	st := a.api.Peer.Members.Status()
	return &agentwire.Silence{Peer: a.api.Config.Self, For: st.Silence.For, Voters: st.Silence.Voters}, st.Applied, nil
}

func (a agents) report(ctx context.Context, q *agentwire.Report) (*agentwire.Reported, uint64, error) {
	c := command.Report(*q)
	return a.reported(ctx, q.Node, &c)
}

func (a agents) inventory(ctx context.Context, q *agentwire.Inventory) (*agentwire.Reported, uint64, error) {
	if err := core.ForNode(ctx, q.Node); err != nil {
		return nil, 0, err
	}
	c := command.Inventory(*q)
	// Agents repeat their inventory each minute, mostly unchanged. The repetition also corrects an
	// answer by a former leader, so the state is read without a barrier.
	if c.Validate() == nil {
		if s, err := a.api.Fresh(ctx, peer.Default); err == nil && apply.Redundant(&s, &c) {
			return &agentwire.Reported{Index: s.Index}, s.Index, nil
		}
	}
	return a.reported(ctx, q.Node, &c)
}

func (a agents) reported(ctx context.Context, node model.NodeID, c command.Body) (*agentwire.Reported, uint64, error) {
	r, index, err := a.have(ctx, node, c)
	if err != nil {
		return nil, 0, err
	}
	return &agentwire.Reported{Code: r.Code, Detail: r.Detail, Verdicts: r.Verdicts, Index: index}, index, nil
}

// desired answers once the plan of the node has changed, or the wait is over. A peer without
// contact to a leader sends the agent to another.
func (a agents) desired(ctx context.Context, q *agentwire.Poll) (*model.Desired, uint64, error) {
	if err := core.ForNode(ctx, q.Node); err != nil {
		return nil, 0, err
	}
	wait, cancel := context.WithTimeout(ctx, max(0, min(q.Wait, pollMost)))
	defer cancel()
	stop := context.AfterFunc(a.api.Context(), cancel)
	defer stop()
	level := peer.Default
	if q.Fresh {
		level = peer.Linearizable
		if err := a.led(); err != nil { // rather than wait for a leader
			return nil, 0, err
		}
	}
	s, err := a.api.Fresh(ctx, level)
	for err == nil && s.DesiredIndex(q.Node) <= q.After && wait.Err() == nil {
		select {
		case <-a.api.Changed(core.Topics(model.TopicNode, model.TopicJob, model.TopicFleet), s.Index):
		case <-wait.Done():
		}
		s, err = a.api.Fresh(ctx, peer.Default)
	}
	if err != nil {
		return nil, 0, err
	}
	if err := a.led(); err != nil {
		return nil, 0, err
	}
	d := s.Desired(q.Node)
	return &d, s.Index, nil
}

// led returns an error if this peer has no contact to a leader.
func (a agents) led() error {
	if leader, _ := a.api.Peer.Members.Leader(); leader.ID == "" {
		return problem.Usual(wire.CodeNoLeader)
	}
	return nil
}

func (a agents) blob(ctx context.Context, q *agentwire.Fetch) (*agentwire.Content, uint64, error) {
	if err := a.led(); err != nil {
		return nil, 0, err
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err == nil && !mayRead(ctx, &s, q.Hash) { // the agent may have its plan from a peer that is ahead of this one
		s, err = a.api.Fresh(ctx, peer.Linearizable)
	}
	switch {
	case err != nil:
		return nil, 0, err
	case !mayRead(ctx, &s, q.Hash):
		return nil, 0, problem.Refuse(wire.CodeNotFound, "no job of this node has a script or environment with this hash")
	}
	blob, _ := s.Blobs.Get(q.Hash)
	text, err := seal.Content(a.api.Config.Sealing, &s, q.Hash)
	if err != nil {
		a.api.Log.Warn("content_not_opened", "hash", q.Hash, "err", err)
		return nil, 0, err
	}
	return &agentwire.Content{Data: text, Opened: model.Sealed(blob.Data)}, s.Index, nil
}

// mayRead reports whether there is a text that the caller may read.
func mayRead(ctx context.Context, s *state.State, hash model.Hash) bool {
	c := auth.From(ctx)
	return s.Blobs.Has(hash) && (c.Kind != auth.Node || runs(s, model.NodeID(c.Name), hash))
}

// runs reports whether a text belongs to what is to be on a node: the agent of a node gets no others.
func runs(s *state.State, node model.NodeID, hash model.Hash) bool {
	desired := s.Desired(node)
	return slices.ContainsFunc(desired.Ranks, func(r model.Assignment) bool {
		return slices.Contains([]model.Hash{r.Script, r.Env, r.Stdin, r.SubmitEnv}, hash)
	})
}

// copyTail is the call by which a peer gives the others a copy of the end of a rank's output.
var copyTail = call.Define[agentwire.Tail, struct{}](call.Bulk, "tail")

// tail keeps the end of a rank's output, and sends it to the other peers.
func (a agents) tail(ctx context.Context, q *agentwire.Tail) (*struct{}, uint64, error) {
	if err := core.ForNode(ctx, q.Node); err != nil {
		return nil, 0, err
	}
	s, err := a.keepTail(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	a.copyTail(q)
	return &struct{}{}, s.Index, nil
}

// takeTail keeps the copy that another peer sends.
func (a agents) takeTail(ctx context.Context, _ model.PeerID, q *agentwire.Tail) (*struct{}, error) {
	_, err := a.keepTail(ctx, q)
	return &struct{}{}, err
}

// keepTail keeps the end of a rank's output. Only the rank's own node may send one.
func (a agents) keepTail(ctx context.Context, q *agentwire.Tail) (state.State, error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return s, err
	}
	if r, found := s.Ranks.Get(q.Rank); !found || r.Node != q.Node {
		return s, problem.Refuse(wire.CodeNotFound, "the node has no such rank")
	}
	if err := a.api.Peer.Tails.Put(q.Rank, soft.Tail{Stdout: q.Stdout, Stderr: q.Stderr}); err != nil {
		return s, &problem.Fault{Code: wire.CodeInternal, Err: err}
	}
	return s, nil
}

// copyTail sends a tail to the other peers, once; a peer that does not accept it goes without.
func (a agents) copyTail(q *agentwire.Tail) {
	ctx, cancel := context.WithTimeout(a.api.Context(), tailLimit)
	defer cancel()
	var copies sync.WaitGroup
	for _, to := range a.api.Peer.Members.Status().Servers {
		if to.ID == a.api.Config.Self {
			continue
		}
		copies.Go(func() {
			if _, err := core.AskPeer(ctx, a.api, to, copyTail, q); err != nil {
				a.api.Log.Debug("a peer did not accept the end of a rank's output", "to", to.ID, "rank", q.Rank, "err", err)
			}
		})
	}
	copies.Wait()
}
