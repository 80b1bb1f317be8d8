package apply

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// drawTurn gives some submissions numbers of their own, a sweep, instants, and jobs
// to wait for.
func drawTurn(g *gen, b *command.Submit) {
	switch {
	case b.Tasks == 1:
	case g.roll(3) == 0:
		b.Tasks, b.Spec.Array = 3, pick(g, "3,7,9", "0-4:2", "1-3")
	case g.roll(3) == 0:
		b.Tasks, b.Spec.Array, b.Spec.Sweep = 4, "0-3", "lr=1e-3,1e-4\nseed=1..2"
	}
	if now := g.s.Settings().Clock; g.roll(8) == 0 {
		b.Spec.Begin = now.Add(time.Duration(g.roll(60)-5) * time.Second)
	}
	if now := max(g.s.Settings().Clock, b.Spec.Begin); g.roll(8) == 0 {
		b.Spec.Deadline = now.Add(time.Duration(1+g.roll(120)) * time.Second)
	}
	for range g.roll(4) * g.roll(2) {
		a := dependency.After{Job: anyJob(g), Kind: dependency.Kind(1 + g.roll(5)), Any: g.roll(3) == 0}
		if a.Kind == dependency.AfterBegin {
			a.Delay = time.Duration(g.roll(3)) * time.Minute
		}
		if n := len(b.After); a.Job > 0 && (n == 0 || b.After[n-1].Compare(a) < 0) {
			b.After = append(b.After, a)
		}
	}
}

// drawSettle draws jobs that wait, mostly for one that has ended.
func drawSettle(g *gen) command.Body {
	b := &command.Settle{}
	for id := range g.s.Settled(g.s.Settings().Clock) {
		b.Jobs = append(b.Jobs, id)
	}
	if len(b.Jobs) == 0 || len(b.Jobs) > command.MaxSettled || g.roll(6) == 0 {
		b.Jobs = []model.JobID{anyWaiting(g), anyJob(g)}
	}
	return b
}

// anyWaiting returns a job that waits for another, if there is one.
func anyWaiting(g *gen) model.JobID {
	if k, ok := first(g.s.Awaited, state.AwaitedKey{On: anyJob(g)}); ok && g.roll(5) > 0 {
		return k.Job
	}
	return anyJob(g)
}

// anyEnded draws a job that has ended, mostly.
func anyEnded(g *gen) model.JobID {
	for id, j := range g.s.Jobs.From(anyJob(g)) {
		if j.Open == 0 && g.roll(5) > 0 {
			return id
		}
	}
	return anyJob(g)
}

func drawOverdue(g *gen) command.Body {
	b := &command.Overdue{Jobs: []model.JobID{anyJob(g)}}
	for k := range g.s.Deadlines.All() {
		if b.Jobs = append(b.Jobs, k.Job); len(b.Jobs) == 3 {
			break
		}
	}
	return b
}
