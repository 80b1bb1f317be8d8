package state

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// StakeOf returns an attempt's GPUs that others could be given.
func StakeOf(s *State, a *model.Attempt) ledger.Stake {
	job, _ := s.Jobs.Get(a.Key.Job)
	out := ledger.Stake{User: job.Spec.User, Project: job.Spec.Project, Ends: a.CertainEnd()}
	for _, r := range s.RanksOf(a.Key) {
		node, _ := s.Nodes.Get(r.Node)
		for _, key := range s.SlotsOf(r.Key) {
			if g, _ := s.GPUs.Get(key.GPU); g.Usable() && node.Schedulable() {
				out.Add(r.Node, g.Model)
			}
		}
	}
	return out
}

// OpenBooks returns the books of a state at the time now; nil if nothing is booked. A maintenance keeps its
// nodes until an entry has ended it, though Apply would not insist: only from then on their GPUs count for
// reservations, which would otherwise lack GPUs that are given away in between.
func OpenBooks(s *State, now model.Time) *ledger.Books {
	if s.Booked == nil {
		return nil
	}
	return ledger.NewBooks(s.Booked.Clone(), now, true)
}
