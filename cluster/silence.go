package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/fsm/model"
)

// Silence is a peer's knowledge of whether there is a leader.
type Silence struct {
	// For is how long this peer has neither led nor heard a leader; 0 while it leads. It is rather too short
	// than too long: a message counts from when it came in, and the start of the process counts like one.
	For    time.Duration
	Voters []model.PeerID // of the newest configuration that this peer has, sorted
}

// silence returns a peer's knowledge of whether there is a leader.
func silence(p *Peer, servers []raft.Server) Silence {
	var s Silence
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
