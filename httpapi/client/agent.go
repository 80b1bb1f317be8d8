package client

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
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

// Renew sends one renewal, once, to one peer. If that fails the next renewal, which
// has another number, goes to the next peer.
func (a *Agent) Renew(ctx context.Context, q *agentwire.Renew) (*agentwire.Renewed, error) {
	out := &agentwire.Renewed{}
	err := a.call(ctx, &request{path: agentwire.PathRenew, once: true}, q, out)
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
