package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
)

// The technical design: its endpoints, bodies and data models.
func TestTheDesignDocument(t *testing.T) {
	s := apitest.TwoNodes(t)
	apitest.WalkThrough(t, s, []apitest.Step{
		{Method: http.MethodGet, Path: "/cluster/gpu-status", Body: "", Want: map[string]any{
			"cluster_status.total_gpus": 16.0, "cluster_status.available_gpus": 16.0, "nodes.0.gpus.0.gpu_id": 0.0,
			"nodes.0.gpus.0.memory_gb": nil, "nodes.0.gpus.0.utilization_percent": nil, "nodes.0.node_id": "gmi-node-1",
		}},
		{
			Method: http.MethodPost, Path: "/queue/submit", Body: `{"command": "python train.py", "gpu_count": 2, "memory_gb": 40, "priority": 2, "estimated_duration": "1h30m"}`,
			Want: map[string]any{"job.gpu_memory_gb": 40.0, "job.estimated_duration_seconds": 5400.0},
		},
		{
			Method: http.MethodPost, Path: "/queue/submit", Body: `{"command": "python train.py", "gpu_count": 2, "memory_gb": 40, "priority": 2, "estimated_duration": 5400}`,
			Want: map[string]any{"job.estimated_duration_seconds": 5400.0},
		},
		{Method: http.MethodPost, Path: "/queue/submit", Body: `{"command": "python eval.py", "run_id": "exp", "user": "ann", "gpu_count": 4, "memory_gb": 40, "priority": 3}`, Want: nil},
		{Method: http.MethodGet, Path: "/queue", Body: "", Want: map[string]any{
			"queuedJobs.0.id": nil, "queuedJobs.0.runId": nil, "queuedJobs.0.user": nil, "queuedJobs.0.priority": nil,
			"queuedJobs.0.requestedGpus": nil, "queuedJobs.0.queuedAt": nil, "queuedJobs.0.estimatedWaitTime": nil,
			"statistics.totalQueued": 3.0, "statistics.averageWaitTime": nil, "statistics.queueThroughput": nil,
		}},
		{Method: http.MethodGet, Path: "/queue/statistics", Body: "", Want: apitest.Fields("totalQueued", "averageWaitTime", "queueThroughput")},
		{Method: http.MethodPatch, Path: "/queue/1/priority", Body: `{"priority": 4}`, Want: map[string]any{"success": true}},
		{Method: http.MethodGet, Path: "/runs/exp", Body: "", Want: map[string]any{
			"gpuAllocation.requestedGpus": 4.0, "gpuAllocation.requestedMemoryGb": 40.0, "gpuAllocation.allocatedGpus": nil,
			"queueInfo.queuedAt": nil, "queueInfo.queuePosition": nil,
			"orchestrationMetadata.schedulingPolicy": "fcfs", "orchestrationMetadata.priority": 3.0,
			"orchestrationMetadata.retryCount": 0.0, "orchestrationMetadata.maxRetries": 0.0,
		}},
		{Method: http.MethodDelete, Path: "/queue/1", Body: "", Want: map[string]any{"success": true}},
		{Method: http.MethodGet, Path: "/orchestrator/status", Body: "", Want: apitest.Fields("running", "policy")},
		{Method: http.MethodPost, Path: "/orchestrator/stop", Body: "", Want: map[string]any{"success": true, "running": false}},
		{Method: http.MethodPost, Path: "/orchestrator/start", Body: "", Want: map[string]any{"success": true, "running": true}},
		{
			Method: http.MethodPut, Path: "/orchestrator/policies", Body: `{"policy_config": {"policy": "gang", "max_concurrent_jobs": 7, "parameters": {"half_life": "72h"}}}`,
			Want: map[string]any{"policy": "gang"},
		},
		{Method: http.MethodGet, Path: "/orchestrator/policies", Body: "", Want: map[string]any{
			"policy": "gang", "max_concurrent_jobs": 7.0, "policy_config.policy": "gang", "policy_config.parameters.half_life": "72h0m0s",
		}},
		{Method: http.MethodGet, Path: "/cluster/state", Body: "", Want: map[string]any{
			"gpuResources.totalGpus": 16.0, "gpuResources.availableGpus": 16.0, "gpuResources.allocatedGpus": 0.0,
			"gpuResources.nodes.0.nodeId": "gmi-node-1", "gpuResources.nodes.0.hostname": nil, "gpuResources.nodes.0.gpuCount": 8.0,
			"gpuResources.nodes.0.gpuType": nil, "gpuResources.nodes.0.gpus.0.id": 0.0, "gpuResources.nodes.0.gpus.0.memoryTotal": nil,
			"gpuResources.nodes.0.gpus.0.memoryUsed": nil, "gpuResources.nodes.0.gpus.0.utilization": nil,
			"rayCluster.headNode": "", "rayCluster.connected": false, "rayCluster.version": "", "rayCluster.workers": 0.0,
		}},
	})
}

