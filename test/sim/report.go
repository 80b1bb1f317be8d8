package sim

import (
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// register makes the agent known with everything that its folder knows.
func (a *agent) register() {
	if a.due.registering || time.Now().Before(a.due.register) {
		return
	}
	a.due.registering = true
	a.due.register = time.Now().Add(time.Second)
	told := map[*unit]model.RankPhase{}
	body := &command.Register{
		Node: a.h.id.node, Machine: a.h.id.machine, Boot: a.names.boot, Lineage: a.names.lineage, Session: a.names.session,
		Hostname: a.h.name, Address: a.h.name + ":9000", Version: "sim", CPUs: 64, MemoryMB: 1 << 20,
	}
	a.h.mu.Lock()
	body.Devices = a.h.devices()
	for _, u := range a.sortedUnits() {
		body.Folders = append(body.Folders, model.Folder{
			Rank: u.Rank, Incarnation: u.Incarnation, Running: !u.phase.Ended(), GPUs: u.GPUs,
		})
		if p := u.local().Progress(); !u.past && p.Phase >= model.RankTaken {
			told[u] = p.Phase
			body.Reports = append(body.Reports, a.addressed(p))
		}
	}
	a.h.mu.Unlock()
	a.propose(body, func(p proposal) {
		a.due.registering = false
		if !p.Result.OK() {
			a.h.w.trace.Note("%s is not let in: %s %s", a.h.name, p.Result.Code, p.Result.Detail)
			a.due.register = time.Now().Add(5 * time.Second)
			return
		}
		if a.lease.Registered(fence.Registration{Incarnation: p.Incarnation, Node: a.h.id.node, Epoch: p.Result.Number}) {
			a.confirm(told)
			a.saveMark()
			a.h.w.trace.Note("%s is registered in epoch %d", a.h.name, p.Result.Number)
		}
	}, func() { a.due.registering = false })
}

// addressed adds where a rank that is ready is reached.
func (a *agent) addressed(p model.Progress) model.Progress {
	if p.Phase == model.RankReady {
		p.Address, p.Port = a.h.name, 20_000
	}
	return p
}

// confirm notes what the cluster has been told.
func (a *agent) confirm(told map[*unit]model.RankPhase) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	for u, phase := range told {
		u.told = max(u.told, phase)
	}
}

// saveMark writes down how the lease stands, for the next agent.
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
	body, err := cbor.Marshal(command.Renewal{Node: r.Node, Incarnation: r.Incarnation, Epoch: r.Epoch, Seq: r.Seq})
	if err != nil {
		return
	}
	a.ask(methodRenew, body, patience, func(answer []byte) {
		var v renewal
		if cbor.Unmarshal(answer, &v) != nil {
			return
		}
		if v.Code != model.CodeOK {
			a.lease.Refused(r, v.Code, 0)
			return
		}
		if a.lease.Accepted(r) {
			a.grants = append(a.grants[max(0, len(a.grants)-20):], grant{v.Index, a.lease.Start()})
			if a.h.w.Twists.CountFromAnswer {
				a.due.counted = a.h.clock.reading().Boot
			}
			a.disk.run.set(a.start())
		}
	}, func() {})
}

// poll waits for what is desired to change.
func (a *agent) poll(now fence.Boot) {
	if a.due.polling || time.Now().Before(a.due.poll) {
		return
	}
	q := poll{Node: a.h.id.node, Wait: pollWait}
	_, q.After = a.sets.Newest()
	a.h.mu.Lock()
	for _, u := range a.units {
		if u.frozen != 0 {
			q.Fresh, q.After = true, 0
		}
	}
	a.h.mu.Unlock()
	body, err := cbor.Marshal(q)
	if err != nil {
		return
	}
	a.due.polling = true
	a.ask(methodDesired, body, pollWait+patience, func(answer []byte) {
		a.due.polling, a.due.poll = false, time.Now().Add(20*time.Millisecond)
		d := new(model.Desired)
		reg, ok := a.lease.Registration()
		if cbor.Unmarshal(answer, d) != nil || !ok {
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

// report tells what has changed, until the cluster has confirmed it.
func (a *agent) report() {
	reg, ok := a.lease.Registration()
	if a.due.reporting || !ok {
		return
	}
	body := &command.Report{Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Cleaned: a.clean}
	told := map[*unit]model.RankPhase{}
	a.h.mu.Lock()
	for _, u := range a.sortedUnits() {
		if p := u.local().Progress(); !u.past && p.Phase >= model.RankTaken && p.Phase > u.told {
			told[u] = p.Phase
			body.Reports = append(body.Reports, a.addressed(p))
		}
	}
	a.h.mu.Unlock()
	if len(body.Reports)+len(body.Cleaned) == 0 {
		return
	}
	a.due.reporting = true
	a.propose(body, func(p proposal) {
		a.due.reporting, a.clean = false, nil
		if a.outdated(reg, p.Result.Code) {
			return
		}
		a.confirm(told)
	}, func() { a.due.reporting = false; a.clean = nil })
}

// outdated says that the answer's code tells the agent to register again.
func (a *agent) outdated(reg fence.Registration, code model.Code) bool {
	a.lease.Refused(fence.Renewal{Registration: reg}, code, 0)
	return code != model.CodeOK
}

// inventory tells what the GPUs look like every five seconds.
func (a *agent) inventory() {
	reg, ok := a.lease.Registration()
	if !ok || time.Now().Before(a.due.inventory) {
		return
	}
	a.due.inventory = time.Now().Add(inventoryEvery)
	a.h.mu.Lock()
	devices := a.h.devices()
	a.h.mu.Unlock()
	a.propose(&command.Inventory{Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Devices: devices},
		func(p proposal) { a.outdated(reg, p.Result.Code) }, func() {})
}
