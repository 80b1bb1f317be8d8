package httpapi

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A service that says what it works on and not how many GPUs it wants gets as many as
// the work needs and a node has. Asked again under its key it gets the same ones,
// whatever the cluster looks like by then.
func TestAllocationsBySize(t *testing.T) {
	s := newSite(t)
	s.do(http.MethodPost, "/orchestrator/stop", "")
	s.with(func(c *statetest.Cluster) { c.Node("small", 1) })
	const large = `{"service_name": "trainer", "workload_type": "training", "workload_data": {"parameters": "70B"}}`
	var one, again, other wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", large, wire.HeaderRequestID, "k").into(&one)
	s.with(func(c *statetest.Cluster) { c.Node("large", 8) })
	s.do(http.MethodPost, "/gpu/allocate", large, wire.HeaderRequestID, "k").into(&again)
	if one.Allocation.GPUs != 1 || again.AllocationID != one.AllocationID {
		t.Errorf("%s with %d GPUs, and again %s", one.AllocationID, one.Allocation.GPUs, again.AllocationID)
	}
	s.do(http.MethodPost, "/gpu/allocate", large).into(&other)
	if other.Allocation.GPUs != 8 {
		t.Errorf("with a larger node it gets %d GPUs", other.Allocation.GPUs)
	}
	for data, want := range map[string]int64{`{"gpu_count": 2, "workload_data": {"parameters": "70B"}`: 2, `{"workload_data": ["70B"]`: 1} {
		s.do(http.MethodPost, "/gpu/allocate", data+`, "service_name": "x"}`).into(&other)
		if other.Allocation.GPUs != want {
			t.Errorf("%s: %d GPUs, want %d", data, other.Allocation.GPUs, want)
		}
	}
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "x", "workload_data": {"parameters": "-3"}}`).problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
}

// Only their user and operators may renew and release allocations, or ask in a name.
func TestAllocationsHaveOwners(t *testing.T) {
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) { c.Node("n1", 8) })
	s.do(http.MethodPost, "/orchestrator/stop", "", as(admin)...)
	var got wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web"}`, as(ann)...).into(&got)
	if got.Allocation.User != "ann" {
		t.Errorf("it is %q's", got.Allocation.User)
	}
	release, renew := `{"allocation_id": "`+got.AllocationID+`"}`, "/gpu/allocations/"+got.AllocationID+"/renew"
	s.do(http.MethodPost, "/gpu/release", release, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, renew, "", as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "user": "ann"}`, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "project": "vision"}`, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 10}`, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/release", `{"allocation_id": "web-1"}`, as(bob)...).problem(http.StatusNotFound, wire.CodeNotFound)

	s.with(func(c *statetest.Cluster) { c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" }) })
	s.do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1"}`, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1"}`, as(ann)...).into(&got)
	s.do(http.MethodPost, "/cluster/gpu-release", `{"job_id": "1"}`, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/release", release, as(operatr)...).into(&got)
}
