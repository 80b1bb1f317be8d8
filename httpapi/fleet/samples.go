package fleet

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// sampled returns the telemetry of all GPUs in columns.
type sampled struct{ api *core.API }

func (a sampled) route(doc huma.API) {
	o := core.Op("gpu-samples", http.MethodGet, "/gpu/samples", "The newest telemetry of all GPUs, in columns")
	o.Description = "For programs that show many GPUs and ask again and again: what a GPU is and has is in GET /nodes, in the same order as long as layout is the same there."
	core.Handle(a.api, doc, o, a.samples)
}

// gpusOf yields the GPUs of all nodes, in the order of GET /nodes.
func gpusOf(s *state.State) iter.Seq2[model.NodeID, model.GPUID] {
	return func(yield func(model.NodeID, model.GPUID) bool) {
		for k := range s.NodeGPUs.All() {
			if !yield(k.Node, k.GPU) {
				return
			}
		}
	}
}

// layoutOf names the nodes and GPUs in their order.
func layoutOf(s *state.State) string {
	sum := fnv.New64a()
	for id := range s.Nodes.All() {
		fmt.Fprintf(sum, "%q", id)
	}
	for node, gpu := range gpusOf(s) {
		fmt.Fprintf(sum, "\n%q%q", node, gpu)
	}
	return strconv.FormatUint(sum.Sum64(), 36)
}

// samples needs no wait for changes: telemetry is not in the state.
func (a sampled) samples(ctx context.Context, _ *struct{}) (*core.Answer[wire.Samples], error) {
	s := a.api.State()
	measured := view.ReadingsOf(a.api.Samples(ctx).Readings)
	out := &wire.Samples{
		Layout: layoutOf(&s), UtilizationPercent: []*int64{}, MemoryUsedGB: []*float64{}, TemperatureCelsius: []*int64{}, PowerWatts: []*int64{},
		IdleHeldSeconds: []*int64{}, AgeSeconds: []*float64{},
	}
	for _, gpu := range gpusOf(&s) {
		var use, heat, power, idle *int64
		var memory, age *float64
		if r, found := measured[gpu]; found {
			if !r.Sample.Unmeasured {
				use = new(int64(r.Sample.Utilization))
			}
			heat, power, memory = new(int64(r.Sample.Temperature)), new(int64(r.Sample.PowerWatts)), new(view.Gigabytes(r.Sample.MemoryUsedMB))
			idle, age = new(int64(r.Sample.Unused.Seconds())), new(math.Round(10*r.Age.Seconds())/10)
			if r.Sample.Warning != "" {
				if out.Warnings == nil {
					out.Warnings = map[string]string{}
				}
				out.Warnings[strconv.FormatInt(out.GPUs, 10)] = r.Sample.Warning
			}
		}
		out.UtilizationPercent, out.MemoryUsedGB = append(out.UtilizationPercent, use), append(out.MemoryUsedGB, memory)
		out.TemperatureCelsius, out.PowerWatts = append(out.TemperatureCelsius, heat), append(out.PowerWatts, power)
		out.IdleHeldSeconds, out.AgeSeconds = append(out.IdleHeldSeconds, idle), append(out.AgeSeconds, age)
		out.GPUs++
	}
	return &core.Answer[wire.Samples]{Index: s.Index, Body: out}, nil
}

// gpuTypes returns the types of GPU that the cluster has, by name.
func gpuTypes(s *state.State) []wire.GPUType {
	types := map[string]*wire.GPUType{}
	on := map[[2]string]bool{} // types and nodes
	for node, id := range gpusOf(s) {
		g, _ := s.GPUs.Get(id)
		t := types[g.Model]
		if t == nil {
			t = &wire.GPUType{Name: g.Model}
			types[g.Model] = t
		}
		t.GPUs++
		t.MemoryGB = max(t.MemoryGB, view.Gigabytes(g.MemoryMB))
		if slot, _ := s.Slots.Get(model.SlotKey{GPU: id}); slot.Owner == model.OwnerNone && g.Usable() {
			t.Free++
		}
		if at := [2]string{g.Model, string(node)}; !on[at] {
			on[at] = true
			t.Nodes++
		}
	}
	out := make([]wire.GPUType, 0, len(types))
	for _, t := range types { // order-free: sorted below
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b wire.GPUType) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// nodeLabels returns the labels of nodes, by key.
func nodeLabels(s *state.State) []wire.NodeLabel {
	labels := map[string]*wire.NodeLabel{}
	for _, n := range s.Nodes.All() {
		for _, l := range n.Is() {
			v := labels[l.Key]
			if v == nil {
				v = &wire.NodeLabel{Key: l.Key, Values: []string{}}
				labels[l.Key] = v
			}
			v.Nodes++
			if l.Value != "" && !slices.Contains(v.Values, l.Value) {
				v.Values = append(v.Values, l.Value)
			}
		}
	}
	out := make([]wire.NodeLabel, 0, len(labels))
	for _, l := range labels { // order-free: sorted below
		slices.Sort(l.Values)
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b wire.NodeLabel) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
