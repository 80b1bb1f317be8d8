package node

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// tick is how often an agent looks at its clocks when nothing happens.
const tick = 250 * time.Millisecond

// Agent is a node's agent.
type Agent struct {
	*core
	contact *contact
	puller  *puller
	book    *book
	hands   *hands
	teller  *teller
	owner   *gpuOwner
	room    *room
	watcher watcher
	before  fence.Reading
}

// New makes an agent. Nothing happens before Run.
func New(c Config) *Agent { return &Agent{core: &core{Config: c}} }

// Run is the agent's life: until the context ends, or the data folder turns out to
// be unusable. Ranks and their supervisors go on.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.core.desk = newDesk(ctx)
	defer a.core.work.Wait()
	defer cancel()
	a.book = newBook(a.core)
	a.contact = newContact(a.core, a.book)
	a.puller = newPuller(a.core, a.contact)
	a.teller = newTeller(a.core, a.contact, a.book)
	a.room = newRoom(a.core, a.teller.changed)
	a.contact.room, a.teller.room = a.room, a.room
	a.hands = newHands(a.core, a.contact, a.puller, a.book, a.teller)
	a.hands.room = a.room
	if err := a.book.open(); err != nil {
		return err
	}
	a.owner = &gpuOwner{}
	a.owner.note(a.book, a.puller.set)
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
			a.book.news(e)
		case <-a.GPUs.Changed():
			a.teller.changed()
		}
		a.drain()
	}
}

// drain takes what else has happened, so that one step answers all of it.
func (a *Agent) drain() {
	for {
		select {
		case then := <-a.inbox:
			then()
		case e := <-a.Runner.Events():
			a.book.news(e)
		default:
			return
		}
	}
}

// step does what is due.
func (a *Agent) step() {
	now := a.Clock()
	a.watch(now)
	a.book.refresh()
	a.owner.note(a.book, a.puller.set)
	a.watcher.note(a.book)
	a.room.watch()
	a.hands.burial.bury()
	a.hands.dispatch()
	if _, ok := a.contact.lease.Registration(); !ok {
		a.contact.register()
		return
	}
	a.contact.renew(now.Boot)
	a.puller.poll(now.Boot, a.book.frozen())
	a.hands.reconcile(now.Boot)
	a.hands.dispatch()
	a.teller.report()
	a.teller.inventory()
	a.hands.tidy()
}

// watch freezes what runs if this host seems to have stood still, and lets it go on
// once the cluster has spoken.
func (a *Agent) watch(now fence.Reading) {
	must := fence.MustFreeze(a.before, now, a.book.shortest())
	a.before = now
	if must {
		a.Log.Warn("this host seems to have stood still: its ranks are frozen until the cluster has spoken")
		a.contact.away.inquiry.Forget()
		a.contact.hurry()
		a.puller.hurry()
	}
	for _, u := range a.book.units {
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

// later is so much later than now.
func later(d time.Duration) time.Time { return time.Now().Add(d) }

// due says that an instant has come.
func due(t time.Time) bool { return !time.Now().Before(t) }

// outdated says that a code tells the agent to register again.
func outdated(code model.Code) bool {
	return code == model.CodeStaleEpoch || code == model.CodeStaleIncarnation
}
