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
	return p.renew.wait(ctx, renewing{r, urgent})
}

type renewing struct {
	renewal command.Renewal
	urgent  bool
}

// maxGathered renewals fit into a control entry with room to spare.
const maxGathered = 256

// openFor returns how long an entry with a renewal may stay open for more.
func (t *Tuning) openFor(r renewing) time.Duration {
	if r.urgent {
		return t.RenewWindow
	}
	return max(t.RenewRest, t.RenewWindow)
}

// proposeRenewals bounds its wait, so that one lost entry does not hold up the renewals behind it.
func (p *Peer) proposeRenewals(ctx context.Context, batch []renewing) ([]model.Code, error) {
	renewals := make([]command.Renewal, len(batch))
	for i := range batch {
		renewals[i] = batch[i].renewal
	}
	c, err := command.New(actor(p), &command.Renew{Renewals: renewals})
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
