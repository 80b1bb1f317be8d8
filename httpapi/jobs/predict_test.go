package jobs_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// How right predictions were is told with the policies and as metrics, and what runs
// like a job's have taken with the job.
func TestPredictions(t *testing.T) {
	s := apitest.New(t)
	var p wire.Policies
	s.Do(http.MethodGet, "/orchestrator/policies", "").Into(&p)
	if p.Predictions == nil || len(p.Predictions) != 0 || strings.Contains(string(s.Do(http.MethodGet, "/metrics", "").Body), "berth_prediction") {
		t.Errorf("before anything was predicted: %+v", p.Predictions)
	}
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 1)
		run := func(ran time.Duration, changes ...func(*command.Submit)) {
			a := c.Place(c.Submit(1, changes...))
			c.Start(a)
			c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Ran: ran}}))
			n.Clean()
		}
		for range 4 {
			run(1536 * time.Second)
		}
		run(4 * 1536 * time.Second)
		run(8*time.Hour, func(b *command.Submit) { b.Spec.Estimate, b.Spec.Name = time.Hour, "other" })
		c.Submit(1)
	})
	s.Do(http.MethodGet, "/orchestrator/policies", "").Into(&p)
	want := []wire.Prediction{
		{Source: "estimate", Attempts: 1, ErrorDoublings: 3, MeanErrorFactor: 8},
		{Source: "history", Attempts: 2, WithinFactorTwo: 1, ErrorDoublings: 2, MeanErrorFactor: 2},
	}
	if !reflect.DeepEqual(p.Predictions, want) {
		t.Errorf("%+v", p.Predictions)
	}
	text := string(s.Do(http.MethodGet, "/metrics", "").Body)
	for _, line := range []string{
		"# TYPE berth_prediction_attempts_total counter", `berth_prediction_attempts_total{source="history"} 2`,
		`berth_prediction_within_factor_two_total{source="history"} 1`, `berth_prediction_within_factor_two_total{source="estimate"} 0`,
		`berth_prediction_error_doublings_total{source="estimate"} 3`, "# TYPE berth_gpu_used_seconds_total counter",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if got := s.Detail("/jobs/7").Similar; got == nil || *got != (wire.Similar{Runs: 5, P25Seconds: 1344, P50Seconds: 1664, P75Seconds: 1984}) {
		t.Errorf("%+v", got)
	}
	if got := s.Detail("/jobs/6").Similar; got != nil {
		t.Errorf("of one run: %+v", got)
	}
}
