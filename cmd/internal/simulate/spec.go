package simulate

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/model"
)

// specOf returns a job's submission without its estimate and whether it may be suspended. A job
// without a number of nodes takes whole nodes of the given number of GPUs, if it fills some of
// them; 0: any nodes.
func specOf(j *Job, whole uint32) (model.Spec, error) {
	t := &j.Told
	spec := model.Spec{
		User: j.User, Project: t.Project, Class: model.ClassNormal, Command: "true",
		GPUs: j.GPUs, Nodes: j.Nodes, GPUModel: t.Model, GPUMemoryMB: t.MemoryMB, TimeLimit: t.TimeLimit,
		Constraint: t.Where.Constraint, Nodelist: t.Where.Nodelist, Exclude: t.Where.Exclude, Placement: t.Placement,
		OnLost: model.OnLostRequeue, DisconnectGrace: model.DefaultDisconnectGrace, Grace: 30 * time.Second,
	}
	if t.Class != 0 {
		spec.Class = t.Class
	}
	if whole > 0 && spec.Nodes == 0 && spec.GPUs > whole && spec.GPUs%whole == 0 {
		spec.Nodes = spec.GPUs / whole
	}
	if err := spec.Validate(); err != nil {
		return spec, fmt.Errorf("%s: %w", j, err)
	}
	return spec, nil
}

// possible returns an error for a job of the trace that these nodes could never run.
func (r *Run) possible() error {
	fit := map[model.Shape]bool{}
	for i := range r.trace {
		j := &r.trace[i]
		spec, err := specOf(j, r.whole)
		if err != nil {
			return err
		}
		if fit[spec.Shape()] {
			continue
		}
		fits, why := place.Possible(&r.cluster.State, &spec)
		if !fits {
			return fmt.Errorf("%s could never run on these nodes: %s; name more or larger ones (--nodes, --gpus-per-node, --cluster), or leave it out", j, why)
		}
		fit[spec.Shape()] = true
	}
	return nil
}

// String names a job by its line in the trace.
func (j *Job) String() string {
	if j.line == 0 {
		return "job " + j.ID + " of the trace"
	}
	return fmt.Sprintf("job %s of the trace (line %d)", j.ID, j.line)
}
