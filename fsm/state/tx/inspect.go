package tx

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// RowCounts returns each stored table's name and how many rows it has, in the order of snapshots.
func RowCounts(s *state.State) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, cell := range Begin(s, state.Meta{}).List {
			if _, name := cell.Info(); !yield(name, cell.Size()) {
				return
			}
		}
	}
}

// WrongSums returns the names of the stored tables whose sum in the digest is not that of their rows. It reads
// every row.
func WrongSums(s *state.State) (names []string) {
	c := digest.NewCommit(digest.Digest{}, model.Hash{})
	for _, cell := range Begin(s, state.Meta{}).List {
		number, name := cell.Info()
		for row := range cell.Rows() {
			c.Add(number, row)
		}
		if c.Digest.Sums[number] != s.Fingerprint.Sums[number] {
			names = append(names, name)
		}
	}
	return names
}

// CountLedger returns what Ledger must return, counted from the rows.
func CountLedger(s *state.State) *ledger.Ledger { return groundOf(Begin(s, state.Meta{})).ledger() }
