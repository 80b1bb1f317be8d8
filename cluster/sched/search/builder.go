package search

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/preemption"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// builder is the builder of a search's problem from a state.
type builder struct {
	pass   *pass.Pass
	nodes  []model.NodeID
	index  map[model.NodeID]int32
	room   [][]int32
	kinds  []kindOf
	all    []candidate
	jobs   []split.Job
	bounds bounds
	shapes map[model.Shape]shapeOf
	keeper *keeper
	sited
	counted
}

// sited is the sets of nodes that jobs may use.
type sited struct {
	sites [][]bool // by node
	where map[model.Where]int32
}

// counted is the numbers of GPUs that a builder has counted.
type counted struct {
	held  map[model.RankKey]rankGPUs
	gpus  int32 // of all nodes: GPUs that jobs may get
	stays int32 // of these, the GPUs of jobs that stay where they are
}

// shapeOf is what follows from a shape.
type shapeOf struct {
	number int32
	kinds  uint64
	spread bool
	site   int32
	order  split.Order
}

func newBuilder(p *pass.Pass) *builder {
	b := &builder{
		pass: p, index: map[model.NodeID]int32{}, shapes: map[model.Shape]shapeOf{}, bounds: newBounds(p),
		sited: sited{where: map[model.Where]int32{{}: 0}}, counted: counted{held: make(map[model.RankKey]rankGPUs, p.State.LiveTasks.Len())},
	}
	b.keeper = newKeeper(b)
	most := p.State.LiveTasks.Len() + min(p.State.Queue.Len(), p.State.Slots.Len())
	b.all, b.jobs = make([]candidate, 0, most), make([]split.Job, 0, most)
	for id, node := range p.State.Nodes.All() {
		if node.Schedulable() {
			b.index[id] = int32(len(b.nodes))
			b.nodes = append(b.nodes, id)
		}
	}
	b.room = make([][]int32, len(b.nodes))
	survey(b)
	for i := range b.room { // every node lists every kind
		b.room[i] = append(b.room[i], make([]int32, len(b.kinds)-len(b.room[i]))...)
	}
	return b
}

// spread reports whether a shape leaves the number of nodes open and no node could hold it.
func (b *builder) spread(s model.Shape) bool {
	w := place.Request{
		PerNode: s.GPUs, Nodes: s.Nodes, Model: s.Model, MemoryMB: s.MemoryMB, Sites: b.pass.Sites.Of(b.pass.State, s.Where),
		State: b.pass.State,
	}
	return s.Nodes == 0 && !b.pass.Free.OneNodeHolds(&w)
}

// running adds the jobs that run and the jobs that have claims; jobs that are being stopped count as gone. It adds all
// that run to the preemption as well, which then does not look at them again.
func (b *builder) running(m *preemption.Step) {
	keepClaimed(b)
	defer m.AllAdded()
	s := b.pass.State
	tasks, attempts, jobs := s.Tasks.InOrder(), s.Attempts.InOrder(), s.Jobs.InOrder()
	for key := range s.LiveTasks.All() {
		task, _ := tasks.Get(key)
		a, _ := attempts.Get(task.Newest())
		job, _ := jobs.Get(key.Job)
		at, saved, ok := b.placeOf(a.Key)
		m.AddVictim(&task, &a, &job, saved)
		if a.Stop != model.ReasonNone || b.pass.Bookings.Suspended[a.Key] {
			continue
		}
		if !ok {
			b.exclude(a.Key)
			continue
		}
		locked := b.locked(&task, &job, &a)
		b.keeper.running(&a, locked)
		if locked {
			addStaying(b, &job, &task, &a, at)
			continue
		}
		k := b.keyNow(&task, &job, &a)
		c := candidate{at: b.pass.Order.SortKey(k), key: k, attempt: a.Key}
		if c.at.Since = task.Since; job.Place.Moved() { // run time is no wait, and does not put it behind others either
			c.at.Since = job.Place.Since
		}
		if b.pass.Order.Policy.Proportional {
			c.at.Score = queue.Hysteresis(c.at.Score, &b.pass.Order.Tuning)
		}
		run := k.Run.Value()
		j := b.job(&run, split.Job{Place: at, Shape: -1})
		j.Uses = b.bounds.uses(&run, key.Job, true)
		b.add(c, j, run.Shape.GPUs)
	}
}

