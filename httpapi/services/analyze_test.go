package services_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The published example's workload is analyzed against the cluster's GPUs, by any peer,
// also one that knows no leader.
func TestAWorkloadIsAnalyzed(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	s.Lead(forward.Leader{})
	var p wire.WorkloadPlan
	s.Do(http.MethodPost, "/gpu/workload", `{"service_name": "training", "workload_type": "training",
		"workload_data": {"model_size": "large", "batch_size": 128, "our_own": {"a": [1]}}}`).Into(&p)
	if p.GPUs != 2 || p.GPUType != "H200" || !p.Fits || p.MemoryMB < 100000 || p.MemoryMB > 144384 || p.Priority != 5 ||
		len(p.Ignored) != 1 || len(p.Reasoning) < 4 || p.ServiceName != "training" {
		t.Errorf("%+v", p)
	}
	for body, field := range map[string]string{
		`{"workload_type": "x"}`:                               "workload_type",
		`{"workload_data": {"batch_size": -1}}`:                "workload_data.batch_size",
		`{"workload_data": [1]}`:                               "workload_data",
		`{"workload": "training"}`:                             "workload",
		`{"service_name": "` + strings.Repeat("x", 129) + `"}`: "service_name",
	} {
		s.Do(http.MethodPost, "/gpu/workload", body).About(field)
	}
	s.Do(http.MethodPost, "/gpu/workload", `{"workload_data": {"a": 1, "a": 2}}`).Problem(http.StatusBadRequest, wire.CodeMalformed)
}

// What runs of the name have used is found in the state, of one user and of all.
func TestAnalysisKnowsEarlierRuns(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 8)
		for i := range 6 {
			a := c.Place(c.Submit(2, func(b *command.Submit) { b.Spec.Name, b.Spec.User = "bert", []string{"ann", "bob"}[i%2] }))
			c.Start(a)
			c.Do(n.Report(model.Progress{
				Rank: a.Rank(0), Phase: model.RankExited,
				Exit: model.Exit{Ran: time.Hour, PeakMB: uint32(10000 + 10000*(i%2))},
			}))
			n.Clean()
		}
	})
	for user, mb := range map[string]int64{"": 22016, `, "user": "ann"`: 11008, `, "user": "carl"`: 8192} {
		var p wire.WorkloadPlan
		s.Do(http.MethodPost, "/gpu/workload", `{"service_name": "bert"`+user+`}`).Into(&p)
		if p.MemoryMB != mb || (p.GPUs == 2) != (mb != 8192) {
			t.Errorf("user %s: %+v", user, p)
		}
	}
}
