package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// busy is a site with one node of four GPUs, on which job 1 runs for two hours.
func busy(t *testing.T) *apitest.Site {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.Submit(`{"command":"x","gpu_count":4,"name":"first","time_limit":"2h","estimated_duration":"1h"}`)
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	return s
}

// The plan tells when what runs will end, and when and where what waits will start;
// each job that waits says the same of itself.
func TestPlan(t *testing.T) {
	s := busy(t)
	s.Submit(`{"command":"x","gpu_count":2,"time_limit":"30m"}`)
	s.Submit(`{"command":"x","hold":true}`)
	s.Submit(`{"command":"x","array_size":2}`)
	var p wire.Plan
	s.ForecastTook(0)
	s.Do(http.MethodGet, "/queue/plan", "").Into(&p)
	if len(p.Running) != 1 || p.Running[0].JobID != "1" || p.Running[0].End.Expected.Sub(p.At).Hours() != 1 ||
		p.Running[0].End.Latest.Sub(p.At).Hours() != 2 {
		t.Errorf("what runs: %+v", p.Running)
	}
	if len(p.Waiting) != 4 || p.Beyond != 0 {
		t.Fatalf("what waits: %+v", p.Waiting)
	}
	next := p.Waiting[0]
	if next.JobID != "2" || next.Start == nil || next.Start.Expected != p.Running[0].End.Expected || next.Position != 1 ||
		len(next.Nodes) != 1 || next.Nodes[0] != "n1" || next.End.Expected.Sub(next.Start.Expected).Minutes() != 30 {
		t.Errorf("next is %+v", next)
	}
	var queue wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&queue)
	var detail wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "").Into(&detail)
	if q := queue.Queued[0].PlannedStart; q == nil || *q != *next.Start || *detail.Explanation.PlannedStart != *next.Start {
		t.Errorf("the queue says %+v, the job %+v, the plan %+v", q, detail.Explanation.PlannedStart, next.Start)
	}
	for _, e := range p.Waiting {
		if e.JobID == "3" && (e.Start != nil || e.After != "held" || e.Position != 0) || e.JobID == "4" && e.Task == nil {
			t.Errorf("%+v", e)
		}
	}
}

// Jobs without a name are called in plans and explanations what the queue calls them.
func TestPlanCallsJobsByWhatTheyRun(t *testing.T) {
	s := busy(t)
	s.Submit(`{"args":["python","train.py"],"gpu_count":4}`)
	s.Submit(`{"command":"cd /data\n./eval","gpu_count":4}`)
	s.Submit(`{"command":"x","run_id":"run-7","gpu_count":4}`)
	var p wire.Plan
	s.ForecastTook(0)
	s.Do(http.MethodGet, "/queue/plan", "").Into(&p)
	var last wire.Detail
	s.Do(http.MethodGet, "/jobs/4", "").Into(&last)
	if len(p.Waiting) != 3 || len(last.Explanation.Ahead) != 2 {
		t.Fatalf("the plan is %+v, job 4 %+v", p.Waiting, last.Explanation)
	}
	for i, want := range []string{"python train.py", "cd /data ./eval", "run-7"} {
		if got := p.Waiting[i].Name; got != want {
			t.Errorf("the plan calls job %s %q, not %q", p.Waiting[i].JobID, got, want)
		}
		if i < 2 && last.Explanation.Ahead[i].Name != want {
			t.Errorf("ahead is %+v, not %q", last.Explanation.Ahead[i], want)
		}
	}
}

// A job that must make way for a reservation shows when, and until when.
func TestPlanTellsOfSuspensions(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.Submit(`{"command":"x","gpu_count":3,"estimated_duration":"4h","preemptible":true}`)
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	start := s.API.Now(new(s.State())).Time().Add(time.Hour)
	end := start.Add(30 * time.Minute)
	s.Do(http.MethodPost, "/reservations", `{"user":"zoe","gpu_count":2,"start":"`+start.Format(time.RFC3339Nano)+`","end":"`+end.Format(time.RFC3339Nano)+`"}`).Into(new(wire.Reserved))
	s.ForecastTook(0) // after a short one another is made at once
	var p wire.Plan
	s.Do(http.MethodGet, "/queue/plan", "").Into(&p)
	pauses := p.Running[0].Pauses
	if len(pauses) != 1 || pauses[0].From.Sub(start) < 0 || pauses[0].From.Sub(start) > 5*time.Minute || pauses[0].Until.Sub(end) < 0 ||
		pauses[0].Until.Sub(end) > 5*time.Minute {
		t.Errorf("between %s and %s it is suspended %+v", start, end, pauses)
	}
}

