package intake

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

// slurmFields returns what only jobs in Slurm's language have.
func slurmFields() []Field {
	return []Field{{
		Name: "slurm", Doc: "of a job in Slurm's language, what it asks for beyond the other fields: tasks, files, partition and QOS (docs/slurm.md); " +
			"what it runs is started on the first node only, with lead, and with Slurm's variables",
		Kind: "object", Bounds: atMost(model.MaxData), read: readSlurm, write: writeSlurm,
	}}
}

func readSlurm(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
	if r.Slurm == nil {
		return nil
	}
	if c.Spec.Slurm, err = r.Slurm.Encode(); err != nil {
		return problem.Invalid("slurm", err.Error())
	}
	return nil
}

func writeSlurm(j *model.Job, r *wire.Submit) {
	if j.Spec.Slurm != "" {
		r.Slurm, _ = request.Decode(j.Spec.Slurm) // nil: a newer version wrote what this one cannot read
	}
}
