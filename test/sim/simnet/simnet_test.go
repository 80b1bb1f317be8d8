package simnet_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/berth-gpu/berth/test/sim/simnet"
)

const ms = time.Millisecond

// link is a connection between hosts a and b of one network, with a fixed delay of a millisecond.
type link struct {
	net    *simnet.Net
	a, b   *simnet.Host
	ca, cb net.Conn
}

func pair(t *testing.T) *link {
	t.Helper()
	n := simnet.New(1)
	n.SetDefault(simnet.Link{Latency: ms})
	l := &link{net: n, a: n.Host("a"), b: n.Host("b")}
	l.ca, l.cb = connect(t, l.a, l.b)
	t.Cleanup(n.Close)
	return l
}

func connect(t *testing.T, from, to *simnet.Host) (near, far net.Conn) {
	t.Helper()
	listener, err := to.Listen("b:0")
	if err != nil {
		t.Fatal(err)
	}
	if near, err = from.Dial(listener.Addr().String(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

func bubble(t *testing.T, f func(t *testing.T, l *link)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, pair(t)) })
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// receive reads as many bytes as text has, expects them to be it, and returns how long that took.
func receive(t *testing.T, c net.Conn, text string) time.Duration {
	t.Helper()
	start := time.Now()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v; want %q", b, err, text)
	}
	return time.Since(start)
}

func silent(t *testing.T, c net.Conn, d time.Duration) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want a timeout", n, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func TestIsANetConn(t *testing.T) {
	defer goleak.VerifyNone(t)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		n := simnet.New(1)
		n.SetDefault(simnet.Link{Jitter: 50 * time.Microsecond})
		near, far := connect(t, n.Host("a"), n.Host("b"))
		return near, far, n.Close, nil
	})
}

func TestLatency(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		send(t, l.ca, "there")
		if d := receive(t, l.cb, "there"); d != ms {
			t.Errorf("took %v, want 1ms", d)
		}
		l.net.SetLink("b", "a", simnet.Link{Latency: 30 * ms})
		send(t, l.cb, "back")
		if d := receive(t, l.ca, "back"); d != 30*ms {
			t.Errorf("took %v, want 30ms", d)
		}
	})
}

func TestLossDelaysAndKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		l.net.SetDefault(simnet.Link{Latency: ms, Jitter: 5 * ms, Loss: 0.2})
		var want bytes.Buffer
		for i := range 300 {
			piece := bytes.Repeat([]byte{byte(i)}, 1+i%7)
			want.Write(piece)
			send(t, l.ca, string(piece))
		}
		d := receive(t, l.cb, want.String())
		if d < 200*ms || d > 10*time.Second {
			t.Errorf("300 writes at 20 %% loss took %v, want some retransmissions", d)
		}
	})
}

func TestCutHoldsOneDirection(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		send(t, l.ca, "in flight ")
		l.net.Cut("a", "b")
		send(t, l.ca, "late")
		silent(t, l.cb, time.Second)
		send(t, l.cb, "other way")
		receive(t, l.ca, "other way")
		l.net.Heal("a", "b")
		if d := receive(t, l.cb, "in flight late"); d == 0 || d > 2*time.Second {
			t.Errorf("arrived %v after healing", d)
		}
	})
}

func TestCutSparesWhatHasArrived(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		send(t, l.ca, "arrived")
		time.Sleep(5 * ms)
		l.net.Cut("a", "b")
		if d := receive(t, l.cb, "arrived"); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

func TestDialOverCutTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		if _, err := l.b.Listen("b:1"); err != nil {
			t.Fatal(err)
		}
		for _, dir := range [][2]string{{"a", "b"}, {"b", "a"}} {
			l.net.Cut(dir[0], dir[1])
			start := time.Now()
			_, err := l.a.Dial("b:1", 700*ms)
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != 700*ms {
				t.Errorf("cut %v: %v after %v", dir, err, time.Since(start))
			}
			l.net.HealAll()
		}
		l.net.Isolate("b")
		time.AfterFunc(500*ms, l.net.HealAll)
		if _, err := l.a.Dial("b:1", 2*time.Second); err != nil {
			t.Error("dial across a cut that heals:", err)
		}
	})
}

