package view

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// hides reports whether the caller may not see what a job runs.
func (v *View) hides(j *model.Job) bool { return v.Sees != nil && !v.Sees(j) }

// cover removes from a job what the caller may not see.
func (v *View) cover(j *model.Job, out *wire.Job) {
	if !v.hides(j) {
		return
	}
	out.Command, out.CommandHidden, out.Slurm = "", true, nil
	if out.Array != nil {
		out.Array.Params = nil
	}
}
