package sim

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// course of events in which a rule of where and when jobs run decides something.
type unsaid struct {
	breach string // of the rule
	script func(w *World, u *user)
}

// A cluster that violates users' requirements on where and when their jobs run is found out, rule by rule: it
// is the production cluster, from which the requirement is kept, so that neither its scheduler nor its state
// knows that it does wrong. Where it gets the requirement, nothing is found.
func TestRules(t *testing.T) {
	scripted(t)
	for _, v := range unsaids() {
		t.Run(v.breach, func(t *testing.T) {
			parallel(t)
			s := Setup{Seed: 1, Peers: 3, Nodes: 2, GPUs: 2, Tuning: leisurely()}
			script := func(w *World) {
				w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Slots.Len() == 4 })
				u := newUser(w, "someone", 7)
				defer u.close()
				v.script(w, u)
			}
			r := run(t, s, script)
			describeFailure(t, s.Seed, r)
			s.Twists.Unsaid = v.breach
			if r = run(t, s, script); r.Broken == nil || r.Broken.Name != v.breach {
				trace, log, err := r.Save(t.ArtifactDir())
				t.Errorf("a cluster that is not told of the rule does the harm %v, not %q; see %s, %s, %v", r.Broken, v.breach, trace, log, err)
			}
		})
	}
}

func unsaids() []unsaid {
	in := func(d time.Duration) model.Time { return model.TimeOf(time.Now().Add(d).Truncate(time.Second)) }
	submit := func(w *World, u *user, gpus uint32, run time.Duration, change func(*command.Submit)) model.JobID {
		job := plainJob
		job.Spec.GPUs, job.Spec.Command = gpus, behavior{Run: run}.command()
		change(&job)
		d := u.submit(w.ctx, &job)
		if !d.ok() {
			w.trace.Break("scenario", "the job is refused: %+v", d)
		}
		return d.id
	}
	as := func(*command.Submit) {}
	return []unsaid{
		{BreachThrottle, func(w *World, u *user) {
			submit(w, u, 1, 5*time.Second, func(c *command.Submit) { c.Tasks, c.Throttle = 3, 1 })
		}},
		{BreachBegin, func(w *World, u *user) {
			submit(w, u, 1, time.Second, func(c *command.Submit) { c.Spec.Begin = in(20 * time.Second) })
		}},
		{BreachDependency, func(w *World, u *user) {
			first := submit(w, u, 1, 10*time.Second, as)
			submit(w, u, 1, time.Second, func(c *command.Submit) { c.After = []dependency.After{{Job: first, Kind: dependency.AfterOK}} })
		}},
		{BreachDeadline, func(w *World, u *user) {
			submit(w, u, 1, 3*time.Minute, func(c *command.Submit) { c.Spec.Deadline = in(10 * time.Second) })
		}},
		{BreachWhere, func(w *World, u *user) {
			for range 2 {
				submit(w, u, 2, 5*time.Second, func(c *command.Submit) { c.Spec.Constraint = "zone=b" })
			}
		}},
		{BreachGPUs, func(w *World, u *user) {
			submit(w, u, 3, 10*time.Second, as)
			submit(w, u, 4, time.Second, func(c *command.Submit) { c.Spec.MinGPUs = 2 })
		}},
		{BreachLead, func(w *World, u *user) {
			submit(w, u, 2, 5*time.Second, func(c *command.Submit) {
				c.Spec.Nodes, c.Spec.Lead, c.Spec.Command = 2, true, behavior{Run: 5 * time.Second, Lead: true}.command()
			})
		}},
		{BreachBooked, func(w *World, u *user) {
			u.book(w.ctx, &model.Booking{
				Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeProject, Name: owned}, Nodes: "n1", Start: in(20 * time.Second),
				End: in(time.Minute),
			})
			for range 2 {
				submit(w, u, 2, 5*time.Second, func(c *command.Submit) { c.Spec.Project = "everybody" })
			}
			wait(w, 10*time.Second)
		}},
		{BreachMaintenance, func(w *World, u *user) {
			u.book(w.ctx, &model.Booking{Kind: model.BookMaintenance, Nodes: "n1", Start: in(20 * time.Second), End: in(time.Minute)})
			for range 2 {
				submit(w, u, 2, 5*time.Second, as)
			}
			wait(w, 10*time.Second)
		}},
	}
}
