package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// halted is the documents' cluster with its orchestrator stopped, so that answers do
// not wait for a scheduler, which this test has not.
func halted(t *testing.T) *site {
	t.Helper()
	s := twoNodes(t)
	s.do(http.MethodPost, "/orchestrator/stop", "")
	return s
}

// The service for services: its requests, and the fields of its webhook, which are
// those of the answers.
func TestTheServiceDocument(t *testing.T) {
	s := halted(t)
	walkThrough(t, s, []step{
		{http.MethodGet, "/healthz", "", nil},
		{
			http.MethodPost, "/gpu/allocate", `{"service_name": "training", "workload_type": "training", "workload_data": {"model_size": "large", "batch_size": 128}}`,
			map[string]any{"success": true, "status": "queued", "allocation.priority": 5.0, "allocation.workload_data.batch_size": 128.0},
		},
		{
			http.MethodPost, "/gpu/allocate", `{"service_name": "training", "workload_type": "training",
			"webhook_url": "http://your-service:8080/gpu-allocated", "workload_data": {"model_size": "large"}, "gpu_count": 2}`,
			map[string]any{"allocation.webhook_url": "http://your-service:8080/gpu-allocated", "queue_position": 2.0},
		},
		{http.MethodGet, "/gpu/list", "", map[string]any{"gpus.15.node_id": "gmi-node-2", "queue.1.queue_position": 2.0, "allocations": nil}},
	})
	var list wire.ServiceAllocations
	s.do(http.MethodGet, "/gpu/allocations", "").into(&list)
	id := list.Allocations[1].ID
	if !strings.HasPrefix(id, "training-") || strings.Trim(strings.TrimPrefix(id, "training-"), "0123456789") != "" {
		t.Errorf("the allocation is called %s", id)
	}
	s.do(http.MethodPost, "/orchestrator/start", "")
	grant(s, model.AllocationID(id), "gmi-node-1")
	walkThrough(t, s, []step{
		{http.MethodGet, "/gpu/allocations/" + id, "", map[string]any{
			"status": "allocated", "id": id, "service_name": "training", "gpu_ids.0": 0.0, "gpu_ids.1": 1.0, "allocated_at": nil, "priority": 5.0,
			"submitted_at": nil, "wait_time_seconds": nil, "expires_at": nil, "ttl_seconds": 3600.0,
		}},
		{http.MethodGet, "/gpu/status", "", map[string]any{"nodes.0.gpus.0.allocated_to": id, "cluster_status.available_gpus": 14.0}},
		{http.MethodPost, "/gpu/release", `{"allocation_id": "` + id + `"}`, map[string]any{
			"success": true, "status": "released", "request_id": id, "allocation.id": id, "submitted_at": nil, "allocated_at": nil, "wait_time_seconds": nil,
		}},
	})
	s.do(http.MethodPost, "/gpu/release", `{"allocation_id": "`+id+`"}`).problem(http.StatusConflict, "already_ended")
	s.do(http.MethodPost, "/gpu/release", `{"allocation_id": "training-1234567890"}`).problem(http.StatusNotFound, "not_found")
}

// Renewing holds an allocation for its time again, or for another.
func TestRenewals(t *testing.T) {
	s := halted(t)
	var got wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "ttl": "10m"}`).into(&got)
	s.do(http.MethodPost, "/orchestrator/start", "")
	grant(s, model.AllocationID(got.AllocationID), "gmi-node-1")
	s.with(func(c *statetest.Cluster) { c.Wait(5 * time.Minute) })
	path := "/gpu/allocations/" + got.AllocationID + "/renew"
	var again wire.Allocated
	s.do(http.MethodPost, path, "").into(&again)
	if left := again.Allocation.ExpiresAt.Sub(s.now()); left != 10*time.Minute {
		t.Errorf("renewed, it has %s left", left)
	}
	s.do(http.MethodPost, path, `{"ttl_seconds": 7200}`).into(&again)
	if left := again.Allocation.ExpiresAt.Sub(s.now()); left != 2*time.Hour {
		t.Errorf("renewed for longer, it has %s left", left)
	}
	s.do(http.MethodPost, path, `{"ttl": 0}`).about("ttl")
	s.do(http.MethodPost, path, `{"ttl": "1h", "ttl_seconds": 1}`).about("ttl_seconds")
	s.do(http.MethodPost, "/gpu/allocations/none/renew", "").problem(http.StatusNotFound, "not_found")
}

// An allocation is asked for once under its key, and wrong ones are refused by field.
func TestAsksForGPUs(t *testing.T) {
	s := halted(t)
	var first, second wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 9}`, "Idempotency-Key", "k").into(&first)
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 9}`, "Idempotency-Key", "k").into(&second)
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
		s.do(http.MethodPost, "/gpu/allocate", body).about(field)
	}
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "gpu_count": 9}`).problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	s.do(http.MethodPost, "/gpu/allocate", `[]`).problem(http.StatusBadRequest, wire.CodeMalformed)
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
		s.do(http.MethodPost, "/gpu/allocate", body)
	}
	var all wire.ServiceAllocations
	s.do(http.MethodGet, "/gpu/allocations?limit=2", "").into(&all)
	if len(all.Allocations) != 2 || all.Next == "" || all.Allocations[0].Service != "high" {
		t.Fatalf("the first page is %+v", all)
	}
	var rest, picked wire.ServiceAllocations
	s.do(http.MethodGet, "/gpu/allocations?limit=2&after="+all.Next, "").into(&rest)
	s.do(http.MethodGet, "/gpu/allocations?user=ann&status=queued&service=low", "").into(&picked)
	if len(rest.Allocations) != 1 || rest.Next != "" || len(picked.Allocations) != 1 {
		t.Errorf("the second page is %+v, picked are %+v", rest, picked)
	}
	var one wire.ServiceAllocation
	s.do(http.MethodGet, "/gpu/allocations/"+rest.Allocations[0].ID, "").into(&one)
	if one.Position != 2 || one.Explanation == nil || one.Explanation.Blockers[0].Code != "orchestrator_stopped" {
		t.Errorf("the last one is %+v", one)
	}
	s.do(http.MethodGet, "/gpu/allocations/none", "").problem(http.StatusNotFound, "not_found")
}

