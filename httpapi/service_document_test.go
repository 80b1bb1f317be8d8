package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// halted is the documents' cluster with its orchestrator stopped, so that answers do
// not wait for a scheduler, which this test has not.
func halted(t *testing.T) *apitest.Site {
	t.Helper()
	s := apitest.TwoNodes(t)
	s.Do(http.MethodPost, "/orchestrator/stop", "")
	return s
}

// The service for services: its requests, and the fields of its webhook, which are
// those of the answers.
func TestTheServiceDocument(t *testing.T) {
	s := halted(t)
	apitest.WalkThrough(t, s, []apitest.Step{
		{Method: http.MethodGet, Path: "/healthz", Body: "", Want: nil},
		{
			Method: http.MethodPost, Path: "/gpu/allocate", Body: `{"service_name": "training", "workload_type": "training", "workload_data": {"model_size": "large", "batch_size": 128}}`,
			Want: map[string]any{"success": true, "status": "queued", "allocation.priority": 5.0, "allocation.workload_data.batch_size": 128.0},
		},
		{
			Method: http.MethodPost, Path: "/gpu/allocate", Body: `{"service_name": "training", "workload_type": "training",
			"webhook_url": "http://your-service:8080/gpu-allocated", "workload_data": {"model_size": "large"}, "gpu_count": 2}`,
			Want: map[string]any{"allocation.webhook_url": "http://your-service:8080/gpu-allocated", "queue_position": 2.0},
		},
		{Method: http.MethodGet, Path: "/gpu/list", Body: "", Want: map[string]any{"gpus.15.node_id": "gmi-node-2", "queue.1.queue_position": 2.0, "allocations": nil}},
	})
	var list wire.ServiceAllocations
	s.Do(http.MethodGet, "/gpu/allocations", "").Into(&list)
	id := list.Allocations[1].ID
	if !strings.HasPrefix(id, "training-") || strings.Trim(strings.TrimPrefix(id, "training-"), "0123456789") != "" {
		t.Errorf("the allocation is called %s", id)
	}
	s.Do(http.MethodPost, "/orchestrator/start", "")
	apitest.Grant(s, model.AllocationID(id), "gmi-node-1")
	apitest.WalkThrough(t, s, []apitest.Step{
		{Method: http.MethodGet, Path: "/gpu/allocations/" + id, Body: "", Want: map[string]any{
			"status": "allocated", "id": id, "service_name": "training", "gpu_ids.0": 0.0, "gpu_ids.1": 1.0, "allocated_at": nil, "priority": 5.0,
			"submitted_at": nil, "wait_time_seconds": nil, "expires_at": nil, "ttl_seconds": 3600.0,
		}},
		{Method: http.MethodGet, Path: "/gpu/status", Body: "", Want: map[string]any{"nodes.0.gpus.0.allocated_to": id, "cluster_status.available_gpus": 14.0}},
		{Method: http.MethodPost, Path: "/gpu/release", Body: `{"allocation_id": "` + id + `"}`, Want: map[string]any{
			"success": true, "status": "released", "request_id": id, "allocation.id": id, "submitted_at": nil, "allocated_at": nil, "wait_time_seconds": nil,
		}},
	})
	s.Do(http.MethodPost, "/gpu/release", `{"allocation_id": "`+id+`"}`).Problem(http.StatusConflict, "already_ended")
	s.Do(http.MethodPost, "/gpu/release", `{"allocation_id": "training-1234567890"}`).Problem(http.StatusNotFound, "not_found")
}

