// Package call_test runs the calls between peers on a simulated network.
package call_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

const ms = time.Millisecond

// The calls of the test server.
var (
	echo     = call.Define[string, string](call.Control, "echo")
	slow     = call.Define[string, string](call.Control, "slow")
	fail     = call.Define[string, string](call.Control, "fail")
	panics   = call.Define[string, string](call.Control, "panic")
	ownKind  = call.Define[string, string](call.Control, "own_kind")
	huge     = call.Define[string, string](call.Control, "huge")
	timeLeft = call.Define[string, string](call.Control, "time_left")
	copied   = call.Define[string, string](call.Bulk, "echo")
	slowCopy = call.Define[string, string](call.Bulk, "slow")
	missing  = call.Define[string, string](call.Control, "missing")
	misfit   = call.Define[int, string](call.Control, "echo") // of another type than the server's
)

const kindNotLeader call.Kind = "not_leader"

// testServer answers these calls; entered receives one value for each call of slow.
func testServer(entered chan<- struct{}) *call.Server {
	server := call.NewServer(nil)
	hold := func(ctx context.Context, _ model.PeerID, _ *string) (*string, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	repeat := func(_ context.Context, from model.PeerID, q *string) (*string, error) {
		out := string(from) + ": " + *q
		return &out, nil
	}
	call.Handle(server, echo, repeat)
	call.Handle(server, copied, repeat)
	call.Handle(server, slow, hold)
	call.Handle(server, slowCopy, hold)
	call.Handle(server, fail, func(context.Context, model.PeerID, *string) (*string, error) { return nil, errors.New("disk on fire") })
	call.Handle(server, panics, func(context.Context, model.PeerID, *string) (*string, error) { panic("a defect") })
	call.Handle(server, ownKind, func(context.Context, model.PeerID, *string) (*string, error) {
		return nil, fmt.Errorf("wrapped: %w", &call.RemoteError{Kind: kindNotLeader, Text: "b:2"})
	})
	call.Handle(server, huge, func(context.Context, model.PeerID, *string) (*string, error) {
		out := strings.Repeat("x", 1<<20)
		return &out, nil
	})
	call.Handle(server, timeLeft, func(ctx context.Context, _ model.PeerID, _ *string) (*string, error) {
		deadline, _ := ctx.Deadline()
		out := time.Until(deadline).String()
		return &out, nil
	})
	return server
}

// dialCounter is a network that counts what it dials.
type dialCounter struct {
	raftnet.Network
	dials atomic.Int32
}

// Dial counts, and dials.
func (d *dialCounter) Dial(address string, timeout time.Duration) (net.Conn, error) {
	d.dials.Add(1)
	return d.Network.Dial(address, timeout)
}

// callWorld is a caller a and a server b in a bubble.
type callWorld struct {
	net     *simnet.Net
	client  *call.Client
	server  *call.Server
	entered chan struct{}
	dialer  *dialCounter
}

func inCallWorld(t *testing.T, f func(t *testing.T, w *callWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &callWorld{net: simnet.New(1), entered: make(chan struct{}, 1000)}
		w.net.SetDefault(simnet.Link{Latency: ms})
		w.server = testServer(w.entered)
		mux, err := raftnet.Listen(raftnet.MuxConfig{Network: w.net.Host("b"), Bind: "b:1", Calls: w.server.Admit})
		if err != nil {
			t.Fatal(err)
		}
		w.dialer = &dialCounter{Network: w.net.Host("a")}
		w.client = newClient("a", w.dialer)
		f(t, w)
		closing(t, w.client, w.server, mux)
		w.net.Close()
	})
}

// b is the server.
var b = peer.Server{ID: "b", Address: "b:1"}

func newClient(self model.PeerID, network raftnet.Network) *call.Client {
	return call.NewClient(self, func(to peer.Server, timeout time.Duration) (net.Conn, error) {
		return raftnet.DialCall(network, to, timeout)
	})
}

func (w *callWorld) call(name call.Name[string, string], body string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	answer, err := call.Do(ctx, w.client, b, name, &body)
	if err != nil {
		return "", err
	}
	return *answer, nil
}

func isRemote(err error, kind call.Kind) bool {
	return call.KindOf(err) == kind && !errors.Is(err, call.ErrNotSent) && !errors.Is(err, call.ErrOutcomeUnknown)
}

