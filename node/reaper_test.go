package node

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// A supervisor that is killed at any step of the end of its rank leaves a true end: that of the job if it is known, else the reason
// of the stop or fence that was under way, else that the rank was killed.
func TestASupervisorIsKilledAtAnyStepOfAnEnd(t *testing.T) {
	killed, own := model.Exit{Signal: 9}, model.Exit{Code: 4, Ran: 5}
	requeued, cut, limit := killed, killed, killed
	requeued.Delivered, limit.Delivered, cut.Fenced = model.ReasonRequeue, model.ReasonTimeLimit, true
	ownAndAsked := own
	ownAndAsked.Delivered = model.ReasonRequeue
	for name, v := range map[string]struct {
		status runner.Status
		orders runner.Orders
		want   model.Exit
	}{
		"no process is known":           {runner.Status{Phase: model.RankTaken}, runner.Orders{}, cut},
		"running":                       {runner.Status{Session: 7}, runner.Orders{}, killed},
		"a stop is ordered":             {runner.Status{Session: 7}, runner.Orders{Stop: model.ReasonRequeue}, requeued},
		"its signals are on their way":  {runner.Status{Session: 7, Stopping: model.ReasonRequeue}, runner.Orders{}, requeued},
		"they have reached the job":     {runner.Status{Session: 7, Stopping: model.ReasonRequeue, Delivered: model.ReasonRequeue}, runner.Orders{}, requeued},
		"a stronger one follows":        {runner.Status{Session: 7, Delivered: model.ReasonRequeue, Stopping: model.ReasonTimeLimit}, runner.Orders{}, limit},
		"the fence has begun":           {runner.Status{Session: 7, Fenced: true}, runner.Orders{}, cut},
		"it is to be killed":            {runner.Status{Session: 7}, runner.Orders{Kill: true}, cut},
		"the job has ended":             {runner.Status{Session: 7, Ended: &own}, runner.Orders{}, own},
		"the job has ended, then order": {runner.Status{Session: 7, Ended: &own}, runner.Orders{Stop: model.ReasonRequeue, Kill: true}, own},
		"the job has ended by the stop": {runner.Status{Session: 7, Ended: &own, Delivered: model.ReasonRequeue}, runner.Orders{}, ownAndAsked},
	} {
		v.status.Nonce = "a"
		u := &unit{record: &runner.Record{Nonce: "a"}, status: v.status, orders: orders{Orders: v.orders}}
		if got := cutOff(u); got != v.want {
			t.Errorf("%s: %+v, want %+v", name, got, v.want)
		}
	}
	if got := cutOff(&unit{record: &runner.Record{Nonce: "a"}}); got != killed {
		t.Errorf("without a status: %+v, want %+v", got, killed)
	}
}