// Renewing holds an allocation for its time again, or for another.
func TestRenewals(t *testing.T) {
	s := halted(t)
	var got wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "ttl": "10m"}`).Into(&got)
	s.Do(http.MethodPost, "/orchestrator/start", "")
	apitest.Grant(s, model.AllocationID(got.AllocationID), "gmi-node-1")
	s.With(func(c *statetest.Cluster) { c.Wait(5 * time.Minute) })
	path := "/gpu/allocations/" + got.AllocationID + "/renew"
	var again wire.Allocated
	s.Do(http.MethodPost, path, "").Into(&again)
	if left := again.Allocation.ExpiresAt.Sub(s.Now()); left != 10*time.Minute {
		t.Errorf("renewed, it has %s left", left)
	}
	s.Do(http.MethodPost, path, `{"ttl_seconds": 7200}`).Into(&again)
	if left := again.Allocation.ExpiresAt.Sub(s.Now()); left != 2*time.Hour {
		t.Errorf("renewed for longer, it has %s left", left)
	}
	s.Do(http.MethodPost, path, `{"ttl": 0}`).About("ttl")
	s.Do(http.MethodPost, path, `{"ttl": "1h", "ttl_seconds": 1}`).About("ttl_seconds")
	s.Do(http.MethodPost, "/gpu/allocations/none/renew", "").Problem(http.StatusNotFound, "not_found")
}

// An allocation is asked for once under its key, and wrong ones are refused by field.
func TestAsksForGPUs(t *testing.T) {
	s := halted(t)
	var first, second wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 9}`, "Idempotency-Key", "k").Into(&first)
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 9}`, "Idempotency-Key", "k").Into(&second)
	if first.AllocationID != second.AllocationID || first.Allocation.Priority != 9 {
		t.Errorf("%+v, sent again %+v", first, second)
	}
	for body, field := range map[string]string{ //nolint:gosec // they hold no credentials
		`{}`:                      "service_name",
		`{"service_name": "a b"}`: "service_name",
		`{"service_name": "a/b"}`: "service_name",
		`{"service_name": "web", "workload_type": "mining"}`:                            "workload_type",
		`{"service_name": "web", "priority": 0}`:                                        "priority",
		`{"service_name": "web", "priority": 11}`:                                       "priority",
		`{"service_name": "web", "gpu_count": 65}`:                                      "gpu_count",
		`{"service_name": "web", "gpu_count": -1}`:                                      "gpu_count",
		`{"service_name": "web", "webhook_url": "file:///etc/passwd"}`:                  "webhook_url",
		`{"service_name": "web", "ttl": "soon"}`:                                        "ttl",
		`{"service_name": "web", "memory_gb": 1, "gpu_memory_gb": 2}`:                   "memory_gb",
		`{"service_name": "web", "workload_data": "` + strings.Repeat("x", 8200) + `"}`: "workload_data",
		`{"service_name": "web", "constraint": "a=b=c"}`:                                "constraint",
		`{"service_name": "web", "user": "a b"}`:                                        "user, project",
		`{"service_name": "web", "gpus": 1}`:                                            "gpus",
	} {
		s.Do(http.MethodPost, "/gpu/allocate", body).About(field)
	}
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "gpu_count": 9}`).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	s.Do(http.MethodPost, "/gpu/allocate", `[]`).Problem(http.StatusBadRequest, wire.CodeMalformed)
	if st := s.State(); st.Allocations.Len() != 1 {
		t.Errorf("there are %d allocations", st.Allocations.Len())
	}
}

// One that waits says why, and in which place; the list has pages and picks.
func TestWaitingAllocations(t *testing.T) {
	s := halted(t)
	for _, body := range []string{
		`{"service_name": "low", "priority": 1, "gpu_count": 8}`, `{"service_name": "low", "priority": 2, "user": "ann"}`,
		`{"service_name": "high", "priority": 8}`,
	} {
		s.Do(http.MethodPost, "/gpu/allocate", body)
	}
	var all wire.ServiceAllocations
	s.Do(http.MethodGet, "/gpu/allocations?limit=2", "").Into(&all)
	if len(all.Allocations) != 2 || all.Next == "" || all.Allocations[0].Service != "high" {
		t.Fatalf("the first page is %+v", all)
	}
	var rest, picked wire.ServiceAllocations
	s.Do(http.MethodGet, "/gpu/allocations?limit=2&after="+all.Next, "").Into(&rest)
	s.Do(http.MethodGet, "/gpu/allocations?user=ann&status=queued&service=low", "").Into(&picked)
	if len(rest.Allocations) != 1 || rest.Next != "" || len(picked.Allocations) != 1 {
		t.Errorf("the second page is %+v, picked are %+v", rest, picked)
	}
	var one wire.ServiceAllocation
	s.Do(http.MethodGet, "/gpu/allocations/"+rest.Allocations[0].ID, "").Into(&one)
	if one.Position != 2 || one.Explanation == nil || one.Explanation.Blockers[0].Code != "orchestrator_stopped" {
		t.Errorf("the last one is %+v", one)
	}
	s.Do(http.MethodGet, "/gpu/allocations/none", "").Problem(http.StatusNotFound, "not_found")
}

