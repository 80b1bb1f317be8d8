package httpapi

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// verdictOf verifies records that this peer keeps; nil: it keeps none.
func verdictOf(ctx context.Context, kept Refusals) (*wire.RequestsVerdict, error) {
	if kept == nil {
		return nil, nil
	}
	v, err := kept.Verify(ctx)
	return &wire.RequestsVerdict{OK: v.Bad == 0, Records: v.Records, FirstBad: v.Bad, What: v.What}, err
}

// checkAgain is the interval at which a peer looks whether its state can be verified.
const checkAgain = time.Second

// CheckRecords verifies once whether the records that this peer keeps are as they were written, and
// logs an error for each kind that is not. It returns after that, or when the context ends.
func CheckRecords(ctx context.Context, a *API) {
	for _, kept := range []struct {
		name string
		of   Refusals
	}{{"refusals", a.peer.Refusals}, {"reads", a.peer.Reads}} {
		if v, err := verdictOf(ctx, kept.of); err != nil {
			a.log.Warn("records cannot be verified", "records", kept.name, "err", err)
		} else if v != nil && !v.OK {
			a.log.Error("records were changed", "records", kept.name, "first_bad", v.FirstBad, "what", v.What)
		}
	}
	for ctx.Err() == nil && a.peer.Archive != nil {
		if s := a.peer.Reader.State(); !s.Settings().Incarnation.IsZero() {
			v, err := audits{a}.verify(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				a.log.Warn("the audit trail cannot be verified", "err", err)
			case v.Body.FirstBad > 0 || v.Body.What != "" && v.Body.Missing == 0:
				a.log.Error("the audit trail was changed", "first_bad", v.Body.FirstBad, "what", v.Body.What)
			default:
				a.log.Info("the audit trail was verified", "records", v.Body.Records, "missing", v.Body.Missing)
			}
			return
		}
		select {
		case <-a.wakes.changed(topics(model.TopicSettings), 0):
		case <-time.After(checkAgain):
		case <-ctx.Done():
		}
	}
}
