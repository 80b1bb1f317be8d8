package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// Trusted are the tables that say which members there are, and which revision of the cluster's trust each uses.
type Trusted struct {
	Peers        table.Table[model.PeerID, model.Peer]
	Nodes        table.Table[model.NodeID, model.Node]
	Certificates table.Table[membership.Member, membership.Certificate]
}

// Trusted returns the tables of members.
func (s *State) Trusted() Trusted { return Trusted{s.Peers, s.Nodes, s.Certificates} }

// Behind returns the members that have not reported to use a revision of the cluster's trust, sorted, and how many
// members there are. Members whose certificates are revoked or have expired are none: they must join again in any case.
func (v Trusted) Behind(revision uint64, now model.Time) (behind []membership.Member, members int) {
	for m, c := range v.Certificates.All() {
		if c.Revoked || c.Expires < now {
			continue
		}
		members++
		if c.Revision < revision {
			behind = append(behind, m)
		}
	}
	count := func(m membership.Member) {
		if !v.Certificates.Has(m) {
			members++
			behind = append(behind, m)
		}
	}
	for id := range v.Peers.All() {
		count(membership.Member{Role: model.RolePeer, Name: string(id)})
	}
	for id := range v.Nodes.All() {
		count(membership.Member{Role: model.RoleAgent, Name: string(id)})
	}
	slices.SortFunc(behind, membership.Member.Compare)
	return behind, members
}

// Trust returns the cluster's one row of trust; zero: as at the foundation.
func (s *State) Trust() membership.Trust {
	t, _ := s.Trusts.Get(Only{})
	return t
}
