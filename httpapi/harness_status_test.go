package httpapi

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

func (p *one) Status() peer.Status {
	s := p.State()
	l, _ := p.Leader()
	role := peer.RoleFollower
	if l.Self {
		role = peer.RoleLeader
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var leading time.Duration
	if p.late > 0 {
		leading = time.Second
	}
	return peer.Status{
		Leading: leading, Lag: peer.Lag{Known: true, Entries: p.lacks},
		Passes: peer.Passes{Count: 4, Took: time.Millisecond}, Defects: peer.Defects{Commands: 1, Decisions: 2, States: 3},
		Messages: peer.Messages{Busy: 4, Malformed: 5, Foreign: 6},
		Silence:  peer.Silence{For: 7 * time.Second, Voters: p.votersNow()},
		ID:       "p1", Cluster: p.id, Role: role, Term: 3, Leader: peer.Server{ID: l.ID}, Last: s.Index, Committed: s.Index, Applied: s.Index,
		Servers: []peer.Server{{ID: "p1", Address: p.first}, {ID: "p2", Address: p.mate}}, Up: p.upNow(),
	}
}

// upNow returns the members that take part: p1, and the voters of a test but for one that is aside. p.mu is held.
func (p *one) upNow() []model.PeerID {
	if p.late > 0 {
		if p.late--; p.late == 0 {
			p.aside = ""
		}
	}
	return append([]model.PeerID{"p1"}, slices.DeleteFunc(slices.Clone(p.voters), func(id model.PeerID) bool { return id == "p1" || id == p.aside })...)
}
