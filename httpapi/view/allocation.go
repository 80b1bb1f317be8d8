package view

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Status returns an allocation's state in the API's terms.
func Status(s model.AllocationState) string {
	if s == model.AllocationActive {
		return "allocated"
	}
	return s.String()
}

// Allocation converts an allocation to the API's form.
func (v *View) Allocation(a *model.Allocation) wire.ServiceAllocation {
	out := wire.ServiceAllocation{
		ID: string(a.ID), Service: a.Service, Workload: cmp.Or(a.Workload, model.WorkloadGeneric), Data: []byte(a.Data), User: a.User,
		Project: a.Project, JobID: a.For, Status: Status(a.State), Priority: int64(a.Priority), GPUs: int64(a.GPUs), GPUType: a.GPUModel,
		GPUMemoryGB: float64(a.GPUMemoryMB) / 1000, Constraint: a.Constraint, Nodelist: listed(a.Nodelist), Exclude: listed(a.Exclude),
		WebhookURL: a.Webhook, GPUIDs: []int64{}, Held: []wire.GPURef{}, SubmittedAt: a.Asked.Time(), AllocatedAt: a.Granted.Time(),
		EndedAt: a.Ended.Time(), TTLSeconds: a.TTL.Seconds(),
	}
	until := v.Now
	switch {
	case a.State == model.AllocationActive:
		out.ExpiresAt = a.Expires.Time()
		held(v, a.ID, &out)
		until = a.Granted
	case a.Granted > 0:
		until = a.Granted
	case a.State.Terminal():
		until = a.Ended
	}
	out.WaitSeconds = Seconds(until.Sub(a.Asked))
	return out
}

// held adds the GPUs of an allocation.
func held(v *View, id model.AllocationID, out *wire.ServiceAllocation) {
	for k := range v.State.Owners.From(state.OwnerKey{Allocation: id}) {
		if k.Allocation != id || k.Rank != (model.RankKey{}) {
			break
		}
		g, _ := v.State.GPUs.Get(k.Slot.GPU)
		out.NodeID = string(g.Node)
		out.Held = append(out.Held, wire.GPURef{NodeID: string(g.Node), Index: int64(g.Index), UUID: string(g.ID)})
	}
	slices.SortFunc(out.Held, func(a, b wire.GPURef) int { return cmp.Compare(a.Index, b.Index) })
	for _, g := range out.Held {
		out.GPUIDs = append(out.GPUIDs, g.Index)
	}
	n, _ := v.State.Nodes.Get(model.NodeID(out.NodeID))
	out.Hostname = n.Hostname
}

// Waiting returns the allocations that wait, in order.
func (v *View) Waiting() []wire.ServiceAllocation {
	out := []wire.ServiceAllocation{}
	if v.State.Waiting.Len() == 0 {
		return out
	}
	for e := range queue.Order(v.State, v.Now, 0) {
		if e.Service == "" {
			continue
		}
		if out = append(out, v.waits(&e)); len(out) == v.State.Waiting.Len() {
			break
		}
	}
	return out
}

// waits returns an allocation at its place in the queue.
func (v *View) waits(e *queue.Entry) wire.ServiceAllocation {
	a, _ := v.State.Allocations.Get(e.Service)
	out := v.Allocation(&a)
	out.Position = e.Position
	return out
}
