package jobs

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// While ended jobs fill the memory that they may take, because the archives do not follow, users cannot
// submit and operators can.
func TestEndedJobsKeepUsersFromSubmitting(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		ended  uint64
		capped bool
		want   model.Code
	}{
		{state.MaxEndedBytes, true, model.CodeOK},
		{2 * state.MaxEndedBytes, true, model.CodeLimit},
		{2 * state.MaxEndedBytes, false, model.CodeOK},
	} {
		x := tx.Begin(&state.State{}, state.Meta{Index: 1, Term: 1, At: 1})
		x.Settings.EndedBytes = v.ended
		b := &command.Submit{Spec: model.Spec{User: "eve", Command: "true"}, Tasks: 1, Capped: v.capped}
		if r := withinShares(x, b); r.Code != v.want {
			t.Errorf("with %d bytes of ended jobs, capped %t: %+v, want %s", v.ended, v.capped, r, v.want)
		}
	}
}

// The last tenth of the memory of all jobs, and of the queue, is for operators.
func TestATenthIsKeptForOperators(t *testing.T) {
	t.Parallel()
	whole := model.ScopeKey{Kind: model.ScopeCluster}
	limit := model.NoLimit(whole)
	limit.Queued = 1000
	for what, use := range map[string]model.Usage{
		"memory": {Scope: whole, Bytes: state.MaxJobBytes - state.MaxJobBytes/state.OperatorPart},
		"queue":  {Scope: whole, Queued: 900},
	} {
		x := tx.Begin(&state.State{}, state.Meta{Index: 1, Term: 1, At: 1})
		x.Usage.Put(use)
		x.Limits.Put(limit)
		for capped, want := range map[bool]model.Code{true: model.CodeLimit, false: model.CodeOK} {
			b := &command.Submit{Spec: model.Spec{User: "eve", Command: "true"}, Tasks: 1, Capped: capped}
			if r := withinShares(x, b); r.Code != want {
				t.Errorf("%s, capped %t: %+v, want %s", what, capped, r, want)
			}
		}
	}
}

// A small queue is not divided; of a large one a user may have half, and operators have a tenth for themselves.
func TestQueueShare(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64][2]int64{
		model.Unlimited: {model.Unlimited, model.Unlimited}, 0: {0, 0}, 999: {999, 999}, 1000: {500, 900}, 100_000: {50_000, 90_000},
	} {
		if user, all := queueShare(limit); user != want[0] || all != want[1] {
			t.Errorf("of %d a user may have %d and all %d, want %v", limit, user, all, want)
		}
	}
}

// Deliveries to receivers of jobs and users leave room for webhooks of the whole cluster.
func TestDeliveriesLeaveRoomForOperators(t *testing.T) {
	t.Parallel()
	x := tx.Begin(&state.State{}, state.Meta{Index: 1, Term: 1, At: 1})
	own, all := &outbox.Webhook{Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "eve"}},
		&outbox.Webhook{Scope: model.ScopeKey{Kind: model.ScopeCluster}}
	for i := range outbox.MaxPending {
		tx.Send(x, &model.Notice{Index: 1, Ordinal: uint32(i)}, outbox.OutletID(fmt.Sprint("job:", i)), "https://192.0.2.1/", tx.MostPending(own))
	}
	if n := x.Outgoing.Now().Len(); n != outbox.MaxPending-state.MaxPendingKept {
		t.Errorf("%d deliveries wait, want %d", n, outbox.MaxPending-state.MaxPendingKept)
	}
	tx.Send(x, &model.Notice{Index: 2}, outbox.WebhookID("all").Outlet(), "", tx.MostPending(all))
	if out, _ := x.Outlets.Get(outbox.WebhookID("all").Outlet()); out.Pending != 1 {
		t.Errorf("the webhook of the cluster: %+v", out)
	}
}
