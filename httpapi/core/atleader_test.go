package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// A call at the leader is answered here while this peer leads, goes to the peer that leads, and to no peer without one.
func TestCallsAtTheLeader(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	question := call.Define[string, string](call.Forward, "question")
	ask := func() (string, error) {
		text := "where"
		out, err := core.AtLeader(t.Context(), s.API, question, &text, func(_ context.Context, from model.PeerID, q *string) (*string, error) {
			answer := *q + " " + string(from)
			return &answer, nil
		})
		if err != nil {
			return "", err
		}
		return *out, nil
	}
	if got, err := ask(); got != "where p1" || err != nil {
		t.Errorf("the leader answers itself %q, %v", got, err)
	}
	s.Lead(forward.Leader{ID: "p2", Address: "127.0.0.1:1"})
	if _, err := ask(); !errors.Is(err, call.ErrNotSent) {
		t.Errorf("a follower that makes no calls: %v", err)
	}
	s.Lead(forward.Leader{})
	if _, err := ask(); !errors.Is(err, peer.ErrNoLeader) {
		t.Errorf("without a leader: %v", err)
	}
}
