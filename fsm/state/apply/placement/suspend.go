package placement

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Suspend stops all of the attempts or none.
func Suspend(t *tx.Tx, b *command.Suspend) command.Result {
	if r := MayPlace(t, b.Decided); !r.OK() {
		return r
	}
	for _, v := range b.Attempts {
		a, found := t.Attempts.Get(v)
		job, _ := t.Jobs.Get(v.Job)
		switch {
		case !found || !a.Live():
			return tx.Refuse(model.CodeNotLive, "attempt %s has ended", v)
		case !job.Spec.Preemptible, job.Spec.WithoutGPUs():
			return tx.Refuse(model.CodeDenied, "job %s may not be suspended", v.Job)
		}
	}
	for _, v := range b.Attempts {
		Stop(t, v, model.ReasonPreempt, "suspended for others")
	}
	return tx.OK()
}
