package core

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// samples is the call for what only the leader knows.
var samples = call.Define[struct{}, agentwire.Samples](call.Bulk, "samples")

// AnswerCall has the API answer a call of other peers, from the moment on when it is complete: until then the
// caller learns that nothing was done, and tries again. The same holds once the API shuts down.
func AnswerCall[Q, A any](a *API, n call.Name[Q, A], do func(context.Context, model.PeerID, *Q) (*A, error)) {
	a.answers = append(a.answers, func(s *call.Server) {
		call.Handle(s, n, func(ctx context.Context, from model.PeerID, q *Q) (*A, error) {
			if a.Ending() {
				return nil, &call.RemoteError{Kind: call.KindUnknown, Text: "this peer is shutting down"}
			}
			return do(ctx, from, q)
		})
	})
}

// answerCalls starts to answer calls.
func (a *API) answerCalls() {
	for _, answer := range a.answers {
		answer(a.Peer.Answers)
	}
	forward.Serve(a.Peer.Answers, http.HandlerFunc(a.servePassed))
}

// servePassed answers a request that another peer has passed on. While the API ends, that peer tries again.
func (a *API) servePassed(w http.ResponseWriter, r *http.Request) {
	if !a.life.passed.begin() {
		problem.Usual(wire.CodeNoLeader).Write(w)
		return
	}
	defer a.life.passed.done()
	a.ServeHTTP(w, r)
}

// AskPeer makes a call at another peer.
func AskPeer[Q, A any](ctx context.Context, a *API, to peer.Server, n call.Name[Q, A], q *Q) (*A, error) {
	return forward.Ask(ctx, a.Peer.Calls, to, n, q)
}

// AtLeader makes a call at the leader, see [forward.AtLeader].
func AtLeader[Q, A any](
	ctx context.Context, a *API, n call.Name[Q, A], q *Q, own func(context.Context, model.PeerID, *Q) (*A, error),
) (*A, error) {
	here := func(ctx context.Context) (*A, error) { return own(ctx, a.Config.Self, q) }
	return forward.AtLeader(ctx, a.Peer.Members, a.Peer.Calls, n, q, here)
}

// passing counts the requests under way that other peers have passed on: they have no connection of the API's
// own that its end could wait for.
type passing struct {
	mu    sync.Mutex
	ended bool
	many  int
	none  chan struct{} // closed when none is under way any more, after end
}

// begin counts a request, unless no more are taken.
func (p *passing) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.many++
	}
	return !p.ended
}

func (p *passing) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.many--; p.ended && p.many == 0 {
		close(p.none)
	}
}

// end takes no more requests. The channel is closed once those under way are answered.
func (p *passing) end() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended, p.none = true, make(chan struct{})
		if p.many == 0 {
			close(p.none)
		}
	}
	return p.none
}

// fetchSamples asks the leader.
func (a *API) fetchSamples(ctx context.Context) (out agentwire.Samples, err error) {
	ctx, cancel := context.WithTimeout(ctx, samplesLimit)
	defer cancel()
	got, err := AtLeader(ctx, a, samples, &struct{}{}, a.ownSamples)
	if err != nil {
		return out, err
	}
	return *got, nil
}

// presentSamples returns what the leader knows, within a time that suits a request for metrics.
func (a *API) presentSamples() agentwire.Samples {
	ctx, cancel := context.WithTimeout(context.Background(), samplesLimit+100*time.Millisecond)
	defer cancel()
	return a.samples.Get(ctx)
}

// ownSamples returns what this peer knows as the leader.
func (a *API) ownSamples(context.Context, model.PeerID, *struct{}) (*agentwire.Samples, error) {
	st := a.Peer.Members.Status()
	out := &agentwire.Samples{Passes: st.Passes.Count, PassesTook: st.Passes.Took}
	for _, r := range a.Peer.Telemetry.All() {
		out.Readings = append(out.Readings, agentwire.Reading{Sample: r.Sample, Age: r.Age})
	}
	for node, why := range a.Peer.Telemetry.Refused() { // order-free: found by node
		out.Refused = append(out.Refused, agentwire.Refused{Node: node, Why: why})
	}
	return out, nil
}
