package cluster

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
)

// raft answers ErrRaftShutdown also to entries that it has committed and not yet
// handed to the state.
func TestShutdownLeavesTheOutcomeUnknown(t *testing.T) {
	if err := translate(raft.ErrRaftShutdown); !errors.Is(err, peer.ErrOutcomeUnknown) {
		t.Errorf("%v tells the caller that nothing was proposed", err)
	}
}
