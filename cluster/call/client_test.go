package call

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
)

// TestDialWithEndedContext: the error of a dial that is not attempted is the reason why the context ended.
func TestDialWithEndedContext(t *testing.T) {
	c := NewClient("a", func(peer.Server, time.Duration) (net.Conn, error) {
		t.Error("dialled")
		return nil, net.ErrClosed
	})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for _, ctx := range []context.Context{canceled, late} {
		if _, err := c.dial(ctx, end{}); !errors.Is(err, ctx.Err()) {
			t.Errorf("%v, want %v", err, ctx.Err())
		}
	}
}
