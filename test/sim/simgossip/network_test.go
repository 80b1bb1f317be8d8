package simgossip_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/test/sim/simgossip"
)

// A host that stopped reading must not block its senders.
func TestNothingWaitsForAStoppedReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simgossip.New(1, new(simgossip.Links).Between)
		a, err := net.Listen(addr(0))
		if err != nil {
			t.Fatal(err)
		}
		b, err := net.Listen(addr(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := net.Listen(addr(1)); err == nil {
			t.Error("two hosts at one address")
		}
		start := time.Now()
		for range 5000 {
			if _, err := a.WriteTo([]byte("x"), addr(1).String()); err != nil {
				t.Fatal(err)
			}
		}
		refused := false
		for range 100 {
			if _, err := a.DialTimeout(addr(1).String(), time.Second); err != nil {
				refused = errors.Is(err, syscall.ECONNREFUSED)
			}
		}
		if !refused || time.Since(start) != 0 {
			t.Errorf("refused %v after %v", refused, time.Since(start))
		}
		_ = b.Shutdown()
		if _, err := a.DialTimeout(addr(1).String(), time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial to a crashed host: %v", err)
		}
		_ = a.Shutdown()
	})
}

func TestStreamsLikeTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var links simgossip.Links
		links.SetAll(simgossip.Link{Latency: 10 * time.Millisecond, Loss: 1})
		net := simgossip.New(1, links.Between)
		a, _ := net.Listen(addr(0))
		b, _ := net.Listen(addr(1))
		start := time.Now()
		out, err := a.DialTimeout(addr(1).String(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		in := <-b.StreamCh()
		if in.RemoteAddr().String() != addr(0).String() || out.RemoteAddr().String() != addr(1).String() {
			t.Errorf("addresses %v %v", in.RemoteAddr(), out.RemoteAddr())
		}
		go func() { _, _ = out.Write([]byte("hello")) }()
		buf := make([]byte, 5)
		if _, err := io.ReadFull(in, buf); err != nil || string(buf) != "hello" || time.Since(start) != 30*time.Millisecond {
			t.Errorf("read %q, %v after %v, want three trips of 10 ms", buf, err, time.Since(start))
		}
		links.Set(addr(0), addr(1), simgossip.Link{Cut: true})
		_, _ = out.Write([]byte("lost"))
		_ = in.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := in.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read across a cut: %v", err)
		}
		if _, err := a.DialTimeout(addr(1).String(), time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("dial across a cut: %v", err)
		}
		_ = b.Shutdown()
		if _, err := out.Read(buf); !errors.Is(err, io.EOF) {
			t.Errorf("read after the other side crashed: %v", err)
		}
		_ = a.Shutdown()
	})
}
