package raftnet_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

func closing(t *testing.T, closers ...io.Closer) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSilentAndUnknownConnectionsAreClosed(t *testing.T) {
	for first, after := range map[string]time.Duration{"": 5 * time.Second, "X": 0, "C": 0} {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(1)
			network.SetDefault(simnet.Link{})
			mux, err := raftnet.Listen(raftnet.MuxConfig{Network: network.Host("a"), Bind: "a:1"})
			if err != nil {
				t.Fatal(err)
			}
			conn, err := network.Host("b").Dial("a:1", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := io.WriteString(conn, first); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(start) != after {
				t.Errorf("first byte %q: %v after %v, want the end after %v", first, err, time.Since(start), after)
			}
			closing(t, mux)
			network.Close()
		})
	}
}
