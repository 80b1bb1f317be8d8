package services_test

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// A service that says what it works on and not how many GPUs it wants gets as many as
// the work needs and a node has. Asked again under its key it gets the same ones,
// whatever the cluster looks like by then.
func TestAllocationsBySize(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodPost, "/orchestrator/stop", "")
	s.With(func(c *statetest.Cluster) { c.Node("small", 1) })
	const large = `{"service_name": "trainer", "workload_type": "training", "workload_data": {"parameters": "70B"}}`
	var one, again, other wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", large, wire.HeaderRequestID, "k").Into(&one)
	s.With(func(c *statetest.Cluster) { c.Node("large", 8) })
	s.Do(http.MethodPost, "/gpu/allocate", large, wire.HeaderRequestID, "k").Into(&again)
	if one.Allocation.GPUs != 1 || again.AllocationID != one.AllocationID {
		t.Errorf("%s with %d GPUs, and again %s", one.AllocationID, one.Allocation.GPUs, again.AllocationID)
	}
	s.Do(http.MethodPost, "/gpu/allocate", large).Into(&other)
	if other.Allocation.GPUs != 8 {
		t.Errorf("with a larger node it gets %d GPUs", other.Allocation.GPUs)
	}
	for data, want := range map[string]int64{`{"gpu_count": 2, "workload_data": {"parameters": "70B"}`: 2, `{"workload_data": ["70B"]`: 1} {
		s.Do(http.MethodPost, "/gpu/allocate", data+`, "service_name": "x"}`).Into(&other)
		if other.Allocation.GPUs != want {
			t.Errorf("%s: %d GPUs, want %d", data, other.Allocation.GPUs, want)
		}
	}
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "x", "workload_data": {"parameters": "-3"}}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
}

// What the operator gave as defaults of a type holds for requests that name it and say
// nothing else, as far as there is a place for it; asked again they are what they were.
func TestAllocationsByDefault(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodPost, "/orchestrator/stop", "")
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	given := func(text string) {
		d, err := workload.ReadDefaults([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s.API.TakeOver(core.Terms{Workloads: d})
	}
	given("inference: {default_memory_mb: 4096, default_priority: 7, gpus: 2}\ntraining: {default_memory_mb: 16000000, gpus: 64}\n")
	for _, c := range []struct {
		body                   string
		priority, gpus, memory int64 // in MB
	}{
		{`"workload_type": "inference"`, 7, 2, 4096},
		{`"workload_type": "inference", "priority": 3, "gpu_count": 1, "gpu_memory_gb": 1`, 3, 1, 1000},
		{`"workload_type": "inference", "workload_data": {"parameters": "70B"}, "gpu_count": 1`, 7, 1, 0},
		{`"workload_type": "training"`, 5, 1, 0},
		{`"workload_type": "ocr"`, 5, 1, 0},
		{`"priority": 4`, 4, 1, 0},
	} {
		var got wire.Allocated
		s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", `+c.body+`}`).Into(&got)
		if w := got.Allocation; w.Priority != c.priority || w.GPUs != c.gpus || int64(w.GPUMemoryGB*1000+.5) != c.memory {
			t.Errorf("%s: priority %d, %d GPUs of %g GB", c.body, w.Priority, w.GPUs, w.GPUMemoryGB)
		}
	}
	const plain = `{"service_name": "web", "workload_type": "inference"}`
	var one, again wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", plain, wire.HeaderRequestID, "k").Into(&one)
	given("inference: {default_memory_mb: 1024, default_priority: 2}\n")
	s.Do(http.MethodPost, "/gpu/allocate", plain, wire.HeaderRequestID, "k").Into(&again)
	if one.AllocationID != again.AllocationID || again.Allocation.Priority != 7 {
		t.Errorf("asked again it is %+v", again)
	}
}

// Only their user and operators may renew and release allocations, or ask in a name.
func TestAllocationsHaveOwners(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	s.Do(http.MethodPost, "/orchestrator/stop", "", apitest.As(apitest.Adam)...)
	var got wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web"}`, apitest.As(apitest.Ann)...).Into(&got)
	if got.Allocation.User != "ann" {
		t.Errorf("it is %q's", got.Allocation.User)
	}
	release, renew := `{"allocation_id": "`+got.AllocationID+`"}`, "/gpu/allocations/"+got.AllocationID+"/renew"
	s.Do(http.MethodPost, "/gpu/release", release, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, renew, "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "user": "ann"}`, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "project": "vision"}`, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "priority": 10}`, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/release", `{"allocation_id": "web-1"}`, apitest.As(apitest.Bob)...).Problem(http.StatusNotFound, wire.CodeNotFound)

	s.With(func(c *statetest.Cluster) { c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" }) })
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1"}`, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "1"}`, apitest.As(apitest.Ann)...).Into(&got)
	s.Do(http.MethodPost, "/cluster/gpu-release", `{"job_id": "1"}`, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/release", release, apitest.As(apitest.Operator)...).Into(&got)
}
