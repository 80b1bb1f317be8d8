package httpapi

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// size says how many GPUs a service needs that does not say so, and with how much
// memory, by what it tells of its work: as POST /gpu/workload does, but without
// advisers, for whom a write does not wait. It gets no more than a node of the cluster
// has, and whoever tells nothing gets one. Asked again under its key it is what it was:
// the cluster may be another by then.
func (a services) size(s *state.State, r *wire.Allocate, c *command.Allocate, key model.RequestKey) error {
	if r.GPUs != nil || !strings.HasPrefix(c.Data, "{") {
		return nil
	}
	past, _ := s.Requests.Get(key)
	if was, found := s.Allocations.Get(model.AllocationOf(c.Service, past.Number)); found && past.Number > 0 {
		c.GPUs, c.GPUMemoryMB = was.GPUs, was.GPUMemoryMB
		return nil
	}
	w := &wire.Workload{ServiceName: r.Service, Type: r.Workload, GPU: c.GPUModel}
	if err := json.Unmarshal([]byte(c.Data), &w.Data); err != nil {
		return invalid("workload_data", "must be JSON")
	}
	k := workload.Knowledge{Fleet: fleetKinds(s), Past: pastRuns(s, "", r.Service), Defaults: a.gate.terms().Workloads}
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
	c.GPUs = uint32(min(plan.GPUs, most, model.MaxDevices)) //nolint:gosec // at most 64
	if c.GPUMemoryMB == 0 && plan.Fits && plan.GPUs <= most {
		c.GPUMemoryMB = uint32(min(plan.MemoryMB, math.MaxUint32)) //nolint:gosec // bounded
	}
	return nil
}
