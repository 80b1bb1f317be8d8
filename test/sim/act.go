package sim

import (
	"maps"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// still is the desired set and the units when nothing was left to do: the plan that follows from the same again is as empty.
type still struct {
	set   *model.Desired
	local []fence.Local
}

// reconcile carries out the plan that follows from the desired set and the existing units.
func (a *agent) reconcile() {
	if a.wanted.set == nil {
		return
	}
	local := make([]fence.Local, 0, len(a.units))
	a.h.mu.Lock()
	for _, u := range a.units {
		local = append(local, u.local())
	}
	a.h.mu.Unlock()
	maps.DeleteFunc(a.clean, func(_ model.Cleaned, at uint64) bool { return at > 0 && at <= a.wanted.set.Index })
	if a.still.set == a.wanted.set && slices.Equal(a.still.local, local) {
		return
	}
	steps := fence.Reconcile(a.wanted.set, local)
	if len(steps) == 0 {
		a.still = still{a.wanted.set, local}
	}
	for _, step := range steps {
		if a.life.ctx.Err() != nil {
			return
		}
		a.act(step)
	}
}

// act does one step of a plan. What fails comes again with the next plan.
func (a *agent) act(step fence.Action) {
	u := a.units.get(step.Rank)
	if step.Do.Begins() && !a.mayBegin(step.Rank) {
		return
	}
	switch step.Do {
	case fence.DoStart:
		a.begin(step.Rank, true)
	case fence.DoPrepare:
		a.begin(step.Rank, false)
	case fence.DoRefuse:
		if u != nil || !a.h.w.Twists.Forgets {
			a.refuse(step, u)
		}
	case fence.DoAdopt:
		record := u.folder
		record.Incarnation = a.wanted.set.Incarnation
		if a.disk.put(folderName(u.Rank), record) == nil {
			u.Incarnation = record.Incarnation
		}
	case fence.DoClean:
		a.show(step)
	case fence.DoKill, fence.DoStop, fence.DoRun, fence.DoReport:
		a.order(step, u)
	}
}

// order changes a unit's orders for its supervisor.
func (a *agent) order(step fence.Action, u *unit) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	switch step.Do {
	case fence.DoKill:
		if !u.orders.kill {
			a.h.w.oracle.mayKill(a.h.name, step.Rank)
		}
		u.orders.kill, u.orders.refuse = true, true
		if u.phase != model.RankRunning && !u.alive {
			u.phase, u.past = model.RankNever, true // a start that broke off
		}
	case fence.DoStop:
		u.orders.stop = step.Reason
	case fence.DoRun:
		u.orders.run = true
	case fence.DoReport:
		if u.told.index <= a.wanted.set.Index { // otherwise the set is older than the report
			u.told.phase = min(u.told.phase, model.RankRunning)
		}
	case fence.DoRefuse, fence.DoClean, fence.DoAdopt, fence.DoStart, fence.DoPrepare:
	}
}

// mayBegin reports whether the fence lets anything new begin for a rank.
func (a *agent) mayBegin(r model.RankKey) bool {
	now := a.h.clock.reading().Boot
	for i := range a.wanted.set.Ranks {
		if w := &a.wanted.set.Ranks[i]; w.Rank == r {
			return fence.MayStart(now, a.startNow(), w.Frozen)
		}
	}
	return false
}

// begin makes a rank's folder and starts its supervisor.
func (a *agent) begin(r model.RankKey, run bool) {
	for i := range a.wanted.set.Ranks {
		w := &a.wanted.set.Ranks[i]
		if w.Rank != r {
			continue
		}
		u := &unit{
			folder: folder{
				Rank: r, Incarnation: a.wanted.set.Incarnation, Placed: w.Placed, Boot: a.names.boot, Frozen: w.Frozen,
				GPUs: w.GPUs, Command: w.Spec.Command,
			},
			phase: model.RankTaken, orders: orders{run: run}, guard: fence.NewGuard(a.startNow(), w.Frozen),
		}
		if a.h.w.Twists.TakenEarly {
			a.h.mu.Lock()
			u.alive = true
			a.units.put(u)
			a.h.mu.Unlock()
		}
		if err := a.disk.create(u.folder); err != nil {
			a.recover(u)
			return
		}
		a.employ(u)
	}
}

// keep takes a unit into the agent's and the host's lists. The host's lock is held.
func (a *agent) keep(u *unit) {
	a.units.put(u)
	a.h.units[u.Rank] = u
}

// employ puts a new unit under a supervisor, unless the agent has ended meanwhile.
func (a *agent) employ(u *unit) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	if a.life.ctx.Err() != nil {
		return
	}
	a.keep(u)
	a.h.supervise(u, a.disk)
}

// recover loads a folder that could not be made, but may exist nevertheless: no rank ever starts in it.
func (a *agent) recover(u *unit) {
	var there folder
	if a.disk.get(folderName(u.Rank), &there) != nil {
		return
	}
	u.folder, u.phase = there, model.RankAssigned
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	a.keep(u)
}

// refuse ensures that a rank never starts here.
func (a *agent) refuse(step fence.Action, u *unit) {
	if u == nil {
		u = &unit{folder: folder{Rank: step.Rank, Incarnation: step.Incarnation, Boot: a.names.boot}}
		if a.disk.create(u.folder) != nil {
			a.recover(u)
			return
		}
		a.h.mu.Lock()
		a.keep(u)
		a.h.mu.Unlock()
	}
	latch, err := a.disk.latch(u.Rank, latchNever)
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	u.orders.refuse = true
	switch {
	case err != nil || u.phase.Ended():
	case latch == latchNever:
		u.phase = model.RankNever
	case !u.alive:
		u.phase = model.RankRunning // it was started, or was about to be, and has no watcher
	}
}

// show verifies whether a slot is clean, and queues the report.
func (a *agent) show(step fence.Action) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	if a.units.get(step.Rank) != nil {
		a.h.kernel.killAll(step.Rank)
	}
	if _, said := a.clean[step.Cleaned()]; !said && a.h.free([]model.GPUID{step.Slot.GPU}) {
		a.clean[step.Cleaned()] = 0
	}
}