// A reader that waits for another plan gets the index of the state of the last one, so that
// what it lacks is not passed over.
func TestPlanOfAMomentAgo(t *testing.T) {
	s := busy(t)
	first := s.Do(http.MethodGet, "/queue/plan", "")
	s.ForecastTook(time.Hour)
	s.Submit(`{"command":"x"}`)
	second := s.Do(http.MethodGet, "/queue/plan", "")
	if a, b := first.Header.Get(wire.HeaderIndex), second.Header.Get(wire.HeaderIndex); a != b || a == "" {
		t.Errorf("a plan of index %s is said to be of index %s", a, b)
	}
	s.ForecastTook(0)
	var p wire.Plan
	s.Do(http.MethodGet, "/queue/plan?wait=1m&index="+second.Header.Get(wire.HeaderIndex), "").Into(&p)
	if len(p.Waiting) != 1 {
		t.Errorf("a waiting reader gets %+v", p.Waiting)
	}
}

// What was foreseen under another policy or tuning is not told once that is changed.
func TestPlanOfAnotherPolicy(t *testing.T) {
	s := busy(t)
	at := func() string { return s.Do(http.MethodGet, "/queue/plan", "").Header.Get(wire.HeaderIndex) }
	last := at()
	for _, change := range []string{`{"policy":"sjf"}`, `{"parameters":{"depth":"3"}}`} {
		s.ForecastTook(time.Hour)
		s.Do(http.MethodPut, "/orchestrator/policy", change).Into(new(wire.Orchestrator))
		next := at()
		if next == last {
			t.Errorf("after %s the plan is still that of index %s", change, last)
		}
		last = next
	}
}

// Dry runs are made one at a time and within a bound. Submissions do not wait for them: one is taken
// while the turn is not given back, where a dry run is refused.
func TestDryRunsAreBounded(t *testing.T) {
	s := busy(t)
	trials := &s.API.Places.Trials
	ask := func() *apitest.Reply {
		return s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","gpu_count":2}`)
	}
	trials.Begin(0)
	r := ask()
	r.Problem(http.StatusTooManyRequests, wire.CodeOverloaded)
	s.Submit(`{"command":"x","gpu_count":2}`).Into(new(wire.Submitted))
	trials.End(time.Now())
	ask().Into(new(wire.Submitted))
	trials.Begin(0)
	trials.End(time.Now().Add(-5*time.Second - time.Minute))
	if r = ask(); r.Header.Get("Retry-After") < "1" || len(r.Header.Get("Retry-After")) != 4 {
		t.Errorf("it is to be asked again after %s s", r.Header.Get("Retry-After"))
	}
	r.Problem(http.StatusTooManyRequests, wire.CodeOverloaded)
	if now := s.State(); now.Queue.Len() != 1 {
		t.Errorf("%d wait", now.Queue.Len())
	}
}

// A dry run says what a submission would, and changes nothing.
func TestDryRun(t *testing.T) {
	s := busy(t)
	before := s.State()
	var out wire.Submitted
	s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","gpu_count":2}`).Into(&out)
	if !out.DryRun || out.JobID != "" || out.QueuePosition != 1 || out.PlannedStart == nil || len(out.Explanation.Blockers) != 1 {
		t.Errorf("it would be %+v", out)
	}
	s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","gpu_count":200}`).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","dependencies":["afterok:77"]}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	if after := s.State(); after.Index != before.Index {
		t.Errorf("a dry run wrote entries up to %d", after.Index)
	}
	s.ForecastTook(0)
	var done wire.Submitted
	s.Do(http.MethodPost, "/queue/submit", `{"command":"x","gpu_count":2}`).Into(&done)
	if done.DryRun || done.PlannedStart == nil || *done.PlannedStart != *out.PlannedStart {
		t.Errorf("a dry run foresaw %+v, the submission %+v", out.PlannedStart, done.PlannedStart)
	}
}

