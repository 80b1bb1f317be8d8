package limits

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// WithinBookings reports whether GPUs may be given to a holder as far as bookings go.
func WithinBookings(t *tx.Tx, spec *model.Spec, ends model.Time, ranks []command.Placement) command.Result {
	books := t.OpenBooks()
	if books == nil {
		return tx.OK()
	}
	s := &ledger.Stake{User: spec.User, Project: spec.Project, Ends: ends}
	for _, r := range ranks {
		for _, key := range r.Slots {
			gpu, _ := t.GPUs.Get(key.GPU)
			s.Add(r.Node, gpu.Model)
		}
	}
	if by, fits := books.Allows(s); !fits {
		return tx.Refuse(model.CodeUnavailable, "the GPUs are kept for %s", by.Title())
	}
	return tx.OK()
}

// MayExtend reports whether live tasks of a job may run longer as far as bookings go.
func MayExtend(t *tx.Tx, job *model.Job, tasks []model.Task, limit time.Duration) command.Result {
	books := t.OpenBooks()
	for i := range tasks {
		a, _ := t.Attempts.Get(tasks[i].Newest())
		if books == nil || !tasks[i].State.Live() || a.Stop != model.ReasonNone {
			continue
		}
		before := ledger.Stake{User: job.Spec.User, Project: job.Spec.Project, Ends: a.CertainEnd(), At: tx.Lots(t, a.Key)}
		after := before
		a.Frozen.TimeLimit = limit
		after.Ends = a.CertainEnd()
		by, fits := books.MayProlong(&before, &after)
		if fits && job.Spec.WithoutGPUs() {
			var closes bool
			by, closes = state.ClosesBetween(t.Bookings.Now(), tx.RanksOf(t, a.Key), before.Ends, after.Ends, t.Clock)
			fits = !closes
		}
		if !fits {
			return tx.Refuse(model.CodeUnavailable, "job %s could then run into %s", job.ID, by.Title())
		}
		if by, hinders := books.Hinders(&before, max(before.Ends, t.Clock)); hinders {
			return tx.Refuse(model.CodeUnavailable, "job %s is in the way of %s already, and would be for longer: save checkpoints and go on "+
				"in another job, or have that canceled", job.ID, by.Title())
		}
		books.Give(&before)
		books.Put(&after)
	}
	return tx.OK()
}
