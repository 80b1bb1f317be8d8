package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// named lists what the owner's documents name: requests, fields, settings, variables and
// metrics. docs/seeds.md says of each where it is, or why it differs.
func named() []string {
	var all []string
	add := func(prefix, names string) {
		for name := range strings.FieldsSeq(names) {
			all = append(all, prefix+name)
		}
	}
	for _, requests := range []string{
		"GET /cluster/gpu-status|POST /cluster/gpu-allocate|POST /cluster/gpu-release|GET /queue|POST /queue/submit|DELETE /queue/{job_id}",
		"PATCH /queue/{job_id}/priority|GET /queue/statistics|GET /orchestrator/status|POST /orchestrator/start|POST /orchestrator/stop",
		"GET /orchestrator/policies|PUT /orchestrator/policies|PUT /orchestrator/policy|GET /gpu/status|POST /gpu/initialize|GET /healthz",
		"POST /gpu/allocate|POST /gpu/release|GET /gpu/list|POST /gpu/workload|GET /metrics",
	} {
		all = append(all, strings.Split(requests, "|")...)
	}
	add("", "RESEARCH_AGENT_RAY_HEAD_NODE RESEARCH_AGENT_GPU_ORCHESTRATION_ENABLED RESEARCH_AGENT_SCHEDULING_POLICY RESEARCH_AGENT_MAX_QUEUE_SIZE")
	add("", "RESEARCH_AGENT_USER_AUTH_TOKEN CONFIG_PATH config.yaml PORT 8086 DEEPAGENTS_URL GRAPH_SERVICE_URL AgentFlow --workdir")
	add("", "cluster.name cluster.total_gpus allocation.strategy allocation.reserved_ratio scheduling.algorithm scheduling.max_queue_size")
	add("", "scheduling.default_priority monitoring.interval_seconds monitoring.metrics_retention_days monitoring.alert_thresholds.temperature")
	add("", "monitoring.alert_thresholds.utilization monitoring.alert_thresholds.memory policies.max_gpus_per_user policies.max_job_duration_hours")
	add("", "policies.enable_preemption fault_tolerance.enable_checkpointing fault_tolerance.checkpoint_interval_minutes")
	add("", "fault_tolerance.auto_retry_failed_jobs fault_tolerance.max_retries")
	add("", "server.port server.read_timeout server.write_timeout services.deepagents_url services.graph_service_url")
	add("", "scheduler.queue_check_interval scheduler.max_queue_size workload_defaults.inference.default_memory_mb")
	add("", "workload_defaults.inference.default_priority auth.enabled auth.header_name auth.api_keys")
	add("", "gpu_orchestrator_allocations_total gpu_orchestrator_allocations_active gpu_allocator_gpus_allocated_total gpu_orchestrator_queue_depth")
	add("", "gpu_scheduler_queue_wait_seconds gpu_scheduler_scheduled_total gpu_orchestrator_gpu_utilization_percent gpu_orchestrator_gpu_memory_used_mb")
	add("", "gpu_orchestrator_gpu_memory_total_mb gpu_orchestrator_gpu_temperature_celsius gpu_orchestrator_gpu_power_draw_watts gpu_orchestrator_gpus_total")
	add("", "gpu_orchestrator_gpus_available gpu_orchestrator_http_request_duration_seconds gpu_orchestrator_http_requests_total")
	add("", "job_id run_id user command gpu_count memory_gb gpu_memory_gb priority estimated_duration estimated_duration_seconds policy_config")
	add("", "max_concurrent_jobs enable_auto_retry node_count gpus_per_node service_name workload_type workload_data model_size batch_size")
	add("", "webhook_url allocation_id request_id gpu_ids allocated_at submitted_at wait_time_seconds success queue_position job.id job.run_id job.state")
	add("", "cluster_status.available_gpus cluster_status.utilization_percent queued running stats.jobs_scheduled stats.jobs_completed stats.jobs_failed")
	add("", "stats.scheduling_cycles resource_summary.total_gpus resource_summary.available_gpus resource_summary.allocated_gpus")
	add("", "queue_summary.total_jobs queue_summary.queued queue_summary.running queue_summary.completed queue_summary.failed")
	add("gpuAllocation.", "requestedGpus requestedMemoryGb allocatedGpus[].nodeId allocatedGpus[].gpuId allocatedGpus[].memoryGb allocationTime")
	add("queueInfo.", "queuedAt queuePosition estimatedStartTime")
	add("orchestrationMetadata.", "schedulingPolicy priority retryCount maxRetries")
	add("gpuResources.", "totalGpus availableGpus allocatedGpus nodes[].nodeId nodes[].hostname nodes[].gpuCount nodes[].gpuType nodes[].gpus[].id")
	add("gpuResources.nodes[].gpus[].", "memoryTotal memoryUsed utilization temperature allocatedTo")
	add("rayCluster.", "headNode connected version workers")
	add("queuedJobs[].", "id runId user priority requestedGpus queuedAt estimatedWaitTime")
	add("statistics.", "totalQueued averageWaitTime queueThroughput")
	add("", "cluster_state.json job_queue.json orchestrator_state.json gpu_allocation.json")
	return all
}

// The map of the owner's documents lists everything that they name, and nothing in a
// row of its own that they do not.
func TestTheMapOfTheOwnersDocuments(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	mapped := map[string]bool{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) < 2 || strings.TrimSpace(strings.Trim(cells[1], "|")) == "" {
			t.Errorf("says nothing: %s", line)
		}
		for _, name := range strings.Split(strings.TrimPrefix(cells[0], "| "), ", ") {
			mapped[strings.Trim(name, "` ")] = true
		}
	}
	for _, name := range named() {
		if !mapped[name] {
			t.Errorf("docs/seeds.md does not say where %s is", name)
		}
		delete(mapped, name)
	}
	for name := range mapped { // order-free: each is an error of its own
		t.Errorf("docs/seeds.md maps %s, which the documents do not name", name)
	}
}
