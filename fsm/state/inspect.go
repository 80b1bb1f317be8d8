package state

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// RowCounts returns each stored table's name and how many rows it has, in the order of snapshots.
func (s *State) RowCounts() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, cell := range begin(s, Meta{}).list {
			if _, name := cell.info(); !yield(name, cell.size()) {
				return
			}
		}
	}
}

// WrongSums returns the names of the stored tables whose sum in the digest is not that of their rows. It reads
// every row.
func (s *State) WrongSums() (names []string) {
	c := newCommit(digest{}, model.Hash{})
	for _, cell := range begin(s, Meta{}).list {
		number, name := cell.info()
		for row := range cell.rows() {
			c.add(number, row)
		}
		if c.digest.sums[number] != s.digest.sums[number] {
			names = append(names, name)
		}
	}
	return names
}

// Ledger returns what the GPUs count for bookings; nil: nothing is booked. It must not be changed.
func (s *State) Ledger() *ledger.Ledger { return s.ledger }

// CountLedger returns what Ledger must return, counted from the rows.
func (s *State) CountLedger() *ledger.Ledger { return groundOf(begin(s, Meta{})).ledger() }
