package queue

import (
	"math"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// lead is how far a user's jobs are moved up, in sixteenths of doublings of their scores, or back if it is
// negative. A score depends on the work that a job needs, so users with small jobs could have more than their fair
// share, no matter how much shares count: their jobs may be worth a hundred times as much as others'. So users
// that wait and have had less than their fair share are moved up until they have had it.
type lead int

const (
	doubling = 16                        // what a lead that doubles scores is
	leadGain = 2                         // doublings for each percent of what is due, at a weight of shares of 100
	leadStep = 24 * time.Hour / doubling // the wait that it takes to move by one
	mostLead = 7 * doubling
	leadFade = 3 // halves of the wait bound: a job that has waited so long is not moved back any more
)

// leads sets how far users are moved. Users that wait and have had less than their fair share move up, but no
// further than by a doubling for each day that they have waited. Users that have had more move back, but no
// further than the user that has waited longest of the former could be moved up.
func leads(users []*account, t *model.Tuning) {
	doublings := func(part uint64) lead { return lead(part * leadGain * doubling * uint64(t.ShareWeight) / whole) }
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

// move moves the score of a job that has waited for so many seconds. A job that has waited long is moved back less
// than others: by a third of the lead at the wait bound, so that a user's jobs do not come there all at once.
func (l lead) move(score, waited uint64, t *model.Tuning) uint64 {
	if l >= 0 {
		return scale(score, l.times(), 1<<16)
	}
	until := uint64(t.WaitBound/time.Second) * leadFade / 2
	left := until - min(waited, until)
	return scale(score, 1<<16, lead(uint64(-l)*left/until).times())
}

// times returns the factor of a lead that is not negative, times 2^16.
func (l lead) times() uint64 { return sixteenths()[l%doubling] << (l / doubling) }

// factor returns the factor by which a lead multiplies the scores of jobs that have not waited yet.
func (l lead) factor() float64 { return math.Exp2(float64(l) / doubling) }
