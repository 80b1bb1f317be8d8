package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/fsm/model"
)

// Silence is what a peer knows of whether anybody leads.
type Silence struct {
	// For is how long this peer has neither led nor heard a leader; 0 while it leads. It
	// is rather too short than too long: what was heard counts from when it came in,
	// and it counts from the start of the process.
	For    time.Duration
	Voters []model.PeerID // of the newest configuration that this peer has, sorted
}

// silence says whether anybody leads, as far as a peer can tell.
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