// Services and jobs stand in one queue: their places count together, each is named to
// those behind it, and an explanation tells the same of both.
func TestServicesStandInTheQueue(t *testing.T) {
	s := halted(t)
	s.Do(http.MethodPut, "/orchestrator/policy", `{"policy": "fcfs"}`)
	first, last := "1", "2"
	s.Submit(`{"command": "x", "user": "ann"}`)
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "user": "bob", "ttl": "1h", "webhook_url": "https://hooks.example.com/secret"}`)
	s.Submit(`{"command": "y", "user": "cat"}`)
	var q wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&q)
	if len(q.Queued) != 2 || len(q.Services) != 1 || q.Queued[0].Position != 1 || q.Services[0].Position != 2 || q.Queued[1].Position != 3 {
		t.Fatalf("the queue is %+v and %+v", q.Queued, q.Services)
	}
	id := q.Services[0].ID
	var page, ofUser, running wire.Queue
	s.Do(http.MethodGet, "/queue?limit=2", "").Into(&page)
	s.Do(http.MethodGet, "/queue?user=cat", "").Into(&ofUser)
	s.Do(http.MethodGet, "/queue?state=running", "").Into(&running)
	if len(page.Queued) != 1 || len(page.Services) != 1 || page.Next == "" || len(ofUser.Services) != 0 || len(running.Services) != 0 {
		t.Errorf("a page is %+v with %+v, next %s; of cat: %+v; running: %+v", page.Queued, page.Services, page.Next, ofUser.Services, running.Services)
	}
	var job wire.Explanation
	s.Do(http.MethodGet, "/jobs/"+last+"/explain", "").Into(&job)
	if job.Position != 3 || len(job.Ahead) != 2 || job.Ahead[0].JobID != first || job.Ahead[1].Service != id || job.Ahead[1].JobID != "" {
		t.Errorf("job %s is explained as %+v", last, job)
	}
	var one wire.ServiceAllocation
	s.Do(http.MethodGet, "/gpu/allocations/"+id, "").Into(&one)
	if e := one.Explanation; one.Position != 2 || e == nil || e.Policy != "fcfs" || len(e.Factors) == 0 || len(e.Ahead) != 1 ||
		e.Ahead[0].JobID != first || len(e.Unblock) == 0 || e.Unblock[0].Message != "start the orchestrator (berth orchestrator start)" {
		t.Errorf("the service is explained as %+v", one.Explanation)
	}
	var plan wire.Plan
	s.ForecastTook(0)
	s.Do(http.MethodGet, "/queue/plan", "").Into(&plan)
	if len(plan.Waiting) != 3 || plan.Waiting[1].Service != id || plan.Waiting[1].JobID != "" || plan.Waiting[1].End != nil {
		t.Errorf("the plan is %+v", plan.Waiting)
	}
}

// A reader with a list is answered that it is the same, and gets the next change.
func TestTagsOfTheQueue(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "x"}`)
	first := s.Do(http.MethodGet, "/queue?limit=5", "")
	tag := first.Header.Get("ETag")
	again := s.Do(http.MethodGet, "/queue?limit=5", "", "If-None-Match", `"other", `+tag)
	if tag == "" || again.Status != http.StatusNotModified || len(again.Body) != 0 || again.Header.Get("ETag") != tag {
		t.Errorf("tag %q, asked again %d %q", tag, again.Status, again.Body)
	}
	s.Submit(`{"command": "y"}`)
	if r := s.Do(http.MethodGet, "/queue?limit=5", "", "If-None-Match", tag); r.Status != http.StatusOK || r.Header.Get("ETag") == tag {
		t.Errorf("after a change %d, tag %q", r.Status, r.Header.Get("ETag"))
	}
}
