package queue

import (
	"math"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// lead is by how much a user's jobs are moved up, in sixteenths of doublings of their scores, or
// if negative back. A score goes by the work that a job needs, and so lets users with small jobs have more
// than they are due however much that counts: their jobs may be worth a hundred times as much as others'. So who waits and
// has had less than they are due is moved up until they have had it.
type lead int

const (
	doubling = 16                        // what a lead that doubles scores is
	leadGain = 2                         // doublings for each percent of what is due, at a weight of shares of 100
	leadStep = 24 * time.Hour / doubling // of a wait: it takes so long to move by one
	mostLead = 7 * doubling
	leadFade = 3 // halves of the wait bound: who has waited so long is not moved back any more
)

// leads says how far users are moved: those who wait and have had less than they are due up, but no
// further than by a doubling for each day that they have waited, and those who have had more
// back, but no further than who has waited longest of the former could be moved up.
func leads(users []*account, t *model.Tuning) {
	doublings := func(part uint64) lead { return lead(part * leadGain * doubling * uint64(t.ShareWeight) / whole) } //nolint:gosec // bounded
	var behalf lead
	for _, u := range users {
		if u.waits > 0 && u.part < whole {
			most := lead(min(u.waits/leadStep, mostLead))
			u.lead, behalf = min(doublings(whole-u.part), most), max(behalf, most)
		}
	}
	for _, u := range users {
		if u.part > whole {
			u.lead = -min(doublings(u.part-whole), behalf)
		}
	}
}

// move moves the score of who has waited for so many seconds. Who has waited long is moved back less than others: by a third of it once at the
// wait bound, so that no user's jobs come there all at once.
func (l lead) move(score, waited uint64, t *model.Tuning) uint64 {
	if l >= 0 {
		return scale(score, l.times(), 1<<16)
	}
	until := uint64(t.WaitBound/time.Second) * leadFade / 2 //nolint:gosec // positive
	left := until - min(waited, until)
	return scale(score, 1<<16, lead(uint64(-l)*left/until).times()) //nolint:gosec // no more than -l
}

// times is the factor of a lead that is not negative, times 2^16.
func (l lead) times() uint64 { return sixteenths()[l%doubling] << (l / doubling) }

// factor is by what a lead multiplies scores of jobs that have not waited yet.
func (l lead) factor() float64 { return math.Exp2(float64(l) / doubling) }
