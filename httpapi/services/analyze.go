package services

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// workloads estimates what workloads need.
type workloads struct{ api *core.API }

// workloadInput is the input of an analysis.
type workloadInput struct{ core.Raw }

func (a workloads) route(doc huma.API) {
	o := core.Op("workload", http.MethodPost, "/gpu/workload", "How many GPUs a workload needs, with how much memory, for how long, and why")
	o.Metadata = map[string]any{core.AnsweredHere: true}
	core.HandleBody(a.api, doc, o, func(ctx context.Context, _ *workloadInput, b *wire.Workload) (*core.Answer[wire.WorkloadPlan], error) {
		s := a.api.State()
		out, err := a.analyze(ctx, &s, b)
		if err != nil {
			return nil, err
		}
		return &core.Answer[wire.WorkloadPlan]{Index: s.Index, Body: out}, nil
	})
}

// analyze estimates what a workload needs, from the state and the advisers.
func (a workloads) analyze(ctx context.Context, s *state.State, w *wire.Workload) (*wire.WorkloadPlan, error) {
	if err := workload.Check(w); err != nil {
		return nil, workloadProblem(err)
	}
	by := a.api.Terms()
	k := workload.Knowledge{
		Fleet: fleetKinds(s), Past: pastRuns(s, w.User, w.ServiceName), Defaults: by.Workloads,
		Priority: intake.MostPriority(auth.From(ctx), model.ServiceClass),
	}
	k.Advice = a.api.Advisers().Ask(ctx, w)
	out, err := workload.Analyze(w, &k)
	if err != nil {
		return nil, workloadProblem(err)
	}
	return out, nil
}

func workloadProblem(err error) error {
	if e, is := errors.AsType[*workload.Error](err); is {
		return problem.Invalid(e.Field, e.Message)
	}
	return err
}

// fleetKinds returns the cluster's usable GPUs by model and memory, in the order of nodes and
// places in which each first stands.
func fleetKinds(s *state.State) (out []workload.Kind) {
	type kind struct {
		model  string
		memory uint32
	}
	at := map[kind]int{}
	here := map[kind]int64{}
	last := model.NodeID("")
	for k := range s.NodeGPUs.All() {
		if k.Node != last {
			last = k.Node
			clear(here)
		}
		g, _ := s.GPUs.Get(k.GPU)
		if !g.Usable() {
			continue
		}
		name := kind{g.Model, g.MemoryMB}
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, workload.Kind{Model: g.Model, MemoryMB: int64(g.MemoryMB)})
		}
		here[name]++
		out[i].All++
		out[i].Node = max(out[i].Node, here[name])
	}
	return out
}

// pastRuns returns the times and the use of past runs of jobs of a name, of one user or of all.
func pastRuns(s *state.State, user, name string) (out []workload.Runs) {
	if name == "" {
		return nil
	}
	sums := map[uint32]*model.Sketch{}
	var sizes []uint32
	for k, r := range s.Sketches.From(model.SketchKey{User: user}) {
		if user != "" && k.User != user {
			break
		}
		if k.Name != name {
			continue
		}
		sum, known := sums[k.GPUs]
		if !known {
			sum = &model.Sketch{}
			sums[k.GPUs] = sum
			sizes = append(sizes, k.GPUs)
		}
		sum.Count, sum.Peaks, sum.PeakMB = sum.Count+r.Count, sum.Peaks+r.Peaks, max(sum.PeakMB, r.PeakMB)
		for i, n := range r.Log2 {
			sum.Log2[i] += min(n, 1<<16-1-sum.Log2[i])
		}
	}
	for _, gpus := range sizes {
		sum := sums[gpus]
		typical, _ := state.Typical(sum)
		out = append(out, workload.Runs{
			GPUs: int64(gpus), Count: int64(sum.Count), Typical: typical, PeakMB: int64(sum.PeakMB), Peaks: int64(sum.Peaks),
		})
	}
	return out
}
