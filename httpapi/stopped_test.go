package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// foretold is what a job is told of its start, everywhere that it is told.
func foretold(s *site) map[string]bool {
	var plan wire.Plan
	var queue wire.Queue
	var detail wire.Detail
	var run wire.Run
	var tried, asked wire.Submitted
	s.do(http.MethodGet, "/queue/plan", "").into(&plan)
	s.do(http.MethodGet, "/queue", "").into(&queue)
	s.do(http.MethodGet, "/jobs/2", "").into(&detail)
	s.do(http.MethodGet, "/runs/2", "").into(&run)
	if dry := s.do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x"}`); dry.status != http.StatusTooManyRequests { // dry runs are rationed
		dry.into(&tried)
	}
	s.do(http.MethodPost, "/queue/submit", `{"command":"x"}`).into(&asked)
	return map[string]bool{
		"plan": plan.Waiting[0].Start != nil || plan.Waiting[0].End != nil, "queue": queue.Queued[0].PlannedStart != nil, "brief": queue.QueuedJobs[0].Wait != nil,
		"job": detail.PlannedStart != nil, "explanation": detail.Explanation.PlannedStart != nil, "run": !run.Queue.Start.IsZero(),
		"dry run": tried.PlannedStart != nil, "submission": asked.PlannedStart != nil,
	}
}

// While the scheduler starts nothing the start of a job is not predicted, also where a
// forecast was made a moment ago.
func TestNoStartIsForetoldWhileNothingStarts(t *testing.T) {
	s := busy(t)
	s.submit(`{"command":"x","run_id":"2"}`)
	told := func() bool {
		for _, is := range foretold(s) {
			if !is {
				return false
			}
		}
		return true
	}
	for _, v := range []struct {
		body command.Body
		why  blocker.Code
	}{{&command.SetRunning{}, blocker.CodeStopped}, {&command.Restored{Incarnation: statetest.Incarnation(9)}, blocker.CodeStandstill}} {
		s.with(func(c *statetest.Cluster) { c.Do(&command.SetRunning{Running: true}) })
		for until := time.Now().Add(time.Minute); !told(); { // a forecast may be a moment old
			if time.Now().After(until) {
				t.Fatalf("while jobs are started: %v", foretold(s))
			}
		}
		s.with(func(c *statetest.Cluster) { c.Do(v.body) })
		for where, is := range foretold(s) {
			if is {
				t.Errorf("%s: the %s foretells a start", v.why, where)
			}
		}
		var plan wire.Plan
		s.do(http.MethodGet, "/queue/plan", "").into(&plan)
		if plan.Waiting[0].After != string(v.why) || plan.Running[0].End == nil {
			t.Errorf("%s: the plan says %+v", v.why, plan)
		}
	}
}
