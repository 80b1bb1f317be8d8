package cluster

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Renew renews a node's lease through the log and answers once the renewal has been applied: model.CodeOK, or
// the reason of the refusal. It shares a log entry with all renewals of up to [Tuning].RenewRest, since an
// entry costs each peer tens of kilobytes on its disk; an urgent one (something on the node waits for the
// answer) closes the entry after [Tuning].RenewWindow. The errors are those of Propose. A renewal must never
// be repeated: the next try is another renewal with another number.
func (p *Peer) Renew(ctx context.Context, r command.Renewal, urgent bool) (model.Code, error) {
	if err := p.mayPropose(command.LaneControl); err != nil {
		return 0, err
	}
	w := renewing{r, urgent, make(chan renewed, 1)}
	select {
	case p.renew.in <- w:
	case <-p.life.ctx.Done():
		return 0, peer.ErrClosed
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	select {
	case v := <-w.done:
		return v.code, v.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

type renewing struct {
	renewal command.Renewal
	urgent  bool
	done    chan renewed
}

type renewed struct {
	code model.Code
	err  error
}

// gatherer collects renewals and proposes them as one command.
type gatherer struct {
	window  time.Duration // how long an entry stays open for more after an urgent renewal
	rest    time.Duration // and without one
	propose func(context.Context, []command.Renewal) ([]model.Code, error)
	in      chan renewing
}

// maxGathered renewals fit into a control entry with room to spare.
const maxGathered = 256

func newGatherer(t Tuning, propose func(context.Context, []command.Renewal) ([]model.Code, error)) *gatherer {
	return &gatherer{window: t.RenewWindow, rest: max(t.RenewRest, t.RenewWindow), propose: propose, in: make(chan renewing)}
}

func (g *gatherer) run(ctx context.Context) {
	for {
		select {
		case first := <-g.in:
			g.send(ctx, g.gather(ctx, first))
		case <-ctx.Done():
			return
		}
	}
}

func (g *gatherer) gather(ctx context.Context, first renewing) []renewing {
	batch := []renewing{first}
	open := g.rest
	urgent := first.urgent
	if urgent {
		open = g.window
	}
	closing := time.NewTimer(open)
	defer closing.Stop()
	for len(batch) < maxGathered {
		select {
		case next := <-g.in:
			batch = append(batch, next)
			if next.urgent && !urgent {
				urgent = true
				closing.Reset(g.window)
			}
		case <-closing.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

func (g *gatherer) send(ctx context.Context, batch []renewing) {
	renewals := make([]command.Renewal, len(batch))
	for i := range batch {
		renewals[i] = batch[i].renewal
	}
	codes, err := g.propose(ctx, renewals)
	for i := range batch {
		v := renewed{err: err}
		if err == nil {
			v.code = codes[i]
		}
		batch[i].done <- v
	}
}

// proposeRenewals bounds its wait, so that one lost entry does not hold up the renewals behind it.
func (p proposer) proposeRenewals(ctx context.Context, renewals []command.Renewal) ([]model.Code, error) {
	c, err := command.New(actor(p.Peer), &command.Renew{Renewals: renewals})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	results, _, err := p.Propose(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(results[0].Verdicts) != len(renewals) {
		return nil, peer.ErrOutcomeUnknown
	}
	return results[0].Verdicts, nil
}

func actor(p *Peer) string { return "peer:" + string(p.cfg.Self.ID) }