// stuck reports whether no job can be started or suspended, regardless of which jobs wait.
func (b *builder) stuck() bool {
	return b.pass.Free.Empty() && !slices.ContainsFunc(b.jobs, func(j split.Job) bool { return !j.Locked })
}

// placeOf returns where an attempt runs, and the run time at the last checkpoint of its first rank; ok is false if
// the attempt holds GPUs that no other job could get now.
func (b *builder) placeOf(a model.AttemptKey) (at []split.Part, saved time.Duration, ok bool) {
	ok = true
	for key, r := range b.pass.State.Ranks.From(a.Rank(0)) {
		if key.Attempt() != a {
			break
		}
		if key == a.Rank(0) {
			saved = r.Saved
		}
		if r.Phase.Ended() {
			continue // its GPUs are being cleaned for other jobs
		}
		n, open := b.index[r.Node]
		has := b.held[r.Key]
		ok = ok && open && !has.broken
		at = append(at, split.Part{Node: n, GPUs: has.gpus})
	}
	return at, saved, ok && len(at) > 0
}

// exclude removes the GPUs of an attempt from the problem.
func (b *builder) exclude(a model.AttemptKey) {
	for _, r := range b.pass.State.RanksOf(a) {
		for _, key := range b.pass.State.SlotsOf(r.Key) {
			g, _ := b.pass.State.GPUs.Get(key.GPU)
			slot, _ := b.pass.State.Slots.Get(key)
			if n, open := b.index[r.Node]; open && b.mine(&slot, &g) && !r.Phase.Ended() {
				b.count(n, b.kind(&g), -1)
				b.gpus--
			}
		}
	}
}

// keyNow returns the key that a live task would have if it waited, as if it could run since as long ago as it has waited.
func (b *builder) keyNow(task *model.Task, job *model.Job, a *model.Attempt) state.QueueKey {
	had := admission.Executed(task, a, b.pass.Now)
	now := *task
	now.Executed, now.Expected = 0, b.pass.State.Expect(&job.Spec, had)
	if job.Place.Moved() { // it keeps its place, and does not wait on
		there := *job
		there.Place.Since += model.Time(b.pass.Now.Sub(a.Placed))
		job = &there
	}
	k := state.KeyOf(&now, job)
	k.Since = b.pass.Now.Add(-task.AgeAt(a.Placed))
	return k
}

// locked reports whether an attempt may not be suspended now.
func (b *builder) locked(task *model.Task, job *model.Job, a *model.Attempt) bool {
	t := &b.pass.Order.Tuning
	return t.NoPreemption || !job.Spec.Preemptible || a.Started == 0 || b.pass.Now.Sub(a.Started) < max(t.MinRun, 1) ||
		spent(task, a, t, b.pass.Now)
}

// shape returns what follows from a shape.
func (b *builder) shape(s model.Shape) shapeOf {
	v, known := b.shapes[s]
	if !known {
		v = shapeOf{int32(len(b.shapes)), b.suiting(s), b.spread(s), b.site(s.Where), orderOf(b, s.Strategy)}
		b.shapes[s] = v
	}
	return v
}

// site returns the number of the set of nodes that a Where allows; 0: all nodes.
func (b *builder) site(w model.Where) int32 {
	n, known := b.where[w]
	if !known {
		on, sites := make([]bool, len(b.nodes)), b.pass.Sites.Of(b.pass.State, w)
		for i, id := range b.nodes {
			on[i] = sites.Has(id)
		}
		b.sites = append(b.sites, on)
		n = int32(len(b.sites))
		b.where[w] = n
	}
	return n
}

// shuns returns the free GPUs on which a task has just failed, or all of a node that has just refused to start it.
func (b *builder) shuns(key model.TaskKey) []split.Part {
	s := b.pass.State
	task, _ := s.Tasks.Get(key)
	if task.Avoid == 0 {
		return nil
	}
	job, _ := s.Jobs.Get(key.Job)
	w := place.RequestOf(s, &job.Spec, key)
	r, _ := s.Ranks.Get(w.Avoid)
	n, open := b.index[r.Node]
	if w.Avoid.Job == 0 || !open {
		return nil
	}
	if w.Shuns != "" {
		return []split.Part{{Node: n, GPUs: math.MaxInt32}}
	}
	var gpus int32
	for k := range s.RankGPUs.From(model.RankGPUKey{Rank: w.Avoid}) {
		if k.Rank != w.Avoid {
			break
		}
		if slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU}); slot.Owner == model.OwnerNone || slot.Owner == model.OwnerCleaning {
			gpus++
		}
	}
	return []split.Part{{Node: n, GPUs: gpus}}
}

