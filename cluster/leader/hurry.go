package leader

import (
	"iter"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// hurry ends attempts that have not started and, did they start now, might hold GPUs that a booking counts
// on, or run on a node that has a maintenance. An attempt that is placed before a booking has a minute to start; it may take longer as long
// as no other job has to wait for it. starting are the attempts to check. hurry also returns when the first of them
// may have to be ended.
func hurry(s *state.State, wall model.Time, starting iter.Seq[model.AttemptKey]) (out []command.Body, next time.Duration) {
	now := max(wall, s.Settings().Clock)
	next = liveness.Never
	books := state.OpenBooks(s, now)
	if books == nil {
		return nil, next
	}
	for key := range starting {
		a, found := s.Attempts.Get(key)
		if !found || !a.Live() || a.Begun == a.Ranks || a.Stop != model.ReasonNone || a.Frozen.TimeLimit == 0 {
			continue
		}
		from := state.StakeOf(s, &a)
		to := from
		to.Ends = a.CertainEndIf(now)
		_, ok := books.MayProlong(&from, &to)
		_, closes := state.ClosesBetween(s.Bookings, s.RanksOf(key), from.Ends, to.Ends, now)
		if !ok || closes {
			out = append(out, &command.StartOverdue{Attempt: key})
			continue
		}
		for _, b := range s.Bookings.All() {
			if by := a.StartBy(b.Start); by >= now {
				next = min(next, by.Sub(now)+time.Millisecond)
			}
		}
	}
	return out, next
}