func closing(t *testing.T, closers ...io.Closer) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Errors keep their kind across the wire.
func TestRemoteErrors(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		for name, c := range map[string]struct {
			name   call.Name[string, string]
			kind   call.Kind
			undone bool
		}{
			"unknown call":        {missing, call.KindUnknown, true},
			"failing handler":     {fail, call.KindFailed, false},
			"panicking handler":   {panics, call.KindFailed, false},
			"handler with a kind": {ownKind, kindNotLeader, false},
			"huge answer":         {huge, call.KindTooLarge, false},
		} {
			if _, err := w.call(c.name, "", time.Second); !isRemote(err, c.kind) || call.Undone(err) != c.undone {
				t.Errorf("%s: %v, undone: %t", name, err, call.Undone(err))
			}
		}
		var remote *call.RemoteError
		if _, err := w.call(ownKind, "", time.Second); !errors.As(err, &remote) || remote.Text != "b:2" {
			t.Error("the text of an error:", err)
		}
		number := 7
		if _, err := call.Do(t.Context(), w.client, b, misfit, &number); !isRemote(err, call.KindMalformed) || !call.Undone(err) {
			t.Error("a question of another type:", err)
		}
		if _, err := w.call(echo, strings.Repeat("x", 1<<20), time.Second); !errors.Is(err, call.ErrNotSent) {
			t.Error("a question that is too large:", err)
		}
		if _, err := w.call(copied, strings.Repeat("x", 1<<20), time.Second); err != nil {
			t.Error("a copy of that size:", err)
		}
	})
}

// A peer that has too many calls under way in a lane waits, or is refused if its other client has them; its
// other lanes and other peers are not concerned.
func TestTooManyCalls(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		const most = 16 // of a lane for copies
		same, other := newClient("a", w.net.Host("c")), newClient("d", w.net.Host("d"))
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		question := ""
		for range most {
			callers.Go(func() { _, _ = call.Do(ctx, w.client, b, slowCopy, &question) })
		}
		for range most {
			<-w.entered
		}
		if _, err := w.call(copied, "", time.Second); !errors.Is(err, call.ErrNotSent) {
			t.Error("one more waits, and is not sent:", err)
		}
		if _, err := call.Do(ctx, same, b, copied, &question); !isRemote(err, call.KindBusy) || !call.Undone(err) {
			t.Error("one more from the same peer:", err)
		}
		if _, err := call.Do(ctx, other, b, copied, &question); err != nil {
			t.Error("one of another peer:", err)
		}
		if _, err := w.call(echo, "", time.Second); err != nil {
			t.Error("one in another lane:", err)
		}
		cancel()
		callers.Wait()
		closing(t, same, other)
	})
}

// A caller that leaves, or that had little time, shows nothing of the connection that others use.
func TestACallerThatLeavesEndsNoConnection(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		others := make(chan error, 1)
		go func() {
			_, err := w.call(slow, "", 3*time.Second)
			others <- err
		}()
		<-w.entered
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			question := ""
			_, err := call.Do(ctx, w.client, b, slow, &question)
			left <- err
		}()
		<-w.entered
		leave()
		if err := <-left; !errors.Is(err, call.ErrOutcomeUnknown) {
			t.Error("the caller that left:", err)
		}
		if _, err := w.call(slow, "", 100*time.Millisecond); !errors.Is(err, call.ErrOutcomeUnknown) && !isRemote(err, call.KindFailed) {
			t.Error("the caller without time:", err)
		}
		start := time.Now()
		if err := <-others; time.Since(start) < 2*time.Second {
			t.Errorf("the other caller lost its connection after %s: %v", time.Since(start), err)
		}
		if n := w.dialer.dials.Load(); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

// A caller leaves at once where a dial takes long, and the next caller has the connection.
func TestADialOutlivesItsCaller(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		w.net.SetDefault(simnet.Link{Latency: 300 * ms})
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*ms, leave)
		question, start := "", time.Now()
		if _, err := call.Do(ctx, w.client, b, echo, &question); !errors.Is(err, call.ErrNotSent) || time.Since(start) != 100*ms {
			t.Errorf("left with %v after %s", err, time.Since(start))
		}
		if _, err := w.call(echo, "", 5*time.Second); err != nil || w.dialer.dials.Load() != 1 {
			t.Errorf("the next: %v, dialled %d times", err, w.dialer.dials.Load())
		}
	})
}

