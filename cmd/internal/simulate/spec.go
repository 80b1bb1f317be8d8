package simulate

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// specOf is a job as its user submitted it, but for what is told of its run time and
// whether it may be suspended. A job that says nothing of nodes takes whole ones of so many
// GPUs, if it takes some of them full; 0: any.
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
		return spec, fmt.Errorf("job %s of the trace: %w", j.ID, err)
	}
	return spec, nil
}