// GPUs for a job that another scheduler runs: one allocation a job at a time, released by
// the job's name.
func TestGPUsForAJob(t *testing.T) {
	s := apitest.TwoNodes(t)
	s.Do(http.MethodPost, "/orchestrator/stop", "")
	apitest.WalkThrough(t, s, []apitest.Step{
		{
			Method: http.MethodPost, Path: "/cluster/gpu-allocate", Body: `{"job_id": "550e8400", "gpu_count": 4, "memory_gb": 40}`,
			Want: map[string]any{"success": true, "status": "queued", "job_id": "550e8400", "allocation.gpu_count": 4.0, "queue_position": 1.0},
		},
	})
	s.Do(http.MethodPost, "/orchestrator/start", "")
	st := s.State()
	one, found := state.AllocatedFor(&st, "550e8400")
	if !found {
		t.Fatal("nothing is allocated")
	}
	apitest.Grant(s, one.ID, "gmi-node-2")
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "550e8400", "gpu_count": 1}`).Problem(http.StatusConflict, "conflict")
	apitest.WalkThrough(t, s, []apitest.Step{
		{Method: http.MethodGet, Path: "/gpu/allocations/" + string(one.ID), Body: "", Want: map[string]any{"status": "allocated", "ttl_seconds": 86400.0, "expires_at": nil, "node_id": "gmi-node-2"}},
		{Method: http.MethodGet, Path: "/cluster/gpu-status", Body: "", Want: map[string]any{"cluster_status.allocated_gpus": 4.0, "nodes.1.gpus.0.allocated_to": "550e8400"}},
		{Method: http.MethodGet, Path: "/cluster/state", Body: "", Want: map[string]any{"gpuResources.nodes.1.gpus.0.allocatedTo": "550e8400"}},
		{Method: http.MethodPost, Path: "/cluster/gpu-release", Body: `{"job_id": "550e8400"}`, Want: map[string]any{"success": true, "status": "released"}},
	})
	s.Do(http.MethodPost, "/cluster/gpu-release", `{"job_id": "550e8400"}`).Problem(http.StatusNotFound, "not_found")
	s.Do(http.MethodPost, "/cluster/gpu-release", `{}`).About("job_id")
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"gpu_count": 1}`).About("job_id")
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1", "gpu_count": 0}`).About("gpu_count")
	s.Submit(`{"command": "x", "user": "ann"}`)
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1"}`)
	st = s.State()
	if a, _ := state.AllocatedFor(&st, "1"); a.Job != 1 || a.TTL != 0 || a.User != "ann" {
		t.Errorf("for this cluster's own job there is %+v", a)
	}
}

// A run that runs shows its GPUs; the newest job of a run stands for it.
func TestRuns(t *testing.T) {
	s := apitest.TwoNodes(t)
	s.Submit(`{"command": "a", "run_id": "exp-1", "gpu_count": 2}`)
	s.Submit(`{"command": "b", "run_id": "exp-1", "gpu_count": 2}`)
	s.With(func(c *statetest.Cluster) { c.Start(c.Place(2)) })
	apitest.WalkThrough(t, s, []apitest.Step{{Method: http.MethodGet, Path: "/runs/exp-1?all=true", Body: "", Want: map[string]any{
		"job_id": "2", "state": "running", "gpuAllocation.allocatedGpus.1.gpuId": 1.0, "gpuAllocation.allocatedGpus.0.nodeId": nil,
		"gpuAllocation.allocatedGpus.0.memoryGb": nil, "gpuAllocation.allocationTime": nil, "queueInfo.queuePosition": 0.0,
		"runs.0.job_id": "2", "runs.1.job_id": "1",
	}}})
	s.Do(http.MethodGet, "/runs/other", "").Problem(http.StatusNotFound, "not_found")
}

// The class of a priority from 5 to 10 is that of services.
func TestPrioritiesOfJobs(t *testing.T) {
	s := apitest.New(t)
	for p, class := range map[string]model.Class{"1": 1, "4": 4, "5": 2, "7": 3, "10": 4} {
		s.Submit(`{"command": "x", "priority": ` + p + `}`)
		st := s.State()
		for _, j := range st.Jobs.Back() {
			if j.Spec.Class != class {
				t.Errorf("priority %s is class %s", p, j.Spec.Class)
			}
			break
		}
	}
}
