package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The quick start: its curl and Python examples.
func TestTheQuickStart(t *testing.T) {
	s := apitest.TwoNodes(t)
	apitest.WalkThrough(t, s, []apitest.Step{
		{Method: http.MethodGet, Path: "/gpu/status", Body: "", Want: map[string]any{"cluster_status.available_gpus": 16.0, "cluster_status.utilization_percent": 0.0}},
		{Method: http.MethodPost, Path: "/gpu/initialize", Body: `{"node_count": 2, "gpus_per_node": 8}`, Want: map[string]any{"success": true, "cluster_status.total_gpus": 16.0}},
		{
			Method: http.MethodPost, Path: "/queue/submit", Body: `{"run_id": "experiment-1", "user": "username", "command": "python train.py", "gpu_count": 2, "priority": 2}`,
			Want: map[string]any{"job_id": "1"},
		},
		{Method: http.MethodPost, Path: "/queue/submit", Body: `{"run_id": "bert-training", "user": "researcher1", "command": "python train.py --model bert-large --epochs 10",
			"gpu_count": 4, "gpu_memory_gb": 40, "priority": 3, "estimated_duration_seconds": 3600}`, Want: map[string]any{"job_id": "2"}},
		{Method: http.MethodGet, Path: "/queue", Body: "", Want: map[string]any{"queued.1.id": nil, "running": nil}},
		{Method: http.MethodPatch, Path: "/queue/1/priority", Body: `{"priority": 3}`, Want: map[string]any{"success": true}},
		{Method: http.MethodDelete, Path: "/queue/1", Body: "", Want: map[string]any{"success": true}},
		{Method: http.MethodPost, Path: "/orchestrator/start", Body: "", Want: map[string]any{"success": true}},
		{Method: http.MethodGet, Path: "/orchestrator/status", Body: "", Want: map[string]any{"running": true}},
		{Method: http.MethodPost, Path: "/orchestrator/stop", Body: "", Want: map[string]any{"success": true}},
		{Method: http.MethodPut, Path: "/orchestrator/policy", Body: `{"max_concurrent_jobs": 10, "enable_auto_retry": true}`, Want: nil},
		{Method: http.MethodGet, Path: "/orchestrator/policies", Body: "", Want: map[string]any{"max_concurrent_jobs": 10.0, "enable_auto_retry": true, "max_retries": 3.0}},
	})
	var job wire.Submitted
	s.Submit(`{"command": "x"}`).Into(&job)
	if job.Job.MaxRetries != 3 {
		t.Errorf("a job is tried again %d times", job.Job.MaxRetries)
	}
	s.Submit(`{"command": "x", "max_retries": 0}`).Into(&job)
	if job.Job.MaxRetries != 0 {
		t.Errorf("a job that wants no retries has %d", job.Job.MaxRetries)
	}
	s.Do(http.MethodPut, "/orchestrator/policy", `{"enable_auto_retry": false, "max_concurrent_jobs": "none"}`)
	s.Submit(`{"command": "x"}`).Into(&job)
	if job.Job.MaxRetries != 0 {
		t.Errorf("a job is tried again %d times without auto retry", job.Job.MaxRetries)
	}
	for _, name := range []string{"priority", "fcfs", "sjf", "fair_share", "fair-share", "gang"} {
		if r := s.Do(http.MethodPut, "/orchestrator/policy", `{"policy": "`+name+`"}`); r.Status != http.StatusOK {
			t.Errorf("policy %s: %d %s", name, r.Status, r.Body)
		}
	}
}

// A change of policies is refused as a whole.
func TestWrongPolicies(t *testing.T) {
	s := apitest.New(t)
	before := s.State().Index
	for body, field := range map[string]string{
		`{}`: "policy",
		`{"policy": "fcfs", "policy_config": {"policy": "sjf"}}`:          "policy_config",
		`{"policy_config": {"policy_config": {"policy": "sjf"}}}`:         "policy_config",
		`{"policy_config": {"polcy": "sjf"}}`:                             "polcy",
		`{"enable_auto_retry": true, "parameters": {"max_retries": "0"}}`: "enable_auto_retry",
		`{"enable_auto_retry": "yes"}`:                                    "enable_auto_retry",
		`{"policy": "fcfs", "max_concurrent_jobs": -1}`:                   "max_concurrent_jobs",
		`{"policy": "fcfs", "max_concurrent_jobs": 1.5}`:                  "max_concurrent_jobs",
		`{"policy": "fcfs", "parameters": {"max_retries": "1001"}}`:       "parameters",
	} {
		s.Do(http.MethodPut, "/orchestrator/policy", body).About(field)
	}
	if s.State().Index != before {
		t.Error("something was changed")
	}
}

// No request sets up nodes.
func TestInitialize(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodPost, "/gpu/initialize", `{}`).Problem(http.StatusConflict, "conflict")
	s = apitest.TwoNodes(t)
	s.Do(http.MethodPost, "/gpu/initialize", `{"node_count": 3, "gpus_per_node": 8}`).Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodPost, "/gpu/initialize", `{"node_count": 2, "gpus_per_node": 4}`).Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodPost, "/gpu/initialize", `{"node_count": 0}`).About("node_count")
	s.Do(http.MethodPost, "/gpu/initialize", `{"nodes": 2}`).About("nodes")
	s = apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("gmi-node-1", 8) })
	p := s.Do(http.MethodPost, "/gpu/initialize", `{"node_count": 1}`).Problem(http.StatusConflict, "conflict")
	if !strings.Contains(p.Detail, "real GPUs") {
		t.Errorf("real GPUs are refused with %q", p.Detail)
	}
}
