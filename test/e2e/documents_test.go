package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// request is one as the owner's documents show it, and what of its answer they read:
// paths of fields, and the values that they must have; nil: the field must be there.
type request struct {
	method, path, body string
	want               map[string]any
}

// fields makes each path one that must be there.
func fields(paths ...string) map[string]any {
	out := map[string]any{}
	for _, p := range paths {
		out[p] = nil
	}
	return out
}

// at finds a field by its path, such as queued.0.id.
func at(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case map[string]any:
			next, found := of[name]
			if !found {
				return nil, false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(of) {
				return nil, false
			}
			v = of[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// walk sends requests one after the other and returns the last answer.
func walk(t *testing.T, base string, steps ...request) (got map[string]any) {
	t.Helper()
	for _, v := range steps {
		var status int
		status, got = ask(t, v.method, base+v.path, v.body)
		if status != http.StatusOK {
			t.Errorf("%s %s: %d %v", v.method, v.path, status, got)
		}
		for path, want := range v.want {
			if is, found := at(got, path); !found || want != nil && is != want {
				t.Errorf("%s %s: %s is %v (there: %t), want %v, in %v", v.method, v.path, path, is, found, want, got)
			}
		}
	}
	return got
}

// ask sends a request to one peer and reads the answer.
func ask(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var fields map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&fields); err != nil {
		t.Fatalf("%s %s: not an object: %v", method, url, err)
	}
	return answer.StatusCode, fields
}

// follower is the address of a peer that does not lead.
func follower(c *cluster) string {
	leader := c.leader()
	for _, m := range c.members() {
		if m.Role == "server" && m.Name != leader {
			return "http://" + m.Address
		}
	}
	c.t.Fatal("there is no follower")
	return ""
}

// The design and the quick start, request by request, against a peer that does not lead,
// with the nodes and the scheduler at work.
func TestTheDesignAgainstAFollower(t *testing.T) {
	c := start(t)
	base := follower(c)
	walk(
		t, base,
		request{http.MethodGet, "/gpu/status", "", map[string]any{"cluster_status.available_gpus": 16.0, "cluster_status.utilization_percent": 0.0}},
		request{http.MethodPost, "/gpu/initialize", `{"node_count": 2, "gpus_per_node": 8}`, map[string]any{"success": true, "cluster_status.total_gpus": 16.0}},
		request{http.MethodGet, "/cluster/gpu-status", "", fields("cluster_status.total_gpus", "nodes.1.node_id", "nodes.0.gpus.7.memory_gb",
			"nodes.0.gpus.7.utilization_percent", "nodes.0.gpus.7.gpu_id")},
		request{
			http.MethodPost, "/queue/submit", `{"run_id": "bert-training", "user": "researcher1", "command": "sleep 600",
				"gpu_count": 4, "gpu_memory_gb": 40, "priority": 3, "estimated_duration_seconds": 3600}`,
			map[string]any{"success": true, "job.gpu_memory_gb": 40.0, "job.estimated_duration_seconds": 3600.0, "queue_position": nil},
		},
	)
	c.running("1")
	walk(t, base, whileOneRuns()...)
	foretold(c, base)
	walk(t, base, orchestrating()...)
	walk(t, base, request{http.MethodDelete, "/queue/1", "", map[string]any{"success": true}}) // which runs
	c.ended("1")
	if status, got := ask(t, http.MethodPost, base+"/queue/submit", `{"command": "true", "gpu_count": 17}`); status != http.StatusUnprocessableEntity || got["code"] == nil {
		t.Errorf("17 of 16 GPUs: %d %v", status, got)
	}
}

// whileOneRuns are the design's data models, with a job of four GPUs that runs.
func whileOneRuns() []request {
	return []request{
		{http.MethodGet, "/runs/bert-training", "", map[string]any{
			"gpuAllocation.requestedGpus": 4.0, "gpuAllocation.requestedMemoryGb": 40.0, "gpuAllocation.allocationTime": nil,
			"gpuAllocation.allocatedGpus.3.nodeId": nil, "gpuAllocation.allocatedGpus.3.gpuId": nil, "gpuAllocation.allocatedGpus.3.memoryGb": nil,
			"queueInfo.queuedAt": nil, "queueInfo.queuePosition": 0.0, "orchestrationMetadata.schedulingPolicy": "fair_share",
			"orchestrationMetadata.priority": 3.0, "orchestrationMetadata.retryCount": 0.0, "orchestrationMetadata.maxRetries": nil,
		}},
		{http.MethodGet, "/cluster/state", "", map[string]any{
			"gpuResources.totalGpus": 16.0, "gpuResources.availableGpus": 12.0, "gpuResources.allocatedGpus": 4.0, "gpuResources.nodes.1.nodeId": nil,
			"gpuResources.nodes.0.hostname": nil, "gpuResources.nodes.0.gpuCount": 8.0, "gpuResources.nodes.0.gpuType": nil,
			"gpuResources.nodes.0.gpus.0.id": 0.0, "gpuResources.nodes.0.gpus.0.memoryTotal": nil, "gpuResources.nodes.0.gpus.0.memoryUsed": nil,
			"gpuResources.nodes.0.gpus.0.utilization": nil, "rayCluster.headNode": nil, "rayCluster.connected": false, "rayCluster.version": nil,
			"rayCluster.workers": 0.0,
		}},
		{http.MethodPost, "/queue/submit", `{"command": "true", "run_id": "exp", "user": "ann", "gpu_count": 16, "priority": 2}`, map[string]any{"job_id": "2"}},
		{http.MethodGet, "/queue", "", map[string]any{
			"queued.0.id": "2", "running.0.id": "1", "queuedJobs.0.id": "2", "queuedJobs.0.runId": "exp", "queuedJobs.0.user": "ann", "queuedJobs.0.priority": 2.0,
			"queuedJobs.0.requestedGpus": 16.0, "queuedJobs.0.queuedAt": nil, "statistics.totalQueued": 1.0, "statistics.averageWaitTime": nil,
			"statistics.queueThroughput": nil,
		}},
		{http.MethodGet, "/queue/statistics", "", fields("totalQueued", "averageWaitTime", "queueThroughput")},
		{http.MethodPatch, "/queue/2/priority", `{"priority": 3}`, map[string]any{"success": true}},
		{http.MethodGet, "/orchestrator/status", "", map[string]any{
			"running": true, "stats.jobs_scheduled": nil, "stats.jobs_completed": 0.0, "stats.jobs_failed": 0.0, "stats.scheduling_cycles": nil,
			"resource_summary.total_gpus": 16.0, "resource_summary.available_gpus": 12.0, "resource_summary.allocated_gpus": 4.0,
			"queue_summary.total_jobs": 2.0, "queue_summary.queued": 1.0, "queue_summary.running": 1.0, "queue_summary.completed": 0.0, "queue_summary.failed": 0.0,
		}},
	}
}

// foretold looks for what takes a moment to be known: when a job that waits is expected to
// start, which is when the one that runs is expected to end, and how warm GPUs are.
func foretold(c *cluster, base string) {
	c.t.Helper()
	c.until("a start is foreseen", func() bool {
		_, run := ask(c.t, http.MethodGet, base+"/runs/exp", "")
		text, _ := at(run, "queueInfo.estimatedStartTime")
		when, _ := text.(string)
		start, err := time.Parse(time.RFC3339, when)
		position, _ := at(run, "queueInfo.queuePosition")
		return err == nil && time.Until(start) > 50*time.Minute && time.Until(start) < 70*time.Minute && position == 1.0
	})
	c.until("every GPU's temperature is told", func() bool {
		_, state := ask(c.t, http.MethodGet, base+"/cluster/state", "")
		_, status := ask(c.t, http.MethodGet, base+"/cluster/gpu-status", "")
		for _, v := range []struct {
			of   map[string]any
			path string
		}{{state, "gpuResources.nodes.%d.gpus.%d.temperature"}, {status, "nodes.%d.gpus.%d.temperature_celsius"}} {
			for i := range 16 {
				degrees, _ := at(v.of, fmt.Sprintf(v.path, i/8, i%8))
				if warm, is := degrees.(float64); !is || warm < 10 || warm > 120 {
					return false
				}
			}
		}
		return true
	})
}

// orchestrating are the requests that change how jobs are started, and GPUs for a job
// that another scheduler runs.
func orchestrating() []request {
	return []request{
		{http.MethodDelete, "/queue/2", "", map[string]any{"success": true}},
		{http.MethodPost, "/orchestrator/stop", "", map[string]any{"success": true, "running": false}},
		{http.MethodPost, "/orchestrator/start", "", map[string]any{"success": true, "running": true}},
		{http.MethodPut, "/orchestrator/policy", `{"max_concurrent_jobs": 10, "enable_auto_retry": true}`, nil},
		{
			http.MethodPut, "/orchestrator/policies", `{"policy_config": {"policy": "gang", "parameters": {"half_life": "72h"}}}`,
			map[string]any{"policy": "gang"},
		},
		{http.MethodGet, "/orchestrator/policies", "", map[string]any{
			"policy": "gang", "max_concurrent_jobs": 10.0, "enable_auto_retry": true, "policy_config.parameters.half_life": "72h0m0s",
		}},
		{
			http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "550e8400", "gpu_count": 4, "memory_gb": 40}`,
			map[string]any{"success": true, "job_id": "550e8400", "status": "allocated"},
		},
		{http.MethodPost, "/cluster/gpu-release", `{"job_id": "550e8400"}`, map[string]any{"success": true, "status": "released"}},
	}
}

// The service for services, against a peer that does not lead: GPUs are given, told to a
// webhook with the documented payload, listed and released; metrics have the names.
func TestTheServiceAgainstAFollower(t *testing.T) {
	c := start(t)
	base := follower(c)
	told := make(chan []byte, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if data, err := io.ReadAll(r.Body); err == nil {
			told <- data
		}
	}))
	defer receiver.Close()
	walk(
		t, base,
		request{http.MethodGet, "/healthz", "", nil},
		request{
			http.MethodPost, "/gpu/workload", `{"workload_type": "training", "workload_data": {"model_size": "large", "batch_size": 128}}`,
			fields("gpu_count", "priority", "reasoning"),
		},
	)
	walk(t, base, request{http.MethodPut, "/webhooks/settings", `{"allow": "127.0.0.0/8"}`, nil})
	got := walk(t, base, request{
		http.MethodPost, "/gpu/allocate", `{"service_name": "training", "workload_type": "training", "webhook_url": "` + receiver.URL +
			`/gpu-allocated", "workload_data": {"model_size": "large"}, "gpu_count": 2}`,
		map[string]any{"status": "allocated", "allocation.service_name": "training", "allocation.priority": 5.0, "allocation.gpu_ids.1": nil},
	})
	id, _ := at(got, "allocation.id")
	name, _ := id.(string)
	if !strings.HasPrefix(name, "training-") {
		t.Fatalf("the allocation is %v", got)
	}
	var payload map[string]any
	select {
	case data := <-told:
		if err := json.Unmarshal(data, &payload); err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the webhook was not called")
	}
	for path, want := range map[string]any{
		"status": "allocated", "request_id": name, "allocation.id": name, "allocation.service_name": "training", "allocation.gpu_ids.1": nil,
		"allocation.allocated_at": nil, "allocation.priority": 5.0, "submitted_at": nil, "allocated_at": nil, "wait_time_seconds": nil,
	} {
		if is, found := at(payload, path); !found || want != nil && is != want {
			t.Errorf("the webhook's %s is %v (there: %t), want %v, in %v", path, is, found, want, payload)
		}
	}
	walk(
		t, base,
		request{http.MethodGet, "/gpu/list", "", map[string]any{"gpus.15.node_id": nil, "allocations.0.id": name, "queue": nil}},
		request{http.MethodGet, "/gpu/status", "", map[string]any{"cluster_status.available_gpus": 14.0}},
		request{http.MethodPost, "/gpu/release", `{"allocation_id": "` + name + `"}`, map[string]any{"success": true, "status": "released"}},
	)
	holdsMetrics(t, base)
}

// holdsMetrics looks for the document's metrics in a scrape.
func holdsMetrics(t *testing.T, base string) {
	t.Helper()
	answer, err := http.Get(base + "/metrics") //nolint:noctx // a test's
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"gpu_orchestrator_allocations_total", "gpu_orchestrator_allocations_active", "gpu_allocator_gpus_allocated_total", "gpu_orchestrator_queue_depth",
		"gpu_scheduler_queue_wait_seconds", "gpu_scheduler_scheduled_total", "gpu_orchestrator_gpu_utilization_percent", "gpu_orchestrator_gpu_memory_used_mb",
		"gpu_orchestrator_gpu_memory_total_mb", "gpu_orchestrator_gpu_temperature_celsius", "gpu_orchestrator_gpu_power_draw_watts",
		"gpu_orchestrator_gpus_total", "gpu_orchestrator_gpus_available", "gpu_orchestrator_http_request_duration_seconds", "gpu_orchestrator_http_requests_total",
	} {
		if !strings.Contains(string(text), "\n"+name) {
			t.Errorf("a scrape of a follower lacks %s", name)
		}
	}
}
