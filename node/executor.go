package node

import (
	"maps"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// executor starts, adopts and stops ranks as the plan says.
type executor struct {
	*core
	contact *contact
	puller  *puller
	units   *units
	space   *space
	blobs   *blobs
	cleaner *cleaner
	reaper  *reaper
	later   map[model.RankKey]time.Time // when to retry starts that failed
	waiting map[model.RankKey]*waiting
	pruned  time.Time
}

func newExecutor(c *core, k *contact, p *puller, b *units, t *reporter) *executor {
	h := &executor{
		core: c, contact: k, puller: p, units: b, blobs: newBlobs(c), cleaner: newCleaner(c, k, b, t), reaper: &reaper{core: c, units: b},
		later: map[model.RankKey]time.Time{}, waiting: map[model.RankKey]*waiting{}, pruned: time.Now(),
	}
	k.warnings = h.warnings
	b.ended = func(u *unit) {
		t.tail(u)
		h.cleaner.early(u)
	}
	return h
}

// reconcile carries out the plan that follows from the desired set and the existing units.
func (h *executor) reconcile(now fence.Boot) {
	set := h.puller.set
	if set == nil || h.units.loading {
		return
	}
	wanted := make(map[model.RankKey]*model.Assignment, len(set.Ranks))
	for i := range set.Ranks {
		wanted[set.Ranks[i].Rank] = &set.Ranks[i]
	}
	start := h.contact.startFor(set.Index)
	var clean []fence.Action
	for _, step := range fence.Reconcile(set, h.units.locals()) {
		w := wanted[step.Rank]
		switch {
		case step.Do == fence.DoClean:
			clean = append(clean, step)
		case !step.Do.Begins():
			h.act(step, w, set)
		case w != nil && fence.MayStart(now, start, w.Frozen):
			h.advance(step, w, start)
		case w != nil && fence.MayStart(now, h.contact.lease.Start(), w.Frozen):
			h.puller.renew() // the lease is recent enough, and the set too old to contain its renewal
			h.waits(w, "no set of ranks has come since the lease was renewed")
		case w != nil:
			h.waits(w, "no peer has renewed the lease of this node lately")
		}
	}
	h.forgetWaits(wanted, set.Incarnation)
	h.cleaner.show(clean, set.Index)
	h.extend(set)
}

// extend passes raised time limits to the supervisors.
func (h *executor) extend(set *model.Desired) {
	for i := range set.Ranks {
		w := &set.Ranks[i]
		u := h.units.byKey[key{w.Rank, set.Incarnation}]
		if u != nil && w.Frozen.TimeLimit > max(u.record.Frozen.TimeLimit, u.orders.TimeLimit) && u.record.Frozen.TimeLimit > 0 {
			u.order(func(o *runner.Orders) { o.TimeLimit = w.Frozen.TimeLimit })
		}
	}
}

// act does one step of a plan that begins nothing; w is nil for a rank that the set does not name. A failed step comes again
// with the next plan.
func (h *executor) act(step fence.Action, w *model.Assignment, set *model.Desired) {
	u := h.units.byKey[key{step.Rank, step.Incarnation}]
	if step.Do == fence.DoRefuse {
		if u == nil && w != nil && w.Phase > model.RankAssigned {
			h.missing(step, w)
			return
		}
		h.refuse(step, u)
		return
	}
	if u == nil {
		return
	}
	switch step.Do {
	case fence.DoKill:
		u.order(func(o *runner.Orders) { o.Kill, o.Refuse = true, true })
	case fence.DoStop:
		u.order(func(o *runner.Orders) { o.Stop = step.Reason })
	case fence.DoReport:
		if u.confirmed.index <= set.Index { // otherwise the set is older than the report
			u.confirmed.phase = min(u.confirmed.phase, model.RankRunning)
		}
	case fence.DoAdopt:
		h.adopt(u, set.Incarnation)
	case fence.DoRefuse, fence.DoClean, fence.DoRun, fence.DoStart, fence.DoPrepare:
	}
}

// advance does one step that begins something.
func (h *executor) advance(step fence.Action, w *model.Assignment, start fence.Boot) {
	switch {
	case step.Do == fence.DoRun:
	case h.Self.admits(w.Spec.User):
		h.begin(w, start)
		return
	default:
		h.turnAway(step, w.Spec.User)
		return
	}
	if u := h.units.byKey[key{step.Rank, step.Incarnation}]; u != nil {
		delete(h.waiting, step.Rank)
		u.order(func(o *runner.Orders) { o.Run, o.Gang, o.Secret = true, w.Gang, secretOf(w) })
	}
}

// adopt records that a rank is desired under another incarnation.
func (h *executor) adopt(u *unit, i model.Incarnation) {
	if u.life.busy || !due(u.retry) {
		return
	}
	u.life.busy = true
	record := *u.record
	record.Incarnation = runner.Incarnation(i)
	h.background(func() func() {
		err := h.Journal.Insist(func() error {
			return h.units.folder(u.name, func(f *runner.Folder) error { return f.SetRecord(&record) })
		})
		return func() {
			u.life.busy, u.retry = false, later(againSoon)
			if err != nil {
				h.Log.Error("cannot write a rank's record", "folder", u.name, "err", err)
				return
			}
			h.units.drop(u)
			u.record = &record
			u.confirmed = confirmed{} // of a rank that the cluster did not know, it has taken over nothing
			h.units.put(u)
		}
	})
}

// dispatch writes changed orders for the supervisors.
func (h *executor) dispatch() {
	for _, u := range h.units.byName {
		if u.life.alive && u.orders.version != u.orders.sent && !u.orders.sending && due(u.retry) {
			h.send(u)
		}
	}
}

func (h *executor) send(u *unit) {
	u.orders.sending = true
	version, orders, record := u.orders.version, u.orders.Orders, u.record
	h.background(func() func() {
		err := runner.RunFolder{Path: record.Run, Boot: h.Run.Boot}.SetOrders(u.name, orders)
		if err == nil {
			_ = h.Runner.Wake(record) // a supervisor that has not started reads them later, one that has ended needs none
		}
		return func() {
			u.orders.sending = false
			if err != nil {
				u.retry = later(againSoon)
				h.Log.Error("cannot pass orders to a supervisor", "rank", record.Rank, "err", err)
				return
			}
			u.orders.sent = version
		}
	})
}

// cleanUp drops ranks that have ended, once the cluster has confirmed the end and no longer names them.
func (h *executor) cleanUp() {
	for _, u := range h.units.byName {
		known := u.life.past || u.confirmed.phase >= u.phase && u.confirmed.index <= h.puller.index()
		if u.phase.Ended() && known && !u.life.alive && !u.life.busy && due(u.retry) &&
			h.puller.set != nil && !h.units.loading && !h.puller.names(u.record.Rank) {
			h.release(u)
		}
	}
	maps.DeleteFunc(h.later, func(_ model.RankKey, t time.Time) bool { return time.Since(t) > againLater })
}

func (h *executor) release(u *unit) {
	if u.life.held {
		if _, made := h.Journal.Path(u.name); !made {
			h.units.drop(u)
			return
		}
	}
	u.life.busy = true
	prune := time.Since(h.pruned) > time.Minute
	if prune {
		h.pruned = time.Now()
	}
	rank := u.record.Rank
	h.background(func() func() {
		if path, ok := h.Journal.Path(u.name); ok {
			discardPrivate(path)
			if err := h.Keep.copyOut(path, rank); err != nil {
				h.Log.Error("cannot copy a rank's output off the node", "rank", rank, "to", h.Keep.Dir, "err", err)
			}
		}
		err := h.Journal.Confirm(u.name)
		h.Run.Forget(u.name)
		if prune {
			h.prune()
		}
		return func() {
			u.life.busy, u.retry = false, later(againSoon)
			if err != nil {
				h.Log.Error("cannot archive an ended rank's folder", "folder", u.name, "err", err)
				return
			}
			h.units.drop(u)
		}
	})
}

// discardPrivate removes what an ended rank ran with, and its private /tmp: its supervisor may have been killed before it did.
func discardPrivate(path string) {
	if f, err := runner.Open(path); err == nil {
		for _, name := range []string{runner.TmpFolder, runner.ScriptFile, runner.SlurmFile, runner.StdinFile} {
			f.Discard(name)
		}
		_ = f.Close() // nothing was written through it
	}
}

func (h *executor) prune() {
	if gone, err := h.Journal.Prune(time.Now()); err != nil {
		h.Log.Error("cannot remove old ranks' folders", "err", err)
	} else if len(gone) > 0 {
		h.Log.Info("removed old ranks' folders", "count", len(gone))
	}
	if h.Keep.Bytes == 0 {
		return
	}
	if slim, err := h.Journal.Slim(h.Keep.Bytes, heavy()); err != nil {
		h.Log.Error("cannot remove old ranks' output", "err", err)
	} else if len(slim) > 0 {
		h.Log.Info("removed old ranks' output", "count", len(slim))
	}
}
