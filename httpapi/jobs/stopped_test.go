package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// predicted returns, for every place that shows the start of a job, whether a start is shown there. Of
// a prediction an earlier one is shown for 20 times the cost that is given.
func predicted(s *apitest.Site, cost time.Duration) map[string]bool {
	var plan wire.Plan
	var queue wire.Queue
	var detail wire.Detail
	var run wire.Run
	var tried, asked wire.Submitted
	for _, v := range []struct {
		method, path, body string
		into               any
	}{
		{http.MethodGet, "/queue/plan", "", &plan},
		{http.MethodGet, "/queue", "", &queue},
		{http.MethodGet, "/jobs/2", "", &detail},
		{http.MethodGet, "/runs/2", "", &run},
		{http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x"}`, &tried},
		{http.MethodPost, "/queue/submit", `{"command":"x"}`, &asked},
	} {
		s.ForecastTook(cost)
		s.Do(v.method, v.path, v.body).Into(v.into)
	}
	return map[string]bool{
		"plan": plan.Waiting[0].Start != nil || plan.Waiting[0].End != nil, "queue": queue.Queued[0].PlannedStart != nil, "brief": queue.QueuedJobs[0].Wait != nil,
		"job": detail.PlannedStart != nil, "explanation": detail.Explanation.PlannedStart != nil, "run": !run.Queue.Start.IsZero(),
		"dry run": tried.PlannedStart != nil, "submission": asked.PlannedStart != nil,
	}
}

// While the scheduler starts nothing the start of a job is not predicted, also where a
// forecast was made a moment ago.
func TestNoStartIsPredictedWhileNothingStarts(t *testing.T) {
	s := busy(t)
	s.Submit(`{"command":"x","run_id":"2"}`)
	for _, v := range []struct {
		body command.Body
		why  blocker.Code
	}{{&command.SetRunning{}, blocker.CodeStopped}, {&command.Restored{Incarnation: statetest.Incarnation(9)}, blocker.CodeStandstill}} {
		s.With(func(c *statetest.Cluster) { c.Do(&command.SetRunning{Running: true}) })
		for where, is := range predicted(s, 0) {
			if !is {
				t.Errorf("before %s: the %s shows no start", v.why, where)
			}
		}
		s.With(func(c *statetest.Cluster) { c.Do(v.body) })
		for where, is := range predicted(s, time.Hour) {
			if is {
				t.Errorf("%s: the %s shows a start", v.why, where)
			}
		}
		var plan wire.Plan
		s.Do(http.MethodGet, "/queue/plan", "").Into(&plan)
		if plan.Waiting[0].After != string(v.why) || plan.Running[0].End == nil {
			t.Errorf("%s: the plan says %+v", v.why, plan)
		}
	}
}
