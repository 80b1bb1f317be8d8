package node

import (
	"context"
	"errors"
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
	asked   fence.Boot // when the set was requested
	named   map[model.RankKey]bool
	cancel  context.CancelFunc // of the poll under way; nil: none
	prompt  bool               // that poll is answered at once
	old     bool               // the set is too old to begin anything by, though its content is unchanged
	next    time.Time
}

func newPuller(c *core, k *contact) *puller { return &puller{core: c, contact: k} }

// index returns the index of the newest set; 0: none.
func (p *puller) index() uint64 {
	if p.set == nil {
		return 0
	}
	return p.set.Index
}

// pollNow requests an immediate poll in place of the one under way.
func (p *puller) pollNow() {
	p.next = time.Time{}
	if p.cancel != nil && !p.prompt {
		p.cancel()
	}
}

// renew requests the set again, changed or not.
func (p *puller) renew() {
	if p.old || p.prompt && p.cancel != nil {
		return
	}
	p.old = true
	p.pollNow()
}

// wants reports whether a set that was requested after an instant names the unit.
func (p *puller) wants(u *unit, after fence.Boot) bool {
	return p.set != nil && p.asked > after && p.set.Incarnation == model.Incarnation(u.record.Incarnation) &&
		slices.ContainsFunc(p.set.Ranks, func(r model.Assignment) bool { return r.Rank == u.record.Rank })
}

// names reports whether the newest set names a rank.
func (p *puller) names(r model.RankKey) bool { return p.named[r] }

// poll waits for a change of the desired set. With fresh it requests everything ever acknowledged, at once.
func (p *puller) poll(now fence.Boot, fresh bool) {
	if p.cancel != nil {
		return
	}
	pause := time.Until(p.next)
	q := &agentwire.Poll{Node: p.Self.Node, Wait: pollWait, Fresh: fresh}
	if _, q.After = p.sets.Newest(); fresh || p.old || p.set == nil {
		q.After = 0
	}
	ctx, cancel := context.WithTimeout(p.ctx, pollWait+2*patience)
	p.cancel, p.prompt, p.next = cancel, q.After == 0, later(max(pause, 0)+pollEvery)
	p.old = false
	p.background(func() func() {
		d, err := p.ask(ctx, q, pause)
		hurried := errors.Is(ctx.Err(), context.Canceled)
		cancel()
		return func() {
			p.cancel = nil
			switch {
			case err == nil:
				p.take(d, now)
			case !hurried:
				p.next = later(againSoon)
				p.Log.Debug("poll failed", "err", err)
			}
		}
	})
}

// ask sends a poll after a pause.
func (p *puller) ask(ctx context.Context, q *agentwire.Poll, pause time.Duration) (*model.Desired, error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.Cluster.Desired(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
