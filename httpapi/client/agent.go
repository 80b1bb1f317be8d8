package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Agent calls a cluster as a node's agent. Each of its calls asks every peer at most once; the
// agent decides when to ask again. Its methods may be called from any goroutine.
type Agent struct {
	calls *caller

	trust atomic.Uint64 // newest revision of what the cluster trusts
	moved chan struct{} // receives when that rises
	led   func()        // see [Options]
}

// NewAgent returns an agent's client. It connects at the first call; its only error is an address
// that is not host:port.
func NewAgent(o Options) (*Agent, error) {
	calls, err := newCaller(o)
	if err != nil {
		return nil, err
	}
	a := &Agent{calls: calls, moved: make(chan struct{}, 1), led: o.Led}
	if a.led == nil {
		a.led = func() {}
	}
	return a, nil
}

// Close closes idle connections.
func (a *Agent) Close() { a.calls.http.CloseIdleConnections() }

// SetPeers replaces the addresses that are asked, with those in answers to registrations and
// renewals; an empty list changes nothing.
func (a *Agent) SetPeers(addresses []string) { a.calls.setPeers(addresses) }

// Register registers the node with the cluster, the first time or again.
func (a *Agent) Register(ctx context.Context, q *agentwire.Register) (*agentwire.Registered, error) {
	out := &agentwire.Registered{}
	err := a.call(ctx, &request{path: agentwire.PathRegister}, q, out)
	if err == nil {
		a.led()
	}
	return out, err
}

// SetHints replaces the addresses that are asked when none of the peers can be reached, at most eight: the other side must
// prove to be a peer there, too.
func (a *Agent) SetHints(addresses []string) { a.calls.setHints(addresses) }

// raceAfter is how long the answer to a renewal may take before a second peer gets the renewal, too.
const raceAfter = time.Second

// Renew sends one renewal to one peer. If that peer cannot be reached, or takes long, a second address gets the same renewal, so that one
// that hangs costs nothing; the leader counts a renewal once. A peer that answers with an error ends the call: the next renewal, which
// has another number, goes to the next peer.
func (a *Agent) Renew(ctx context.Context, q *agentwire.Renew) (*agentwire.Renewed, error) {
	out, err := a.race(ctx, q)
	if err == nil {
		a.led()
	}
	if err == nil && out.Trust > a.trust.Load() {
		a.trust.Store(out.Trust)
		select {
		case a.moved <- struct{}{}:
		default:
		}
	}
	return out, err
}

// renewal is the answer of one peer.
type renewal struct {
	answer *agentwire.Renewed
	err    error
}

