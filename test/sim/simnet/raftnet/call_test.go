package raftnet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

const (
	methodEcho uint8 = iota + 1
	methodSlow
	methodFail
	methodOwnCode
	methodHuge
	methodTimeLeft
)

// testServer answers the methods above; entered receives one value for each call of methodSlow.
func testServer(entered chan<- struct{}) *raftnet.Server {
	server := raftnet.NewServer(nil)
	server.Handle(methodEcho, func(_ context.Context, from string, body []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s: %s", from, body), nil
	})
	server.Handle(methodSlow, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	server.Handle(methodFail, func(context.Context, string, []byte) ([]byte, error) {
		return nil, errors.New("disk on fire")
	})
	server.Handle(methodOwnCode, func(context.Context, string, []byte) ([]byte, error) {
		return nil, fmt.Errorf("wrapped: %w", &raftnet.RemoteError{Code: raftnet.FirstOwnCode, Text: "not the leader"})
	})
	server.Handle(methodHuge, func(context.Context, string, []byte) ([]byte, error) {
		return make([]byte, raftnet.MaxBody+1), nil
	})
	server.Handle(methodTimeLeft, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		deadline, _ := ctx.Deadline()
		return []byte(time.Until(deadline).String()), nil
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
	client  *raftnet.Client
	server  *raftnet.Server
	entered chan struct{}
	dialer  *dialCounter
}

func inCallWorld(t *testing.T, f func(t *testing.T, w *callWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &callWorld{net: simnet.New(1), entered: make(chan struct{}, 1000)}
		w.net.SetDefault(simnet.Link{Latency: ms})
		w.server = testServer(w.entered)
		mux, err := raftnet.Listen(raftnet.MuxConfig{Network: w.net.Host("b"), Bind: "b:1", Calls: w.server})
		if err != nil {
			t.Fatal(err)
		}
		w.dialer = &dialCounter{Network: w.net.Host("a")}
		w.client = raftnet.NewClient(w.dialer, "a:1")
		f(t, w)
		closing(t, w.client, w.server, mux)
		w.net.Close()
	})
}

func (w *callWorld) call(method uint8, body string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	answer, err := w.client.Call(ctx, "b:1", method, []byte(body))
	return string(answer), err
}

func isRemote(err error, code raftnet.Code) bool {
	var remote *raftnet.RemoteError
	return errors.As(err, &remote) && remote.Code == code && !errors.Is(err, raftnet.ErrNotSent) && !errors.Is(err, raftnet.ErrOutcomeUnknown)
}

func TestRemoteErrors(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		if _, err := w.call(99, "", time.Second); !isRemote(err, raftnet.CodeUnknownMethod) || !errors.Is(err, raftnet.ErrUnknownMethod) {
			t.Error("unknown method:", err)
		}
		if _, err := w.call(methodFail, "", time.Second); !isRemote(err, raftnet.CodeFailed) || errors.Is(err, raftnet.ErrBusy) {
			t.Error("failing handler:", err)
		}
		if _, err := w.call(methodOwnCode, "", time.Second); !isRemote(err, raftnet.FirstOwnCode) {
			t.Error("handler with a code:", err)
		}
		if _, err := w.call(methodHuge, "", time.Minute); !isRemote(err, raftnet.CodeTooLarge) {
			t.Error("huge answer:", err)
		}
	})
}

func TestTooManyCalls(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		more := raftnet.NewClient(w.net.Host("c"), "c:1")
		third := raftnet.NewClient(w.net.Host("d"), "d:1")
		ctx, cancel := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		for i := range 128 {
			client := []*raftnet.Client{w.client, more}[i%2]
			callers.Go(func() { _, _ = client.Call(ctx, "b:1", methodSlow, nil) })
		}
		for range 128 {
			<-w.entered
		}
		if _, err := third.Call(ctx, "b:1", methodEcho, nil); !errors.Is(err, raftnet.ErrBusy) {
			t.Error("call 129:", err)
		}
		cancel()
		callers.Wait()
		closing(t, more, third)
	})
}

func TestNotSent(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		if _, err := w.client.Call(t.Context(), "b:9", methodEcho, nil); !errors.Is(err, raftnet.ErrNotSent) {
			t.Error("no listener:", err)
		}
		w.net.Cut("a", "b")
		start := time.Now()
		if _, err := w.call(methodEcho, "", time.Second); !errors.Is(err, raftnet.ErrNotSent) || time.Since(start) != time.Second {
			t.Errorf("no way there: %v after %v", err, time.Since(start))
		}
		w.net.HealAll()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.client.Call(done, "b:1", methodEcho, nil); !errors.Is(err, raftnet.ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Error("cancelled before:", err)
		}
		closing(t, w.client)
		if _, err := w.call(methodEcho, "", time.Second); !errors.Is(err, raftnet.ErrNotSent) {
			t.Error("client closed:", err)
		}
	})
}

func TestOutcomeUnknown(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		start := time.Now()
		_, err := w.call(methodSlow, "", time.Second)
		if isRemote(err, raftnet.CodeFailed) { // the handler's context ends with the caller's patience
			err = raftnet.ErrOutcomeUnknown
		}
		if !errors.Is(err, raftnet.ErrOutcomeUnknown) || time.Since(start) > 1010*ms {
			t.Errorf("slow handler: %v after %v", err, time.Since(start))
		}
		if _, err := w.call(methodEcho, "", time.Second); err != nil {
			t.Fatal(err)
		}
		w.net.Cut("b", "a")
		if _, err := w.call(methodEcho, "", time.Second); !errors.Is(err, raftnet.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error("no way back:", err)
		}
		w.net.HealAll()
		dials := w.dialer.dials.Load()
		if _, err := w.call(methodEcho, "", 5*time.Second); err != nil || w.dialer.dials.Load() != dials+1 {
			t.Errorf("after healing: %v, %d more dials; want a new connection", err, w.dialer.dials.Load()-dials)
		}
		ended := make(chan error)
		go func() { _, err := w.call(methodSlow, "", time.Minute); ended <- err }()
		<-w.entered
		<-w.entered
		closing(t, w.server)
		if err := <-ended; !errors.Is(err, raftnet.ErrOutcomeUnknown) {
			t.Error("server closed during the call:", err)
		}
	})
}

// TestOneConnectionServesManyCalls: slow calls do not hold up others.
func TestOneConnectionServesManyCalls(t *testing.T) {
	inCallWorld(t, func(t *testing.T, w *callWorld) {
		ctx, cancel := context.WithCancel(t.Context())
		var slow sync.WaitGroup
		for range 10 {
			slow.Go(func() { _, _ = w.client.Call(ctx, "b:1", methodSlow, nil) })
		}
		for range 10 {
			<-w.entered
		}
		start := time.Now()
		if got, err := w.call(methodEcho, "hi", time.Second); got != "a:1: hi" || err != nil || time.Since(start) != 2*ms {
			t.Errorf("%q, %v after %v, want one round trip", got, err, time.Since(start))
		}
		cancel()
		slow.Wait()
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
				if _, err := w.call(methodEcho, "", time.Second); err != nil {
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
		left, err := w.call(methodTimeLeft, "", 3*time.Second)
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
		if _, err := w.call(methodEcho, "", time.Second); err != nil {
			t.Error(err)
		}
	})
}
