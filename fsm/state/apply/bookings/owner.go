package bookings

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// withinOwner reports whether a booking keeps within what its owner may use: the GPUs at a time, the GPU time
// of each period, and, unless an operator books, the part of the cluster that one user or project may have
// booked. Bookings that the same user has made for others, such as projects, count to that part, too.
func withinOwner(t *tx.Tx, l *land, capped bool) command.Result {
	b := l.b
	limit, _ := state.LimitFrom(t.Limits.Get, b.Owner)
	caps := t.Settings.Booking.OrDefault()
	part := max(l.all*min(caps.UserPercent, caps.Percent)/100, 1)
	for _, at := range l.moments() {
		own := l.booked(at, func(o *model.Booking) bool { return o.Owner == b.Owner })
		if limit.GPUs != model.Unlimited && int64(own) > limit.GPUs {
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs and would have %d reserved at once: reserve fewer, or have gpus of %s raised",
				b.Owner, limit.GPUs, own, b.Owner)
		}
		if !capped {
			continue
		}
		if own = l.booked(at, func(o *model.Booking) bool { return o.Owner == b.Owner || o.By == b.By }); own > part {
			return tx.Refuse(model.CodeLimit, "%s would have %d GPUs reserved at once: at most %d may be, %d %% of the cluster's %d "+
				"(percent_per_user): reserve fewer, or ask an operator", b.Owner, own, part, caps.UserPercent, l.all)
		}
	}
	return withinOwnerTime(t, b, &limit)
}

// withinOwnerTime reports whether an owner's bookings fit into the owner's quota of GPU time, in each period
// of a booking. Former use counts in the present period.
func withinOwnerTime(t *tx.Tx, b *model.Booking, limit *model.Limit) command.Result {
	if limit.GPUTime == 0 || limit.Over != model.OverStop {
		return tx.OK()
	}
	own := []model.Booking{*b}
	for _, o := range t.Bookings.Now().All() {
		if o.Owner == b.Owner && o.ID != b.ID && o.End > t.Clock {
			own = append(own, o)
		}
	}
	account, _ := t.Accounts.Get(b.Owner)
	most := limit.GPUTime * 1000
	for at := max(b.Start, t.Clock); at < b.End; {
		began, next := model.PeriodOf(at, limit.Period)
		var need int64
		if began <= t.Clock {
			need = account.UsedAt(t.Clock, limit.Period)
		}
		for i := range own {
			from, to := max(own[i].Start, began, t.Clock), min(own[i].End, next)
			need += int64(own[i].GPUs) * int64(max(to.Sub(from), 0)/time.Millisecond)
		}
		if need > most {
			return tx.Refuse(model.CodeLimit, "%s may use %s GPU-hours in the period from %s, and would have used or reserved %s: reserve fewer "+
				"GPUs, or for less time, or have gpu_hours of %s raised", b.Owner, state.Hours(most), began.Time().Format(time.RFC3339), state.Hours(need), b.Owner)
		}
		at = next
	}
	return tx.OK()
}
