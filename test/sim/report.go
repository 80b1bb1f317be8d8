package sim

import (
	"context"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
)

// register registers the agent with the state of its folder.
func (a *agent) register() {
	if a.due.registering || time.Now().Before(a.due.register) {
		return
	}
	a.due.registering = true
	a.due.register = time.Now().Add(time.Second)
	phases := map[*unit]model.RankPhase{}
	body := &agentwire.Register{
		Node: a.h.id.node, Machine: a.h.id.machine, Boot: a.names.boot, Lineage: a.names.lineage, Session: a.names.session,
		Hostname: a.h.name, Address: a.h.ip() + ":9000", Version: "sim", CPUs: 64, MemoryMB: 1 << 20,
		Labels: "zone=" + a.h.id.zone, Follows: a.lease.Follows(),
	}
	a.h.mu.Lock()
	body.Devices = a.h.devices()
	for _, u := range a.units {
		body.Folders = append(body.Folders, model.Folder{
			Rank: u.Rank, Incarnation: u.Incarnation, Running: !u.phase.Ended(), GPUs: u.GPUs,
		})
		if p := u.local().Progress(); !u.past && p.Phase >= model.RankTaken {
			phases[u] = p.Phase
			body.Reports = append(body.Reports, a.addressed(p))
		}
	}
	a.h.mu.Unlock()
	call := func(ctx context.Context) (*agentwire.Registered, error) { return a.calls.Register(ctx, body) }
	ask(a, 3*patience, call, func(v *agentwire.Registered) {
		a.due.registering = false
		if v.Code == model.CodeStaleEpoch && a.lease.OutOfTurn(body.Follows, v.Epoch) {
			a.due.register = time.Time{}
			return
		}
		if v.Code != model.CodeOK {
			a.h.w.trace.Note("%s is not let in: %s %s", a.h.name, v.Code, v.Detail)
			a.due.register = time.Now().Add(5 * time.Second)
			return
		}
		if a.lease.Registered(fence.Registration{Incarnation: v.Incarnation, Node: a.h.id.node, Epoch: v.Epoch}) {
			a.heard(v.Peers)
			a.confirm(phases, v.Index)
			a.saveMark()
			a.h.w.trace.Note("%s is registered in epoch %d", a.h.name, v.Epoch)
		}
	}, func() { a.due.registering = false })
}

// addressed adds where a rank that is ready is reached.
func (a *agent) addressed(p model.Progress) model.Progress {
	if p.Phase == model.RankReady {
		p.Address, p.Port = a.h.ip(), 20_000
	}
	return p
}

// confirm notes the progress that the cluster has confirmed.
func (a *agent) confirm(phases map[*unit]model.RankPhase, index uint64) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	for u, phase := range phases {
		u.told = told{max(u.told.phase, phase), max(u.told.index, index)}
	}
}

// saveMark writes the lease's mark, for the next agent.
func (a *agent) saveMark() {
	m := a.lease.Mark(a.names.boot)
	if err := a.disk.put(markFile, m); err != nil {
		a.h.w.trace.Note("%s cannot save its mark: %v", a.h.name, err)
	}
}

// renew sends a renewal every two seconds, answered or not.
func (a *agent) renew(now fence.Boot) {
	if time.Now().Before(a.due.renew) {
		return
	}
	r, ok := a.lease.Send(now)
	if !ok {
		return
	}
	a.due.renew = time.Now().Add(renewEvery)
	q := &agentwire.Renew{
		Node: r.Node, Incarnation: r.Incarnation, Epoch: r.Epoch, Seq: r.Seq,
		Urgent: a.due.urgent || now.Sub(a.lease.Start()) > 3*renewEvery,
	}
	call := func(ctx context.Context) (*agentwire.Renewed, error) { return a.calls.Renew(ctx, q) }
	ask(a, patience, call, func(v *agentwire.Renewed) {
		a.heard(v.Peers)
		if v.Code != model.CodeOK {
			a.lease.Refused(r, v.Code, v.Newest)
			return
		}
		a.inquiry.heard = time.Now()
		a.inquiry.Renewed(v.Voters)
		if a.lease.Accepted(r) {
			a.due.urgent = false
			a.grants = append(a.grants[max(0, len(a.grants)-20):], grant{v.Index, a.lease.Start()})
			if a.h.w.Twists.CountFromAnswer {
				a.due.counted = a.h.clock.reading().Boot
			}
			a.disk.run.set(a.start())
		}
	}, func() {})
}

