package submit

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

// when fills in times, arrays, priority, signals and what happens at a loss.
func (t *translation) when() error {
	o, r := t.options, t.out
	switch {
	case o.Time > 0 && o.Time != form.Unlimited:
		r.TimeLimit = new(wire.Duration(o.Time))
	case t.given("time"):
		r.Slurm.Unlimited = true
	}
	if !o.Begin.At.IsZero() {
		r.Begin = o.Begin.At.Format(time.RFC3339)
	}
	if !o.Deadline.At.IsZero() {
		r.Deadline = o.Deadline.At.Format(time.RFC3339)
	}
	if len(o.Array.Indices) > 0 {
		if r.Indices = o.Array.Berth(); o.Array.AtOnce > 0 {
			r.MaxRunning = new(int64(o.Array.AtOnce))
		}
	}
	if o.Hold {
		r.Hold = new(true)
	}
	switch o.Requeue {
	case sbatch.RequeueYes, sbatch.RequeueDefault: // as JobRequeue of Slurm has it
		r.OnLost = model.OnLostRequeue.String()
	case sbatch.RequeueNo:
		r.OnLost = model.OnLostFail.String()
		if t.layout.GPUs > 0 {
			r.Preemptible = new(false)
		}
	}
	t.priority()
	t.warning()
	return nil
}

// priority lowers the priority of a job that asks for that. Berth has four classes and no numbers between them.
func (t *translation) priority() {
	o := t.options
	switch {
	case o.Nice.Given && o.Nice.By > 0:
		t.out.Priority = new(int64(1))
		t.note("nice", "the job gets the priority low, whatever the number")
	case o.Nice.Given && o.Nice.By < 0:
		t.note("nice", "has no effect: --priority of berth submit raises the priority")
	}
	if o.Priority != "" {
		t.note("priority", "has no effect: --priority of berth submit sets the priority, low to critical")
	}
}

// warning fills in the signal ahead of the time limit. A limit may come from the partition, so that whether there is one is not known here.
func (t *translation) warning() {
	w := t.options.Signal
	if w.Signal == "" {
		return
	}
	t.out.WarnSignal, t.out.WarnBefore = w.Signal, new(wire.Duration(w.Before))
	t.out.Slurm.SignalSteps = !w.Batch
}