func TestDialNobody(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		if _, err := l.a.Dial("b:9", time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error("no listener:", err)
		}
		if _, err := l.a.Dial("nowhere:9", time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("no host:", err)
		}
	})
}

func TestCrashIsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		l.net.Cut("a", "b")
		send(t, l.ca, "never")
		l.a.Crash()
		l.net.HealAll()
		silent(t, l.cb, 10*time.Second)
		if _, err := l.ca.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Error("write of a crashed host:", err)
		}
		if _, err := l.a.Dial("b:1", time.Second); !errors.Is(err, net.ErrClosed) {
			t.Error("dial of a crashed host:", err)
		}
		send(t, l.cb, "to the dead")
		if l.net.Host("a") == l.a {
			t.Error("restart returned the crashed host")
		}
		if _, err := l.cb.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Error("a restarted host did not reset its former life's connection:", err)
		}
	})
}

func TestKeepAliveEndsConnectionsToTheDead(t *testing.T) {
	for _, restart := range []bool{false, true} {
		bubble(t, func(t *testing.T, l *link) {
			l.a.Crash()
			want := 150 * time.Second
			if restart {
				l.net.Host("a")
				want = 15 * time.Second
			}
			start := time.Now()
			if _, err := l.cb.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) || time.Since(start) != want {
				t.Errorf("restart %v: %v after %v, want a reset after %v", restart, err, time.Since(start), want)
			}
		})
	}
}

func TestPauseHoldsBothWays(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		l.a.Pause()
		send(t, l.ca, "from a")
		send(t, l.cb, "to a")
		silent(t, l.ca, time.Second)
		silent(t, l.cb, time.Second)
		l.a.Resume()
		if d := receive(t, l.ca, "to a"); d != 0 {
			t.Errorf("what waited in the kernel took %v", d)
		}
		if d := receive(t, l.cb, "from a"); d != ms {
			t.Errorf("what waited in the sender took %v", d)
		}
	})
}

func TestWindowBlocksTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		if err := l.ca.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		sent, err := l.ca.Write(make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || sent == 0 || sent >= 1<<20 {
			t.Fatalf("wrote %d bytes without a reader, %v", sent, err)
		}
		drained := make(chan error)
		go func() { _, err := io.CopyN(io.Discard, l.cb, int64(sent)); drained <- err }()
		_ = l.ca.SetWriteDeadline(time.Time{})
		send(t, l.ca, "more")
		if err := <-drained; err != nil {
			t.Error(err)
		}
		receive(t, l.cb, "more")
	})
}

func TestCloseDeliversThenEnds(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		send(t, l.ca, "last words")
		if err := l.ca.Close(); err != nil {
			t.Fatal(err)
		}
		receive(t, l.cb, "last words")
		if _, err := l.cb.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Error("after the end:", err)
		}
		if _, err := l.cb.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Error("write to a closed end:", err)
		}
	})
}

func TestNetCloseEndsAllWaits(t *testing.T) {
	bubble(t, func(t *testing.T, l *link) {
		listener, err := l.b.Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		l.net.Cut("a", "b")
		ended := make(chan error, 3)
		go func() { _, err := l.ca.Read(make([]byte, 1)); ended <- err }()
		go func() { _, err := listener.Accept(); ended <- err }()
		go func() { _, err := l.a.Dial("b:1", 0); ended <- err }()
		synctest.Wait()
		l.net.Close()
		for range 3 {
			if err := <-ended; !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
	})
}

func TestSameSeedSameDelays(t *testing.T) {
	run := func(seed uint64) (times []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			n := simnet.New(seed)
			defer n.Close()
			n.SetDefault(simnet.Link{Latency: ms, Jitter: 10 * ms, Loss: 0.1})
			near, far := connect(t, n.Host("a"), n.Host("b"))
			for range 20 {
				send(t, near, "x")
				times = append(times, receive(t, far, "x"))
			}
		})
		return times
	}
	if one, again := run(7), run(7); !slices.Equal(one, again) {
		t.Errorf("one seed, two runs:\n%v\n%v", one, again)
	}
	if slices.Equal(run(7), run(8)) {
		t.Error("the seed changes nothing")
	}
}
