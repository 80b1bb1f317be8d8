package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
)

// The visual overview: its requests and answers.
func TestTheVisualOverview(t *testing.T) {
	s := apitest.TwoNodes(t)
	apitest.WalkThrough(t, s, []apitest.Step{
		{
			Method: http.MethodPost, Path: "/queue/submit", Body: `{"run_id": "experiment-1", "user": "researcher", "command": "python train.py --epochs 100", "gpu_count": 4, "priority": 3}`,
			Want: map[string]any{
				"success": true, "job_id": "1", "job.id": "1", "job.run_id": "experiment-1", "job.state": "queued", "job.gpu_count": 4.0,
				"job.priority": 3.0, "queue_position": 1.0,
			},
		},
		{Method: http.MethodGet, Path: "/orchestrator/status", Body: "", Want: map[string]any{
			"running": true, "stats.jobs_scheduled": 0.0, "stats.jobs_completed": 0.0, "stats.jobs_failed": 0.0, "stats.scheduling_cycles": nil,
			"resource_summary.total_gpus": 16.0, "resource_summary.available_gpus": 16.0, "resource_summary.allocated_gpus": 0.0,
			"queue_summary.total_jobs": 1.0, "queue_summary.queued": 1.0, "queue_summary.running": 0.0, "queue_summary.completed": 0.0,
			"queue_summary.failed": 0.0,
		}},
	})
}