func TestNotSent(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		question := ""
		if _, err := call.Do(t.Context(), w.client, peer.Server{Address: "b:9"}, echo, &question); !errors.Is(err, call.ErrNotSent) {
			t.Error("no listener:", err)
		}
		w.net.Cut("a", "b")
		start := time.Now()
		if _, err := w.call(echo, "", time.Second); !errors.Is(err, call.ErrNotSent) || time.Since(start) != time.Second {
			t.Errorf("no way there: %v after %v", err, time.Since(start))
		}
		w.net.HealAll()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := call.Do(done, w.client, b, echo, &question); !errors.Is(err, call.ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Error("cancelled before:", err)
		}
		closing(t, w.client)
		if _, err := w.call(echo, "", time.Second); !errors.Is(err, call.ErrNotSent) {
			t.Error("client closed:", err)
		}
	})
}

func TestOutcomeUnknown(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		start := time.Now()
		_, err := w.call(slow, "", time.Second)
		if isRemote(err, call.KindFailed) { // the handler's context ends with the caller's patience
			err = call.ErrOutcomeUnknown
		}
		if !errors.Is(err, call.ErrOutcomeUnknown) || time.Since(start) > 1010*ms {
			t.Errorf("slow handler: %v after %v", err, time.Since(start))
		}
		if _, err := w.call(echo, "", time.Second); err != nil {
			t.Fatal(err)
		}
		w.net.Cut("b", "a")
		if _, err := w.call(echo, "", time.Second); !errors.Is(err, call.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error("no way back:", err)
		}
		w.net.HealAll()
		dials := w.dialer.dials.Load()
		if _, err := w.call(echo, "", 5*time.Second); err != nil || w.dialer.dials.Load() != dials+1 {
			t.Errorf("after healing: %v, %d more dials; want a new connection", err, w.dialer.dials.Load()-dials)
		}
		ended := make(chan error)
		go func() { _, err := w.call(slow, "", time.Minute); ended <- err }()
		<-w.entered
		<-w.entered
		closing(t, w.server)
		if err := <-ended; !errors.Is(err, call.ErrOutcomeUnknown) {
			t.Error("server closed during the call:", err)
		}
	})
}

// TestOneConnectionServesManyCalls: slow calls do not hold up others.
func TestOneConnectionServesManyCalls(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		ctx, cancel := context.WithCancel(t.Context())
		question := ""
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { _, _ = call.Do(ctx, w.client, b, slow, &question) })
		}
		for range 10 {
			<-w.entered
		}
		start := time.Now()
		if got, err := w.call(echo, "hi", time.Second); got != "a: hi" || err != nil || time.Since(start) != 2*ms {
			t.Errorf("%q, %v after %v, want one round trip", got, err, time.Since(start))
		}
		cancel()
		callers.Wait()
		if n := w.dialer.dials.Load(); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

// TestUnusedConnectionIsNotTrusted: one that the server is about to close, after a long silence, would lose a
// call.
func TestUnusedConnectionIsNotTrusted(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		for dials, pause := range []time.Duration{0, 90 * time.Second, 10 * time.Minute} {
			time.Sleep(pause)
			for range 2 {
				if _, err := w.call(echo, "", time.Second); err != nil {
					t.Errorf("after %v: %v", pause, err)
				}
			}
			if n := w.dialer.dials.Load(); int(n) != dials+1 {
				t.Errorf("after %v: dialled %d times", pause, n)
			}
		}
	})
}

func TestHandlerKnowsTheCallersPatience(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		left, err := w.call(timeLeft, "", 3*time.Second)
		if d, perr := time.ParseDuration(left); err != nil || perr != nil || d < 2900*ms || d > 3*time.Second {
			t.Errorf("%q left, %v, want nearly three seconds", left, err)
		}
	})
}

func TestServerSurvivesBadFrames(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		for _, bytes := range []string{"C", "C\x00\x00\x00\x01\x00\x00\x00\x00x", "C\xff\xff\xff\xff\x00\x00\x00\x00"} {
			conn, err := w.net.Host("x").Dial("b:1", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(bytes)); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			var timeout net.Error
			if _, err := conn.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("%q: connection still open: %v", bytes, err)
			}
		}
		if _, err := w.call(echo, "", time.Second); err != nil {
			t.Error(err)
		}
	})
}