// race sends a renewal to a peer, and to a second one if the first does not answer soon. An answer that accepts the renewal comes
// before one that has come earlier and does not: the second copy of a renewal may be refused because of the first.
func (a *Agent) race(ctx context.Context, q *agentwire.Renew) (*agentwire.Renewed, error) {
	const kind = agentwire.PathRenew
	first, second := a.calls.pair(kind)
	if first == "" {
		return nil, fmt.Errorf("%w: no address is known", ErrUnreachable)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, under, tried := make(chan renewal, 2), 0, 0
	send := func(address string) {
		under, tried = under+1, tried+1
		go func() {
			out := &agentwire.Renewed{}
			err := a.call(ctx, &request{path: kind, once: true, only: address}, q, out)
			answers <- renewal{out, err}
		}()
	}
	send(first)
	late := time.NewTimer(raceAfter)
	defer late.Stop()
	var best *renewal
	for under > 0 {
		select {
		case r := <-answers:
			under--
			_, answered := errors.AsType[*wire.Problem](r.err)
			if r.err == nil && r.answer.Code == model.CodeOK {
				a.calls.missed(kind, 0)
				return r.answer, nil
			}
			if best == nil || r.err == nil || best.err != nil && answered {
				best = &r
			}
			if r.err == nil || answered || ctx.Err() != nil {
				second = ""
			}
		case <-late.C:
		}
		if second != "" {
			a.calls.passOver(kind, first) // the next renewal begins with another peer
			send(second)
			second = ""
		}
	}
	if _, answered := errors.AsType[*wire.Problem](best.err); best.err == nil || answered {
		tried = 0
	}
	if a.calls.missed(kind, tried); best.err != nil {
		return nil, best.err
	}
	return best.answer, nil
}

// Desired returns the plan of the node, as soon as that has changed or the poll's wait is over.
func (a *Agent) Desired(ctx context.Context, q *agentwire.Poll) (*model.Desired, error) {
	out := &model.Desired{}
	return out, a.call(ctx, &request{path: agentwire.PathDesired, wait: max(0, min(q.Wait, time.Minute))}, q, out)
}

// Report reports the states of ranks and slots. Reports may be repeated.
func (a *Agent) Report(ctx context.Context, q *agentwire.Report) (*agentwire.Reported, error) {
	out := &agentwire.Reported{}
	return out, a.call(ctx, &request{path: agentwire.PathReport}, q, out)
}

// Inventory reports the node's GPUs.
func (a *Agent) Inventory(ctx context.Context, q *agentwire.Inventory) (*agentwire.Reported, error) {
	out := &agentwire.Reported{}
	return out, a.call(ctx, &request{path: agentwire.PathInventory}, q, out)
}

// Blob returns a script or an environment by its hash, and checks the content against the hash unless the content is sealed in
// the state: the peer that has opened the content has checked it then.
func (a *Agent) Blob(ctx context.Context, hash model.Hash) (string, error) {
	var out agentwire.Content
	if err := a.call(ctx, &request{path: agentwire.PathBlob}, &agentwire.Fetch{Hash: hash}, &out); err != nil {
		return "", err
	}
	if !out.Opened && sha256.Sum256([]byte(out.Data)) != hash {
		return "", fmt.Errorf("the content of %d bytes does not have the requested hash %x", len(out.Data), hash[:6])
	}
	return out.Data, nil
}

// Certify returns another certificate for the node of the present one.
func (a *Agent) Certify(ctx context.Context, q *agentwire.Certify) (*agentwire.Certified, error) {
	out := &agentwire.Certified{}
	return out, a.call(ctx, &request{path: agentwire.PathCertificate}, q, out)
}

// Trust returns the newest revision of what the cluster trusts, from answers to renewals of the lease, and a channel that
// receives after it has risen.
func (a *Agent) Trust() (revision uint64, moved <-chan struct{}) { return a.trust.Load(), a.moved }

// ConfirmTrust reports that the node uses a revision of what the cluster trusts.
func (a *Agent) ConfirmTrust(ctx context.Context, revision uint64) error {
	return a.call(ctx, &request{path: agentwire.PathTrust}, &agentwire.Trust{Revision: revision}, &struct{}{})
}

// Tail sends the end of a rank's output to the peers.
func (a *Agent) Tail(ctx context.Context, q *agentwire.Tail) error {
	return a.call(ctx, &request{path: agentwire.PathTail}, q, nil)
}

// Silence asks the peer at an address, and no other, whether there is a leader.
func (a *Agent) Silence(ctx context.Context, address string) (*agentwire.Silence, error) {
	out := &agentwire.Silence{}
	return out, a.call(ctx, &request{path: agentwire.PathSilence, once: true, only: address}, &struct{}{}, out)
}

// call sends a request in CBOR. Each path has a first peer of its own, since a peer that fails for
// one may work for another.
func (a *Agent) call(ctx context.Context, q *request, in, out any) error {
	data, err := agentwire.Encode(in)
	if err != nil {
		return err
	}
	q.kind, q.method, q.media, q.body = q.path, http.MethodPost, agentwire.MediaType, data
	answer, err := a.calls.do(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if out == nil {
		return nil
	}
	data, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err == nil {
		err = agentwire.Decode(data, out)
	}
	if err != nil {
		return fmt.Errorf("reading the answer to %s: %w", q.path, err)
	}
	return nil
}
