package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The queue tells of each job that waits what keeps it, as its explanation tells it first.
func TestTheQueueTellsReasons(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Do(&command.AdjustLimit{
			Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, Set: []model.LimitValue{{Of: model.LimitGPUs, Value: 1}},
		})
	})
	at := s.now().Add(10 * time.Minute)
	s.do(http.MethodPost, "/reservations", `{"user":"zoe","gpu_count":2,"start":"`+at.Format(time.RFC3339Nano)+`","duration":"1h"}`).into(new(wire.Reserved))
	s.submit(`{"command":"x","gpu_count":1,"time_limit":"8h"}`)
	s.with(func(c *statetest.Cluster) { c.Place(1) })
	for _, body := range []string{
		`{"command":"x","user":"bob","gpu_count":2}`, `{"command":"x","gpu_count":2,"time_limit":"8h"}`, `{"command":"x","gpu_count":4,"time_limit":"1m"}`,
		`{"command":"x","hold":true}`, `{"command":"x","dependencies":["afterok:1"]}`, `{"command":"x","time_limit":"2m"}`,
	} {
		s.submit(body).into(new(wire.Submitted))
	}
	s.forecastTook(0)
	var q wire.Queue
	s.do(http.MethodGet, "/queue", "").into(&q)
	got := map[string]string{}
	for i := range q.Queued {
		got[q.Queued[i].ID] = q.Queued[i].Reason
	}
	for id, want := range map[string]string{"2": "limit", "3": "reservation", "4": "gpus", "5": "held", "6": "waits for job 1", "7": ""} {
		if got[id] != want {
			t.Errorf("job %s waits for %q, want %q", id, got[id], want)
		}
		var why wire.Explanation
		s.do(http.MethodGet, "/jobs/"+id+"/explain", "").into(&why)
		if len(why.Blockers) > 0 && len(want) > 0 && why.Blockers[0].Code != want && id < "6" {
			t.Errorf("job %s is explained by %+v", id, why.Blockers)
		}
	}
	s.do(http.MethodPost, "/orchestrator/stop", "").into(new(wire.Switched))
	s.do(http.MethodGet, "/queue", "").into(&q)
	if r := q.Queued[0].Reason; r != "orchestrator_stopped" {
		t.Errorf("while nothing starts it waits for %q", r)
	}
}
