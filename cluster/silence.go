package cluster

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// silence returns a peer's knowledge of whether there is a leader.
func silence(p *Peer, servers []raft.Server) peer.Silence {
	var s peer.Silence
	for _, v := range servers {
		if v.Suffrage == raft.Voter {
			s.Voters = append(s.Voters, model.PeerID(v.ID))
		}
	}
	slices.Sort(s.Voters)
	led := p.tenure.lately(p.cfg.Clock.Boot())
	if p.raft.State() == raft.Leader || led == 0 {
		return s
	}
	s.For = min(p.wire.transport.Heard(), led)
	return s
}
