package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The queue tells of each job that waits what keeps it, as its explanation tells it first.
func TestTheQueueTellsReasons(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Do(&command.AdjustLimit{
			Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, Set: []model.LimitValue{{Of: model.LimitGPUs, Value: 1}},
		})
	})
	at := s.Now().Add(10 * time.Minute)
	s.Do(http.MethodPost, "/reservations", `{"user":"zoe","gpu_count":2,"start":"`+at.Format(time.RFC3339Nano)+`","duration":"1h"}`).Into(new(wire.Reserved))
	s.Submit(`{"command":"x","gpu_count":1,"time_limit":"8h"}`)
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	for _, body := range []string{
		`{"command":"x","user":"bob","gpu_count":2}`, `{"command":"x","gpu_count":2,"time_limit":"8h"}`, `{"command":"x","gpu_count":4,"time_limit":"1m"}`,
		`{"command":"x","hold":true}`, `{"command":"x","dependencies":["afterok:1"]}`, `{"command":"x","time_limit":"2m"}`,
	} {
		s.Submit(body).Into(new(wire.Submitted))
	}
	s.ForecastTook(0)
	var q wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&q)
	got := map[string]string{}
	for i := range q.Queued {
		got[q.Queued[i].ID] = q.Queued[i].Reason
	}
	for id, want := range map[string]string{"2": "limit", "3": "reservation", "4": "gpus", "5": "held", "6": "waits for job 1", "7": ""} {
		if got[id] != want {
			t.Errorf("job %s waits for %q, want %q", id, got[id], want)
		}
		var why wire.Explanation
		s.Do(http.MethodGet, "/jobs/"+id+"/explain", "").Into(&why)
		if len(why.Blockers) > 0 && len(want) > 0 && why.Blockers[0].Code != want && id < "6" {
			t.Errorf("job %s is explained by %+v", id, why.Blockers)
		}
	}
	s.Do(http.MethodPost, "/orchestrator/stop", "").Into(new(wire.Switched))
	s.Do(http.MethodGet, "/queue", "").Into(&q)
	if r := q.Queued[0].Reason; r != "orchestrator_stopped" {
		t.Errorf("while nothing starts it waits for %q", r)
	}
}
