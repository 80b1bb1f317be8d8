package search

import (
	"time"
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/cores"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Outlook is what a search leaves to the passes until the next search, on a cluster so large that not every event
// is worth a search: which tasks should start where as soon as GPUs there are free, which tasks are next, and
// which nodes are kept for large jobs. Only one goroutine may use an Outlook at a time.
type Outlook struct {
	policy   string
	tuning   model.Tuning
	strict   bool // see [queue.EndsAfter]
	size     int  // jobs and GPUs that the search looked at
	loads    place.Loads
	fresh    model.JobID // jobs from this number on have come since
	turn     uint32      // likewise for services
	intended []intended
	next     []successor
	guard    place.NodeGuard
	gangs    map[model.NodeID]bool // nodes that the layout gives to large jobs
}

// Size returns the number of GPUs plus the number of jobs, running or waiting, that the search looked at.
func (o *Outlook) Size() int { return o.size }

// intended is where a waiting task should run.
type intended struct {
	task model.TaskKey
	at   []place.Share
}

// successor is a waiting task that comes next: one that found no GPUs, or the last one of its run that the search
// looked at.
type successor struct {
	key  state.QueueKey
	kind successorKind
	ends time.Duration // after which it is expected to end
	big  bool          // it needs a node or more
	last bool          // of its run: later tasks of the run are not named
}

// successorKind is what tasks have in common that find room in the same places: where one finds none, no other does,
// except shorter ones on barred nodes.
type successorKind struct {
	shape  model.Shape
	yields bool // it may be suspended later on
}

func successorOf(s *state.State, k state.QueueKey, stay split.Stay) successor {
	run := k.Run.Value()
	return successor{key: k, kind: successorKind{place.ShapeOf(s, &run), stay.Yields}, ends: time.Duration(stay.Ends) * time.Second}
}

// maxSuccessors bounds the tasks of one kind that an outlook names.
const maxSuccessors = 64

// Between returns what to place and grant on s at the time now, as far as an earlier search decides it. The state
// s must descend from the state of that search. First come the tasks that the search wanted to start and could not
// start then. After them come, in the search's order, all tasks that fit without what the search keeps for others.
// No task is suspended or preempted. Between returns false if the outlook does not apply to s, because the policy
// has changed.
func Between(s *state.State, now model.Time, o *Outlook) (commands []command.Body, ok bool) {
	set := s.Settings()
	if set.Policy != o.policy || queue.TuningOf(&set) != o.tuning {
		return nil, false
	}
	if !set.Running || set.Standstill {
		return nil, true
	}
	p := pass.NewInOrder(s, queue.NewPlainOrdering(s, now))
	p.Free.Loads = o.loads
	p.StartClaimants(true)
	f := &followUp{pass: p, outlook: o, guard: o.guard}
	f.starts()
	f.gangs()
	f.all()
	n := len(p.Commands)
	if p.StartClaimants(false); len(p.Commands) > n {
		f.all() // on what was kept for the claimants
	}
	if s.CPUQueue.Len() > 0 {
		cores.Start(p, queue.NewOrdering(s, now))
	}
	return p.Commands, true
}

// outlookOf returns what a search with a layout leaves to later passes.
func outlookOf(b *builder, problem *split.Problem, best *split.Layout) *Outlook {
	p := b.pass
	set := p.State.Settings()
	o := &Outlook{
		policy: set.Policy, tuning: p.Order.Tuning, strict: p.Order.Strict, size: len(b.all) + int(b.gpus), loads: p.Free.Loads,
		fresh: set.NextJob, turn: set.Services,
		guard: place.NodeGuard{Barred: map[model.NodeID]model.Time{}}, gangs: map[model.NodeID]bool{},
	}
	for i, until := range best.Until {
		if until > 0 {
			o.guard.Barred[b.nodes[i]] = p.Now.Add(time.Duration(until) * time.Second)
			o.guard.Except = b.all[best.For].key.Task
		}
	}
	for i := range b.all {
		c, at := &b.all[i], best.Places[i]
		if best.Big[i] && at != nil {
			for _, v := range at {
				o.gangs[b.nodes[v.Node]] = true
			}
		}
		if c.attempt.N == 0 && at != nil && !p.Done[c.key.Task] {
			o.intended = append(o.intended, intended{c.key.Task, sharesOn(b.nodes, at)})
		}
	}
	o.next = successorsOf(b, problem, best)
	return o
}

// successorsOf lists the tasks that found no GPUs, in order. The last task of each run is named even if it found some:
// the tasks of its run that the search did not look at come after it.
func successorsOf(b *builder, problem *split.Problem, best *split.Layout) (out []successor) {
	type line struct {
		class model.Class
		run   unique.Handle[state.Run]
	}
	lineOf := func(k *state.QueueKey) line { return line{k.Class, k.Run} }
	last := map[line]int{} // of each run, within the jobs
	for i := range b.all {
		if c := &b.all[i]; c.attempt.N == 0 {
			last[lineOf(&c.key)] = i
		}
	}
	known := map[successorKind]int{}
	for i := range b.all {
		c, j := &b.all[i], &problem.Jobs[i]
		if c.attempt.N > 0 || best.Places[i] != nil && last[lineOf(&c.key)] != i {
			continue
		}
		h := successorOf(b.pass.State, c.key, j.Stay)
		if known[h.kind]++; known[h.kind] <= maxSuccessors {
			h.big = best.Big[i]
			out = append(out, h)
		}
	}
	seen := map[line]bool{}
	for i := len(out) - 1; i >= 0; i-- {
		of := lineOf(&out[i].key)
		out[i].last, seen[of] = !seen[of], true
	}
	return out
}
