package node

import (
	"context"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	pollWait  = 10 * time.Second     // a peer that hangs costs no more than this and a call's patience
	pollEvery = 5 * time.Millisecond // at most; under load one set brings many changes
)

// puller keeps the newest desired set.
type puller struct {
	*core
	contact *contact
	sets    fence.Sets
	set     *model.Desired
	asked   fence.Boot // when the set was asked for
	named   map[model.RankKey]bool
	cancel  context.CancelFunc // of the poll under way; nil: there is none
	fresh   bool               // that poll asked for what is newest
	next    time.Time
}

func newPuller(c *core, k *contact) *puller { return &puller{core: c, contact: k} }

// index is that of the newest set; 0: there is none.
func (p *puller) index() uint64 {
	if p.set == nil {
		return 0
	}
	return p.set.Index
}

// hurry has the next poll sent at once, in place of the one under way.
func (p *puller) hurry() {
	p.next = time.Time{}
	if p.cancel != nil && !p.fresh {
		p.cancel()
	}
}

// wants says that a set that was asked for after an instant names the unit.
func (p *puller) wants(u *unit, after fence.Boot) bool {
	return p.set != nil && p.asked > after && p.set.Incarnation == model.Incarnation(u.record.Incarnation) &&
		slices.ContainsFunc(p.set.Ranks, func(r model.Assignment) bool { return r.Rank == u.record.Rank })
}

// names says that the newest set has something to say of a rank.
func (p *puller) names(r model.RankKey) bool { return p.named[r] }

// poll waits for what is desired to change. With fresh it asks for all that was
// ever acknowledged, at once.
func (p *puller) poll(now fence.Boot, fresh bool) {
	if p.cancel != nil || !due(p.next) {
		return
	}
	q := &agentwire.Poll{Node: p.Self.Node, Wait: pollWait, Fresh: fresh}
	if _, q.After = p.sets.Newest(); fresh || p.set == nil {
		q.After = 0
	}
	ctx, cancel := context.WithTimeout(p.ctx, pollWait+2*patience)
	p.cancel, p.fresh, p.next = cancel, fresh, later(pollEvery)
	if fresh {
		p.next = later(againSoon)
	}
	p.beside(func() func() {
		d, err := p.Cluster.Desired(ctx, q)
		cancel()
		return func() {
			p.cancel = nil
			if err != nil {
				p.next = later(againSoon)
				p.Log.Debug("what is desired is not known", "err", err)
				return
			}
			p.take(d, now)
		}
	})
}

func (p *puller) take(d *model.Desired, asked fence.Boot) {
	reg, ok := p.contact.lease.Registration()
	if !ok || !p.sets.Accept(reg, d) {
		p.next = later(againSoon / 10) // a peer that lags will have caught up
		return
	}
	p.set, p.asked = d, asked
	p.named = make(map[model.RankKey]bool, len(d.Ranks)+len(d.Clean))
	for i := range d.Ranks {
		p.named[d.Ranks[i].Rank] = true
	}
	for _, c := range d.Clean {
		p.named[c.Rank] = true
	}
}
