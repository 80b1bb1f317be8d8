package client

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func agent(t *testing.T, addresses ...string) *Agent {
	t.Helper()
	a, err := NewAgent(Options{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func encoded(t *testing.T, v any) http.HandlerFunc {
	t.Helper()
	data, err := agentwire.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return says(string(data), "Content-Type", agentwire.MediaType)
}

// A renewal goes to one peer, once, and without a key; the next goes elsewhere.
func TestARenewalIsSentOnce(t *testing.T) {
	bad := newPeer(t, problem(http.StatusServiceUnavailable, wire.CodeNoLeader))
	good := newPeer(t, encoded(t, agentwire.Renewed{Newest: 4}))
	a := agent(t, bad.address(), good.address())
	if _, err := a.Renew(t.Context(), &agentwire.Renew{Seq: 3}); !isProblem(err, wire.CodeNoLeader) || bad.count() != 1 || good.count() != 0 {
		t.Fatalf("the first: %v", err)
	}
	if got, err := a.Renew(t.Context(), &agentwire.Renew{Seq: 4}); err != nil || got.Newest != 4 || bad.count() != 1 {
		t.Fatalf("the second: %+v %v", got, err)
	}
	r, _ := good.last()
	if r.Header.Get(wire.HeaderRequestID) != "" || r.Header.Get("Content-Type") != agentwire.MediaType || r.Method != http.MethodPost {
		t.Errorf("sent %v", r.Header)
	}
	if _, err := agent(t, closedAddress(t)).Renew(t.Context(), &agentwire.Renew{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without a listener: %v", err)
	}
}

// A peer that is silent is passed over once the caller's own time is up, too; one
// that was left because the caller thought better of it is not.
func TestASilentPeerIsPassedOver(t *testing.T) {
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	silent := newPeer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-let:
		}
	})
	good := newPeer(t, encoded(t, agentwire.Renewed{Newest: 4}))
	a := agent(t, silent.address(), good.address())
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithCancel(t.Context())
		if errors.Is(end, context.DeadlineExceeded) {
			ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		} else {
			cancel()
		}
		_, err := a.Renew(ctx, &agentwire.Renew{Seq: 3})
		cancel()
		if !errors.Is(err, end) || good.count() != 0 {
			t.Fatalf("a call that ends with %v: %v, and the next peer was asked %d times", end, err, good.count())
		}
	}
	if got, err := a.Renew(t.Context(), &agentwire.Renew{Seq: 4}); err != nil || got.Newest != 4 {
		t.Fatalf("the next: %+v %v", got, err)
	}
}

// Other calls ask every peer, each once; which is good for one may not be for another.
func TestAnAgentAsksAround(t *testing.T) {
	some := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == agentwire.PathDesired {
			problem(http.StatusServiceUnavailable, wire.CodeNoLeader)(w, r)
			return
		}
		encoded(t, agentwire.Reported{Index: 1})(w, r)
	})
	other := newPeer(t, encoded(t, model.Desired{Index: 8}))
	a := agent(t, some.address())
	if _, err := a.Desired(t.Context(), &agentwire.Poll{}); !isProblem(err, wire.CodeNoLeader) || some.count() != 1 {
		t.Errorf("of one: %v after %d", err, some.count())
	}
	a.SetPeers([]string{some.address(), other.address()})
	a.SetPeers(nil)
	for range 2 {
		if got, err := a.Desired(t.Context(), &agentwire.Poll{}); err != nil || got.Index != 8 {
			t.Errorf("of two: %+v %v", got, err)
		}
		if got, err := a.Report(t.Context(), &agentwire.Report{}); err != nil || got.Index != 1 {
			t.Errorf("a report: %+v %v", got, err)
		}
	}
}

// Content that does not have its hash is not taken.
func TestABlobIsChecked(t *testing.T) {
	p := newPeer(t, encoded(t, agentwire.Content{Data: "other"}))
	if data, err := agent(t, p.address()).Blob(t.Context(), model.Hash{1}); err == nil {
		t.Errorf("got %q", data)
	}
	p = newPeer(t, says("\xff"))
	if _, err := agent(t, p.address()).Register(t.Context(), &agentwire.Register{}); err == nil {
		t.Error("bytes that are no answer are taken for one")
	}
}

// A peer that hangs costs a renewal nothing: the next peer gets it, too. The later answer counts if only that accepts.
func TestARenewalRacesTwoPeers(t *testing.T) {
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	silent := newPeer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-let:
		}
	})
	good := newPeer(t, encoded(t, agentwire.Renewed{Newest: 4}))
	if got, err := agent(t, silent.address(), good.address()).Renew(t.Context(), &agentwire.Renew{Seq: 4}); err != nil || got.Newest != 4 {
		t.Errorf("past a peer that hangs: %+v %v", got, err)
	}
	if got, err := agent(t, closedAddress(t), good.address()).Renew(t.Context(), &agentwire.Renew{Seq: 4}); err != nil || got.Newest != 4 {
		t.Errorf("past a closed port: %+v %v", got, err)
	}
	asked := make(chan struct{})
	stale := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		encoded(t, agentwire.Renewed{Code: model.CodeStaleSeq})(w, r)
		close(asked)
	})
	first := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		<-asked
		encoded(t, agentwire.Renewed{Newest: 9})(w, r)
	})
	if got, err := agent(t, first.address(), stale.address()).Renew(t.Context(), &agentwire.Renew{Seq: 9}); err != nil || got.Newest != 9 {
		t.Errorf("the first answer, which comes later: %+v %v", got, err)
	}
}

// Addresses that were only heard of are asked when no peer can be reached, and never before one of those.
func TestHintsComeLast(t *testing.T) {
	invented := newPeer(t, encoded(t, agentwire.Renewed{Newest: 1}))
	good := newPeer(t, encoded(t, agentwire.Renewed{Newest: 4}))
	a := agent(t, good.address())
	var many []string
	for range 2000 {
		many = append(many, invented.address())
	}
	a.SetHints(many)
	for range 20 {
		if got, err := a.Renew(t.Context(), &agentwire.Renew{}); err != nil || got.Newest != 4 {
			t.Fatalf("with hints: %+v %v", got, err)
		}
		if err := a.Tail(t.Context(), &agentwire.Tail{}); err != nil {
			t.Fatal(err)
		}
	}
	if invented.count() > 0 {
		t.Errorf("an invented address was asked %d times", invented.count())
	}
	if n := len(a.calls.hinted()); n != maxHints {
		t.Errorf("%d hints are kept", n)
	}
	lost := agent(t, closedAddress(t), closedAddress(t))
	lost.SetHints([]string{good.address()})
	if err := lost.Tail(t.Context(), &agentwire.Tail{}); err != nil {
		t.Errorf("another call by a hint: %v", err)
	}
	var err error
	for range 3 {
		if _, err = lost.Renew(t.Context(), &agentwire.Renew{}); err == nil {
			return
		}
	}
	t.Errorf("no renewal by a hint: %v", err)
}
