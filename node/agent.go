package node

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// tick is the interval at which an idle agent reads its clocks.
const tick = 250 * time.Millisecond

// Agent is a node's agent.
type Agent struct {
	*core
	contact  *contact
	puller   *puller
	units    *units
	executor *executor
	reporter *reporter
	owner    *gpuOwner
	space    *space
	watcher  watcher
	before   fence.Reading
	asks     chan chan<- Standing
}

// New returns an agent that does nothing before Run.
func New(c Config) *Agent { return &Agent{core: &core{Config: c}, asks: make(chan chan<- Standing)} }

// Run runs the agent until the context ends or the data folder becomes unusable. Ranks and their supervisors
// continue to run.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.core.worker = newWorker(ctx)
	defer a.core.work.Wait()
	defer cancel()
	a.units = newUnits(a.core)
	a.contact = newContact(a.core, a.units)
	a.puller = newPuller(a.core, a.contact)
	a.reporter = newReporter(a.core, a.contact, a.units)
	a.space = newSpace(a.core, a.reporter.changed)
	a.contact.space, a.reporter.space = a.space, a.space
	a.reporter.accounts = newAccounts(a.core, a.reporter.changed)
	a.executor = newExecutor(a.core, a.contact, a.puller, a.units, a.reporter)
	a.executor.space = a.space
	if err := a.units.open(); err != nil {
		return err
	}
	a.owner = &gpuOwner{}
	a.owner.note(a.units, a.puller.set)
	a.core.work.Go(func() { a.GPUs.Run(ctx, a.owner) })
	a.before = a.Clock()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		a.step()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case then := <-a.inbox:
			then()
		case e := <-a.Runner.Events():
			a.units.update(e)
		case <-a.GPUs.Changed():
			a.reporter.changed()
		case answer := <-a.asks:
			answer <- a.standing()
		}
		a.drain()
	}
}

// drain runs all pending results, so that one step covers them.
func (a *Agent) drain() {
	for {
		select {
		case then := <-a.inbox:
			then()
		case e := <-a.Runner.Events():
			a.units.update(e)
		default:
			return
		}
	}
}

// step performs the work that is due.
func (a *Agent) step() {
	now := a.Clock()
	a.watch(now)
	a.units.refresh()
	a.owner.note(a.units, a.puller.set)
	a.watcher.note(a.units)
	a.space.watch()
	a.reporter.accounts.watch()
	a.executor.reaper.reap()
	a.executor.dispatch()
	if _, ok := a.contact.lease.Registration(); !ok {
		a.contact.register()
		return
	}
	a.contact.renew(now.Boot)
	a.puller.poll(now.Boot, a.units.frozen())
	a.executor.reconcile(now.Boot)
	a.executor.dispatch()
	a.reporter.report()
	a.reporter.inventory()
	a.executor.cleanUp()
}

// watch freezes the running ranks after a clock gap (host suspended?), and thaws them once the cluster has
// confirmed the lease.
func (a *Agent) watch(now fence.Reading) {
	must := fence.MustFreeze(a.before, now, a.units.shortest())
	a.before = now
	if must {
		a.Log.Warn("clock gap (host suspended?): ranks frozen until the lease is confirmed")
		a.contact.away.inquiry.Forget()
		a.contact.renewNow()
		a.puller.pollNow()
	}
	for _, u := range a.units.byName {
		if u.phase.Ended() {
			continue
		}
		if must {
			u.order(func(o *runner.Orders) { o.Freeze = time.Duration(now.Boot) })
		}
		since := fence.Boot(u.status.Frozen)
		if since != 0 && fence.MayThaw(now.Boot, since, a.contact.startFor(a.puller.index()), a.puller.wants(u, since), u.record.Frozen) {
			u.order(func(o *runner.Orders) { o.Thaw = max(o.Thaw, u.status.Frozen) })
		}
	}
}

// outdated reports whether a code requires the agent to register again.
func outdated(code model.Code) bool {
	return code == model.CodeStaleEpoch || code == model.CodeStaleIncarnation
}