// sizeOf returns how many GPUs a job has (or asks for, within what its limits allow to one job), on how many
// nodes, and how few GPUs the job accepts.
func (b *builder) sizeOf(run *state.Run, j *split.Job) (gpus, nodes, least int32) {
	s := &run.Shape
	if j.Place != nil && s.MinGPUs > 0 {
		s.GPUs = 0
		for _, v := range j.Place {
			s.GPUs += uint32(v.GPUs)
		}
		if s.MinGPUs = 0; s.Nodes > 0 {
			s.Nodes = uint32(len(j.Place))
		}
	}
	each := s.GPUs / max(s.Nodes, 1)
	for _, limit := range b.bounds.limitsOf(run.Project, run.User) {
		if l := limit.GPUsPerJob; s.MinGPUs > 0 && l != model.Unlimited && int64(s.GPUs) > l && l >= int64(s.MinGPUs) {
			s.GPUs = uint32(l)
		}
	}
	if s.Nodes > 1 && s.GPUs%each != 0 {
		s.GPUs -= s.GPUs % each
	}
	if s.Nodes > 1 {
		s.Nodes = s.GPUs / each
	}
	return int32(s.GPUs), int32(s.Nodes), int32(s.MinGPUs)
}

// job returns a job with what follows from its run, and sets the size in the run to the size of the job.
func (b *builder) job(run *state.Run, j split.Job) split.Job {
	shape := b.shape(place.ShapeOf(b.pass.State, run))
	j.Whole = run.Shape.Nodes > 1
	j.Kinds, j.Spread, j.Site, j.Order = shape.kinds, shape.spread, shape.site, shape.order
	j.Yields, j.Ends = run.Preemptible && !b.pass.Order.Tuning.NoPreemption, int64(run.Expected.Seconds())
	j.GPUs, j.Nodes, j.Least = b.sizeOf(run, &j)
	return j
}

// add adds a job that asks for the given number of GPUs.
func (b *builder) add(c candidate, j split.Job, gpus uint32) {
	j.Tag = int32(len(b.all))
	hi, lo := bits.Mul64(c.at.Score, uint64(gpus))
	if j.Value = lo >> 8; hi > 0 {
		j.Value = ^uint64(0) >> 8
	}
	if c.at.Late {
		j.Value >>= lateValue
	}
	b.all = append(b.all, c)
	b.jobs = append(b.jobs, j)
}

// problem returns the problem, with its jobs in order.
func (b *builder) problem(lines *waitingRuns) *split.Problem {
	p := &split.Problem{
		Room: b.room, Turns: turnsOf(b), Loads: loadsOf(b), Sites: b.sites, Bounds: b.bounds.settled(), Today: int(b.pass.Found.GangNodes),
		Keeper: b.keeper.orNone(), Rules: split.Rules{
			Ordered: b.pass.Order.Policy.Name != model.DefaultPolicy, Skips: b.pass.Order.Tuning.Backfill == model.BackfillSkip,
			Steady: b.pass.Order.Steady,
		},
	}
	b.arrange(p, lines)
	return p
}

// arrange puts the jobs in order.
func (b *builder) arrange(p *split.Problem, lines *waitingRuns) {
	type ranked struct {
		at   queue.SortKey
		from int
	}
	order := make([]ranked, len(b.all))
	for i := range order {
		order[i] = ranked{b.all[i].at, i}
	}
	slices.SortFunc(order, func(x, y ranked) int { return x.at.Compare(y.at) })
	all, jobs := make([]candidate, len(order)), make([]split.Job, len(order))
	for to, v := range order {
		all[to], jobs[to] = b.all[v.from], b.jobs[v.from]
	}
	b.all, b.jobs = all, jobs
	front := 0
	for front < len(all) && all[front].at.Front > 0 {
		front++
	}
	last := 0
	for last < len(all) && all[len(all)-1-last].at.Late {
		last++
	}
	p.Jobs, p.Rest, p.Front, p.Last = jobs, lines.rest(all), front, last
}
