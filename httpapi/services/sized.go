package services

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// size fills in how many GPUs a service needs that gives no number, with their memory and the
// priority: by the analysis of its workload, as POST /gpu/workload does, but without advisers, for
// which a write does not wait, else by the operator's defaults for the workload's type. It is
// limited to the GPUs of a node of the cluster; a service without any description gets one GPU. A
// default priority is at most what the caller may ask for. A request that is repeated under its key
// gets the same size, even if the cluster or the defaults have changed since; past is the former one, zero: there is none.
func (a services) size(s *state.State, b *intake.Basis, r *wire.Allocate, c *command.Allocate, past model.Request) error {
	was, again := s.Allocations.Get(model.AllocationOf(c.Service, past.Number))
	again = again && past.Number > 0
	usual := a.api.Terms().Workloads[c.Workload].Given()
	if r.Workload == "" { // a request without a type has no defaults
		usual = workload.Default{}
	}
	usual.Priority = min(usual.Priority, intake.MostPriority(b.Caller, model.ServiceClass)) // a default gives no additional rights
	if again {
		usual.Priority = int64(was.Priority)
	}
	if r.Priority == nil && usual.Priority > 0 {
		c.Priority = uint8(usual.Priority)
		c.Class = model.ServiceClass(c.Priority)
	}
	switch {
	case again:
		if r.GPUs == nil {
			c.GPUs = was.GPUs
		}
		if r.GPUMemory == nil && r.Memory == nil {
			c.GPUMemoryMB = was.GPUMemoryMB
		}
		return nil
	case !strings.HasPrefix(c.Data, "{"):
		presume(b, r, c, usual)
		return nil
	case r.GPUs != nil:
		return nil
	}
	return a.analyzed(s, r, c)
}

// presume applies the defaults of its type to a request, as far as a place can be found with them.
func presume(b *intake.Basis, r *wire.Allocate, c *command.Allocate, usual workload.Default) {
	with := *c
	if r.GPUs == nil && usual.GPUs > 0 {
		with.GPUs = uint32(min(usual.GPUs, model.MaxDevices))
		if b.FitsAllocation(&with) == nil {
			c.GPUs = with.GPUs
		}
		with.GPUs = c.GPUs
	}
	if r.GPUMemory == nil && r.Memory == nil && usual.MemoryMB > 0 {
		with.GPUMemoryMB = uint32(usual.MemoryMB)
		if b.FitsAllocation(&with) == nil {
			c.GPUMemoryMB = with.GPUMemoryMB
		}
	}
}

// analyzed sizes a request by the description of its workload.
func (a services) analyzed(s *state.State, r *wire.Allocate, c *command.Allocate) error {
	w := &wire.Workload{ServiceName: r.Service, Type: r.Workload, GPU: c.GPUModel}
	if err := json.Unmarshal([]byte(c.Data), &w.Data); err != nil {
		return problem.Invalid("workload_data", "must be JSON")
	}
	k := workload.Knowledge{Fleet: fleetKinds(s), Past: pastRuns(s, "", r.Service), Defaults: a.api.Terms().Workloads}
	plan, err := workload.Analyze(w, &k)
	if err != nil {
		return workloadProblem(err)
	}
	most := int64(1)
	for _, kind := range k.Fleet {
		if model.OfModel(c.GPUModel, kind.Model) {
			most = max(most, kind.Node)
		}
	}
	c.GPUs = uint32(min(plan.GPUs, most, model.MaxDevices))
	if c.GPUMemoryMB == 0 && plan.Fits && plan.GPUs <= most {
		c.GPUMemoryMB = uint32(min(plan.MemoryMB, math.MaxUint32))
	}
	return nil
}
