package admin

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// verdictOf verifies records that this peer keeps.
func verdictOf(ctx context.Context, kept port.Refusals) (*wire.RequestsVerdict, error) {
	v, err := kept.Verify(ctx)
	return &wire.RequestsVerdict{OK: v.Bad == 0, Records: v.Records, FirstBad: v.Bad, What: v.What}, err
}

// checkAgain is the interval at which a peer looks whether its state can be verified.
const checkAgain = time.Second

// CheckRecords verifies once whether the records that this peer keeps are as they were written, and
// logs an error for each kind that is not. It returns after that, or when the context ends.
func CheckRecords(ctx context.Context, a *core.API) {
	for _, kept := range []struct {
		name string
		of   port.Refusals
	}{{"refusals", a.Peer.Refusals}, {"reads", a.Peer.Reads}} {
		if v, err := verdictOf(ctx, kept.of); err != nil {
			a.Log.Warn("records cannot be verified", "records", kept.name, "err", err)
		} else if !v.OK {
			a.Log.Error("records were changed", "records", kept.name, "first_bad", v.FirstBad, "what", v.What)
		}
	}
	for ctx.Err() == nil {
		if s := a.State(); !s.Settings().Incarnation.IsZero() {
			v, err := audits{a}.verify(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				a.Log.Warn("the audit trail cannot be verified", "err", err)
			case v.Body.FirstBad > 0 || v.Body.What != "" && v.Body.Missing == 0:
				a.Log.Error("the audit trail was changed", "first_bad", v.Body.FirstBad, "what", v.Body.What)
			default:
				a.Log.Info("the audit trail was verified", "records", v.Body.Records, "missing", v.Body.Missing)
			}
			return
		}
		select {
		case <-a.Changed(core.Topics(model.TopicSettings), 0):
		case <-time.After(checkAgain):
		case <-ctx.Done():
		}
	}
}
