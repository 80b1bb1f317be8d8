package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// withinBookings reports whether GPUs may be given to a holder as far as bookings go.
func withinBookings(t *tx, spec *model.Spec, ends model.Time, ranks []command.Placement) command.Result {
	books := t.openBooks()
	if books == nil {
		return ok()
	}
	s := &ledger.Stake{User: spec.User, Project: spec.Project, Ends: ends}
	for _, r := range ranks {
		for _, key := range r.Slots {
			gpu, _ := t.gpus.get(key.GPU)
			s.Add(r.Node, gpu.Model)
		}
	}
	if by, fits := books.Allows(s); !fits {
		return refuse(model.CodeUnavailable, "the GPUs are kept for %s", by.Title())
	}
	return ok()
}

// mayExtend reports whether live tasks of a job may run longer as far as bookings go.
func mayExtend(t *tx, job *model.Job, tasks []model.Task, limit time.Duration) command.Result {
	books := t.openBooks()
	for i := range tasks {
		a, _ := t.attempts.get(tasks[i].Newest())
		if books == nil || !tasks[i].State.Live() || a.Stop != model.ReasonNone {
			continue
		}
		before := ledger.Stake{User: job.Spec.User, Project: job.Spec.Project, Ends: a.CertainEnd(), At: lots(t, a.Key)}
		after := before
		a.Frozen.TimeLimit = limit
		after.Ends = a.CertainEnd()
		if by, fits := books.MayProlong(&before, &after); !fits {
			return refuse(model.CodeUnavailable, "job %s could then run into %s", job.ID, by.Title())
		}
		if by, hinders := books.Hinders(&before, max(before.Ends, t.clock)); hinders {
			return refuse(model.CodeUnavailable, "job %s is in the way of %s already, and would be for longer: save checkpoints and go on "+
				"in another job, or have that canceled", job.ID, by.Title())
		}
		books.Give(&before)
		books.Put(&after)
	}
	return ok()
}

// lots returns the GPUs of an attempt that could be given to others.
func lots(t *tx, key model.AttemptKey) []ledger.Lot {
	s := ledger.Stake{}
	for _, slot := range slotsOf(t, key) {
		row, _ := t.slots.get(slot)
		gpu, _ := t.gpus.get(slot.GPU)
		if node, _ := t.nodes.get(row.Node); node.Schedulable() && gpu.Usable() {
			s.Add(row.Node, gpu.Model)
		}
	}
	return s.At
}
