package node

import (
	"errors"
	"io/fs"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// reaper ends ranks whose supervisors have died.
type reaper struct {
	*core
	units  *units
	logged time.Time // when the rest of a rank was last logged

	swept    bool // nothing is left of unknown ranks
	sweeping bool
	next     time.Time // when to search for strays again
}

// reap kills what is left of ranks whose supervisors have died, and records their end as killed.
func (b *reaper) reap() {
	b.sweep()
	for _, u := range b.units.byName {
		known := u.record.Nonce != "" || b.swept // otherwise its processes are among the strays
		if u.phase == model.RankRunning && known && !u.life.alive && !u.life.busy && u.life.reads == 0 && due(u.retry) {
			u.life.busy = true
			record, status := u.record, u.status
			exit := cutOff(u)
			b.background(func() func() {
				left, err := b.endLeft(u.name, record, status, exit)
				return func() { b.reaped(u, exit, left, err) }
			})
		}
	}
}

// cutOff returns the end of a rank whose supervisor has died. If the job itself had ended before, its own end counts. Otherwise it
// is killed with its supervisor. If a stop was under way it is not known whether the signal had reached the job, so its reason counts;
// and without any process of the job nothing has failed.
func cutOff(u *unit) model.Exit {
	s := &u.status
	if s.Ended != nil {
		exit := *s.Ended
		exit.Delivered = s.Delivered
		return exit
	}
	begun := s.Nonce != u.record.Nonce || s.Session != 0
	exit := model.Exit{Signal: 9, Fenced: u.orders.Kill || s.Fenced || !begun, Delivered: s.Delivered}
	for _, reason := range []model.Reason{s.Stopping, u.orders.Stop} {
		if reason.Outranks(exit.Delivered) {
			exit.Delivered = reason
		}
	}
	return exit
}

// sweep ends processes that previous agents started and that have no record.
func (b *reaper) sweep() {
	if b.swept || b.sweeping || !due(b.next) {
		return
	}
	b.sweeping = true
	known := map[string]bool{}
	for _, u := range b.units.byName {
		known[u.record.Nonce] = true
	}
	b.background(func() func() {
		count := b.Runner.Strays(func(nonce string) bool { return known[nonce] })
		return func() {
			b.sweeping, b.swept, b.next = false, count == 0, later(againSoon)
			if count > 0 {
				b.Log.Warn("killed processes of unknown ranks", "count", count)
			}
		}
	})
}

// endLeft kills what is left of a rank and, once nothing is left, records the end; left is the reason why that
// is not proven yet.
func (b *reaper) endLeft(name string, r *runner.Record, s runner.Status, exit model.Exit) (left, err error) {
	for pause := time.Millisecond; ; pause *= 2 {
		if left = b.Runner.Bury(r, s); left == nil {
			break
		}
		if pause > againSoon {
			return left, nil
		}
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return left, nil
		}
	}
	return nil, b.units.folder(name, func(f *runner.Folder) error {
		if _, err := f.Exit(); err == nil {
			return nil // its supervisor was faster
		}
		f.Discard(runner.TmpFolder) // first, since it may have filled the disk
		if err := b.Journal.Insist(func() error { return f.SetExit(exit) }); err != nil {
			return err
		}
		return f.SyncExit()
	})
}

// reaped takes the result of endLeft for a unit. An end that cannot be written is reported nevertheless: a
// later agent derives the same end.
func (b *reaper) reaped(u *unit, exit model.Exit, left, err error) {
	u.life.busy, u.retry = false, later(againSoon)
	if left != nil {
		if time.Since(b.logged) > 2*againLater {
			b.logged = time.Now()
			b.Log.Warn("supervisor killed: rank not proven gone yet, its GPUs stay allocated", "rank", u.record.Rank, "why", left)
		}
		return
	}
	b.Log.Warn("supervisor killed: rank ended", "rank", u.record.Rank)
	if err != nil {
		u.logOnce(b.Log, "cannot write the end of a rank", err)
		b.units.learn(u, model.RankExited, exit)
		return
	}
	b.units.reread(u)
}

// missing ends a rank that an earlier agent of this data folder had reported and that has no folder and no supervisor, once the
// processes of unknown ranks are gone. If it may have started, it is reaped, and counts as lost; otherwise it is refused.
func (h *executor) missing(step fence.Action, w *model.Assignment) {
	if !h.reaper.swept {
		return
	}
	name := journal.Name(step.Incarnation, step.Rank)
	status, err := h.Run.Status(name)
	started := w.Phase >= model.RankRunning || status.Phase >= model.RankRunning || err != nil && !errors.Is(err, fs.ErrNotExist)
	if !started {
		h.refuse(step, nil)
		if u := h.units.byKey[key{step.Rank, step.Incarnation}]; u != nil && u.why == "" {
			u.excused("the agent ended before it had prepared the rank")
			h.Log.Warn("rank_never_started", "rank", step.Rank, "why", u.why)
		}
		return
	}
	h.Log.Warn("rank_lost", "rank", step.Rank, "why", "it has neither a folder nor a supervisor")
	r := h.record(step.Rank, step.Incarnation)
	r.Placed, r.Frozen, r.Nonce = w.Placed, w.Frozen, status.Nonce
	u := &unit{name: name, record: r, phase: model.RankRunning, status: status}
	u.order(func(o *runner.Orders) { o.Kill = true })
	h.units.settle(u, model.Exit{})
	h.units.put(u)
}