// In a long queue a submission's answer has no forecast, whether the jobs that wait have GPUs or not.
func TestNoForecastInALongQueue(t *testing.T) {
	s := busy(t)
	s.ForecastTook(0)
	s.With(func(c *statetest.Cluster) {
		c.Submit(0, func(b *command.Submit) {
			b.Spec.GPUs, b.Spec.Preemptible, b.Spec.CPUs, b.Spec.MemoryMB, b.Tasks = 0, false, 1, 1000, 65
		})
	})
	var out wire.Submitted
	s.Do(http.MethodPost, "/queue/submit", `{"command":"x","gpu_count":2}`).Into(&out)
	if out.JobID == "" || out.PlannedStart != nil {
		t.Errorf("behind 65 tasks the answer is %+v", out)
	}
}

// lasting is a site with two nodes of four GPUs under fair share, on which jobs run that take so long
// and must not be stopped.
func lasting(t *testing.T, takes ...time.Duration) *apitest.Site {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Node("n2", 4)
		c.Do(&command.SetPolicy{Policy: model.DefaultPolicy})
		for i, d := range takes {
			spec := statetest.Job(2)
			spec.Spec.Estimate, spec.Spec.TimeLimit, spec.Spec.Preemptible = d, d, false
			c.Do(spec)
			c.Place(model.JobID(i + 1))
		}
	})
	return s
}

// A job that must not be stopped for others is told what that costs: here it keeps off
// a node that a gang waits for.
func TestWhatItCostsNotToYield(t *testing.T) {
	s := lasting(t, time.Hour)
	s.Submit(`{"command":"x","nodes":2,"gpu_count":8,"estimated_duration":"10m"}`)
	ask := func(more string) (out wire.Submitted) {
		s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","gpu_count":2,"estimated_duration":"8h"`+more+`}`).Into(&out)
		return out
	}
	stays, yields := ask(""), ask(`,"preemptible":true`)
	if b := stays.Explanation.Blockers; len(b) != 1 || b[0].Code != string(blocker.CodeBarred) {
		t.Errorf("it is kept by %+v", b)
	}
	if stays.IfPreemptible == nil || yields.IfPreemptible != nil || !yields.PlannedStart.Expected.Before(stays.PlannedStart.Expected) {
		t.Errorf("it would start %+v, preemptible %+v, which really is %+v", stays.PlannedStart, stays.IfPreemptible, yields.PlannedStart)
	}
}

// A job that is not expected to start before its deadline shows that, and what being preemptible would change.
func TestADeadlineThatIsForetoldToBeMissed(t *testing.T) {
	s := lasting(t, 20*time.Minute, 5*time.Hour)
	const late = `{"command":"x","gpu_count":8,"nodes":2,"estimated_duration":"10m","deadline":"+1h"}`
	var dry, done wire.Submitted
	s.Do(http.MethodPost, "/queue/submit?dry_run=true", late).Into(&dry)
	if !dry.Late || dry.PlannedStart != nil || dry.IfPreemptible != nil {
		t.Errorf("it would be %+v", dry)
	}
	s.Do(http.MethodPost, "/queue/submit", late).Into(&done)
	if !done.Late {
		t.Errorf("it is %+v", done)
	}
	s.ForecastTook(0)
	var p wire.Plan
	s.Do(http.MethodGet, "/queue/plan", "").Into(&p)
	if e := p.Waiting[0]; !e.Late || e.Start != nil || e.End != nil || e.GPUs != 8 {
		t.Errorf("it is planned as %+v", e)
	}
	var why wire.Explanation
	s.Do(http.MethodGet, "/jobs/"+done.JobID+"/explain", "").Into(&why)
	if !why.Late {
		t.Errorf("it is explained as %+v", why)
	}
	var small wire.Submitted
	s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","estimated_duration":"10m","deadline":"+1h"}`).Into(&small)
	if small.Late {
		t.Errorf("a job that fits next to it would be %+v", small)
	}
}