// Services and jobs stand in one queue: their places count together, each is named to
// those behind it, and an explanation tells the same of both.
func TestServicesStandInTheQueue(t *testing.T) {
	s := halted(t)
	s.do(http.MethodPut, "/orchestrator/policy", `{"policy": "fcfs"}`)
	first, last := "1", "2"
	s.submit(`{"command": "x", "user": "ann"}`)
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "user": "bob", "ttl": "1h", "webhook_url": "https://hooks.example.com/secret"}`)
	s.submit(`{"command": "y", "user": "cat"}`)
	var q wire.Queue
	s.do(http.MethodGet, "/queue", "").into(&q)
	if len(q.Queued) != 2 || len(q.Services) != 1 || q.Queued[0].Position != 1 || q.Services[0].Position != 2 || q.Queued[1].Position != 3 {
		t.Fatalf("the queue is %+v and %+v", q.Queued, q.Services)
	}
	id := q.Services[0].ID
	var page, ofUser, running wire.Queue
	s.do(http.MethodGet, "/queue?limit=2", "").into(&page)
	s.do(http.MethodGet, "/queue?user=cat", "").into(&ofUser)
	s.do(http.MethodGet, "/queue?state=running", "").into(&running)
	if len(page.Queued) != 1 || len(page.Services) != 1 || page.Next == "" || len(ofUser.Services) != 0 || len(running.Services) != 0 {
		t.Errorf("a page is %+v with %+v, next %s; of cat: %+v; running: %+v", page.Queued, page.Services, page.Next, ofUser.Services, running.Services)
	}
	var job wire.Explanation
	s.do(http.MethodGet, "/jobs/"+last+"/explain", "").into(&job)
	if job.Position != 3 || len(job.Ahead) != 2 || job.Ahead[0].JobID != first || job.Ahead[1].Service != id || job.Ahead[1].JobID != "" {
		t.Errorf("job %s is explained as %+v", last, job)
	}
	var one wire.ServiceAllocation
	s.do(http.MethodGet, "/gpu/allocations/"+id, "").into(&one)
	if e := one.Explanation; one.Position != 2 || e == nil || e.Policy != "fcfs" || len(e.Factors) == 0 || len(e.Ahead) != 1 ||
		e.Ahead[0].JobID != first || len(e.Unblock) == 0 || e.Unblock[0].Message != "start the orchestrator (berth orchestrator start)" {
		t.Errorf("the service is explained as %+v", one.Explanation)
	}
	var plan wire.Plan
	s.forecastTook(0)
	s.do(http.MethodGet, "/queue/plan", "").into(&plan)
	if len(plan.Waiting) != 3 || plan.Waiting[1].Service != id || plan.Waiting[1].JobID != "" || plan.Waiting[1].End != nil {
		t.Errorf("the plan is %+v", plan.Waiting)
	}
}

// A reader with a list is answered that it is the same, and gets the next change.
func TestTagsOfTheQueue(t *testing.T) {
	s := newSite(t)
	s.submit(`{"command": "x"}`)
	first := s.do(http.MethodGet, "/queue?limit=5", "")
	tag := first.header.Get("ETag")
	again := s.do(http.MethodGet, "/queue?limit=5", "", "If-None-Match", `"other", `+tag)
	if tag == "" || again.status != http.StatusNotModified || len(again.body) != 0 || again.header.Get("ETag") != tag {
		t.Errorf("tag %q, asked again %d %q", tag, again.status, again.body)
	}
	s.submit(`{"command": "y"}`)
	if r := s.do(http.MethodGet, "/queue?limit=5", "", "If-None-Match", tag); r.status != http.StatusOK || r.header.Get("ETag") == tag {
		t.Errorf("after a change %d, tag %q", r.status, r.header.Get("ETag"))
	}
}