// poll waits for a change of the desired set.
func (a *agent) poll(now fence.Boot) {
	if a.due.polling || time.Now().Before(a.due.poll) {
		return
	}
	q := &agentwire.Poll{Node: a.h.id.node, Wait: pollWait}
	_, q.After = a.sets.Newest()
	a.h.mu.Lock()
	for _, u := range a.units {
		if u.frozen != 0 {
			q.Fresh, q.After = true, 0
		}
	}
	a.h.mu.Unlock()
	a.due.polling = true
	call := func(ctx context.Context) (*model.Desired, error) { return a.calls.Desired(ctx, q) }
	ask(a, pollWait+2*patience, call, func(d *model.Desired) {
		a.due.polling, a.due.poll = false, time.Now().Add(20*time.Millisecond)
		reg, ok := a.lease.Registration()
		if !ok {
			return
		}
		if a.h.w.Twists.AbsenceKills {
			d.Index = max(d.Index, 1<<40) // as if every set were newer than every placement
			a.wanted = wanted{d, now}
			return
		}
		if a.sets.Accept(reg, d) {
			a.wanted = wanted{d, now}
		}
	}, func() {
		a.due.polling, a.due.poll = false, time.Now().Add(max(500*time.Millisecond, a.h.w.Twists.PollPause))
	})
}

// report reports changes, until the cluster has confirmed them.
func (a *agent) report() {
	reg, ok := a.lease.Registration()
	if a.due.reporting || !ok {
		return
	}
	body := &agentwire.Report{Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Cleaned: a.shown()}
	phases := map[*unit]model.RankPhase{}
	a.h.mu.Lock()
	for _, u := range a.units {
		if p := u.local().Progress(); !u.past && p.Phase >= model.RankTaken && p.Phase > u.told.phase {
			phases[u] = p.Phase
			body.Reports = append(body.Reports, a.addressed(p))
		}
	}
	a.h.mu.Unlock()
	if len(body.Reports)+len(body.Cleaned) == 0 {
		return
	}
	a.due.reporting = true
	call := func(ctx context.Context) (*agentwire.Reported, error) { return a.calls.Report(ctx, body) }
	ask(a, 3*patience, call, func(v *agentwire.Reported) {
		a.due.reporting = false
		if a.outdated(reg, v.Code) {
			return
		}
		for _, c := range body.Cleaned {
			a.clean[c] = max(v.Index, 1)
		}
		a.confirm(phases, v.Index)
	}, func() { a.due.reporting = false })
}

// shown returns the slots that were verified as clean without being in any known state.
func (a *agent) shown() (out []model.Cleaned) {
	for c, at := range a.clean {
		if at == 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y model.Cleaned) int { return x.Slot.Compare(y.Slot) })
	return out
}

// outdated reports whether the answer's code requires the agent to register again.
func (a *agent) outdated(reg fence.Registration, code model.Code) bool {
	a.lease.Refused(fence.Renewal{Registration: reg}, code, 0)
	return code != model.CodeOK
}

// inventory reports the GPUs every five seconds.
func (a *agent) inventory() {
	reg, ok := a.lease.Registration()
	if !ok || time.Now().Before(a.due.inventory) {
		return
	}
	a.due.inventory = time.Now().Add(inventoryEvery)
	a.h.mu.Lock()
	devices := a.h.devices()
	a.h.mu.Unlock()
	q := &agentwire.Inventory{Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Devices: devices}
	call := func(ctx context.Context) (*agentwire.Reported, error) { return a.calls.Inventory(ctx, q) }
	ask(a, 3*patience, call, func(v *agentwire.Reported) { a.outdated(reg, v.Code) }, func() {})
}
