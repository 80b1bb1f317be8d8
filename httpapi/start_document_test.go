package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The quick start: its curl and Python examples.
func TestTheQuickStart(t *testing.T) {
	s := twoNodes(t)
	walkThrough(t, s, []step{
		{http.MethodGet, "/gpu/status", "", map[string]any{"cluster_status.available_gpus": 16.0, "cluster_status.utilization_percent": 0.0}},
		{http.MethodPost, "/gpu/initialize", `{"node_count": 2, "gpus_per_node": 8}`, map[string]any{"success": true, "cluster_status.total_gpus": 16.0}},
		{
			http.MethodPost, "/queue/submit", `{"run_id": "experiment-1", "user": "username", "command": "python train.py", "gpu_count": 2, "priority": 2}`,
			map[string]any{"job_id": "1"},
		},
		{http.MethodPost, "/queue/submit", `{"run_id": "bert-training", "user": "researcher1", "command": "python train.py --model bert-large --epochs 10",
			"gpu_count": 4, "gpu_memory_gb": 40, "priority": 3, "estimated_duration_seconds": 3600}`, map[string]any{"job_id": "2"}},
		{http.MethodGet, "/queue", "", map[string]any{"queued.1.id": nil, "running": nil}},
		{http.MethodPatch, "/queue/1/priority", `{"priority": 3}`, map[string]any{"success": true}},
		{http.MethodDelete, "/queue/1", "", map[string]any{"success": true}},
		{http.MethodPost, "/orchestrator/start", "", map[string]any{"success": true}},
		{http.MethodGet, "/orchestrator/status", "", map[string]any{"running": true}},
		{http.MethodPost, "/orchestrator/stop", "", map[string]any{"success": true}},
		{http.MethodPut, "/orchestrator/policy", `{"max_concurrent_jobs": 10, "enable_auto_retry": true}`, nil},
		{http.MethodGet, "/orchestrator/policies", "", map[string]any{"max_concurrent_jobs": 10.0, "enable_auto_retry": true, "max_retries": 3.0}},
	})
	var job wire.Submitted
	s.submit(`{"command": "x"}`).into(&job)
	if job.Job.MaxRetries != 3 {
		t.Errorf("a job is tried again %d times", job.Job.MaxRetries)
	}
	s.submit(`{"command": "x", "max_retries": 0}`).into(&job)
	if job.Job.MaxRetries != 0 {
		t.Errorf("a job that wants no retries has %d", job.Job.MaxRetries)
	}
	s.do(http.MethodPut, "/orchestrator/policy", `{"enable_auto_retry": false, "max_concurrent_jobs": "none"}`)
	s.submit(`{"command": "x"}`).into(&job)
	if job.Job.MaxRetries != 0 {
		t.Errorf("a job is tried again %d times without auto retry", job.Job.MaxRetries)
	}
	for _, name := range []string{"priority", "fcfs", "sjf", "fair_share", "fair-share", "gang"} {
		if r := s.do(http.MethodPut, "/orchestrator/policy", `{"policy": "`+name+`"}`); r.status != http.StatusOK {
			t.Errorf("policy %s: %d %s", name, r.status, r.body)
		}
	}
}

// A change of policies is refused as a whole.
func TestWrongPolicies(t *testing.T) {
	s := newSite(t)
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
		s.do(http.MethodPut, "/orchestrator/policy", body).about(field)
	}
	if s.State().Index != before {
		t.Error("something was changed")
	}
}

// No request sets up nodes.
func TestInitialize(t *testing.T) {
	s := newSite(t)
	s.do(http.MethodPost, "/gpu/initialize", `{}`).problem(http.StatusConflict, "conflict")
	s = twoNodes(t)
	s.do(http.MethodPost, "/gpu/initialize", `{"node_count": 3, "gpus_per_node": 8}`).problem(http.StatusConflict, "conflict")
	s.do(http.MethodPost, "/gpu/initialize", `{"node_count": 2, "gpus_per_node": 4}`).problem(http.StatusConflict, "conflict")
	s.do(http.MethodPost, "/gpu/initialize", `{"node_count": 0}`).about("node_count")
	s.do(http.MethodPost, "/gpu/initialize", `{"nodes": 2}`).about("nodes")
	s = newSite(t)
	s.with(func(c *statetest.Cluster) { c.Node("gmi-node-1", 8) })
	p := s.do(http.MethodPost, "/gpu/initialize", `{"node_count": 1}`).problem(http.StatusConflict, "conflict")
	if !strings.Contains(p.Detail, "real GPUs") {
		t.Errorf("real GPUs are refused with %q", p.Detail)
	}
}
