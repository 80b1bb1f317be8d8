package check

import "github.com/berth-gpu/berth/fsm/model"

// muster is the sum of an attempt's ranks and slots.
type muster struct {
	ranks, gpus, gone uint32
	ready, begun      uint32 // for certain
	maybe             uint32 // ranks whose progress is unknown
	taken             bool   // an agent has reported one
}

// checkAttempts: each has all its ranks, each living rank all its slots, and the counters agree with the
// ranks.
func checkAttempts(c *checker) {
	owned := map[model.RankKey]uint32{}
	for _, slot := range c.s.Slots.All() {
		if slot.Owner == model.OwnerAttempt {
			owned[slot.Rank]++
		}
	}
	musters := map[model.AttemptKey]*muster{}
	for k, r := range c.s.Ranks.All() {
		m := musters[k.Attempt()]
		if m == nil {
			m = &muster{}
			musters[k.Attempt()] = m
		}
		m.add(&r)
		want := r.GPUs
		if r.Phase.Ended() {
			want = 0
		}
		c.hold(owned[k] == want, WholeGang, "rank %s, %s, of %d GPUs owns %d", k, r.Phase, r.GPUs, owned[k])
		job, _ := c.s.Jobs.Get(k.Job)
		c.hold(r.CPUs == job.Spec.Holds().CPUs && r.MemoryMB == job.Spec.Holds().MemoryMB, WholeGang,
			"rank %s has %d cores and %d MB, its job asks for %+v", k, r.CPUs, r.MemoryMB, job.Spec.Holds())
		c.hold(r.Phase >= model.RankAssigned && r.Phase <= model.RankLost, References, "rank %s is in phase %d", k, r.Phase)
		c.hold(!r.Late || r.Phase == model.RankLost, OneAttempt, "rank %s, %s, told its end late", k, r.Phase)
	}
	for k, a := range c.s.Attempts.All() {
		m := musters[k]
		if m == nil {
			m = &muster{}
		}
		checkCounters(c, &a, m)
		checkProgress(c, &a, m)
	}
}

func (m *muster) add(r *model.Rank) {
	m.ranks++
	m.gpus += r.GPUs
	m.taken = m.taken || (r.Phase > model.RankAssigned && r.Phase < model.RankNever && !r.NeverRan())
	if r.Phase.Ended() {
		m.gone++
	}
	if r.NeverRan() {
		m.maybe++
		return
	}
	switch r.Phase {
	case model.RankReady:
		m.ready++
	case model.RankRunning, model.RankExited:
		m.ready++
		m.begun++
	case model.RankLost:
		m.maybe++
	case model.RankAssigned, model.RankTaken, model.RankNever:
	}
}

func checkCounters(c *checker, a *model.Attempt, m *muster) {
	job, _ := c.s.Jobs.Get(a.Key.Job)
	c.hold(m.ranks == a.Ranks, WholeGang, "attempt %s has %d of %d ranks", a.Key, m.ranks, a.Ranks)
	c.hold(m.gpus == a.GPUs && job.Spec.Takes(a.GPUs, a.Ranks), WholeGang, "attempt %s has ranks of %d GPUs, it counts %d on %d nodes, its job asks for %d",
		a.Key, m.gpus, a.GPUs, a.Ranks, job.Spec.GPUs)
	c.hold(a.Gone == m.gone, WholeGang, "attempt %s counts %d ended ranks of %d", a.Key, a.Gone, m.gone)
	c.hold(a.Ready >= m.ready && a.Ready <= m.ready+m.maybe, WholeGang, "attempt %s counts %d ready ranks, %d are", a.Key,
		a.Ready, m.ready)
	c.hold(a.Begun >= m.begun && a.Begun <= m.begun+m.maybe && a.Begun <= a.Ready, WholeGang,
		"attempt %s counts %d begun ranks, %d are", a.Key, a.Begun, m.begun)
	c.hold(!a.Run || a.Ranks == 1 || a.Ready == a.Ranks, WholeGang, "attempt %s may run before all its ranks are ready", a.Key)
}

// checkProgress: an attempt is where its ranks are, and its task with it.
func checkProgress(c *checker, a *model.Attempt, m *muster) {
	c.hold(a.Live() == (m.gone < m.ranks), WholeGang, "attempt %s is %s with %d of %d ranks ended", a.Key, a.State, m.gone, m.ranks)
	task, _ := c.s.Tasks.Get(a.Key.TaskKey())
	c.hold(a.Key.N <= task.Attempts, OneAttempt, "attempt %s is newer than its task knows", a.Key)
	if !a.Live() {
		c.hold(a.End != model.ReasonNone && a.State <= model.TaskCanceled, WholeGang, "attempt %s is %s for reason %s", a.Key,
			a.State, a.End)
		return
	}
	c.hold(a.Key.N == task.Attempts, OneAttempt, "attempt %s is live, the newest is %d", a.Key, task.Attempts)
	c.hold(task.State == a.State, WholeGang, "task %s is %s, its attempt is %s", task.Key, task.State, a.State)
	c.hold((a.State == model.TaskRunning) == (a.Begun == a.Ranks), WholeGang, "attempt %s is %s with %d of %d ranks begun",
		a.Key, a.State, a.Begun, a.Ranks)
	c.hold(a.State != model.TaskScheduled || !m.taken, WholeGang, "attempt %s is scheduled, an agent has taken it", a.Key)
	c.hold(a.End == model.ReasonNone, WholeGang, "attempt %s is %s and has ended: %s", a.Key, a.State, a.End)
}

// checkTasks: one that is live has a live newest attempt; the others have none.
func checkTasks(c *checker) {
	live := map[model.TaskKey]uint32{}
	for k, a := range c.s.Attempts.All() {
		if a.Live() {
			live[k.TaskKey()]++
		}
	}
	for k, task := range c.s.Tasks.All() {
		want := uint32(0)
		if task.State.Live() {
			want = 1
		}
		c.hold(live[k] == want, OneAttempt, "task %s is %s with %d live attempts", k, task.State, live[k])
		c.hold(task.State >= model.TaskQueued && task.State <= model.TaskCanceled, References, "task %s is in state %d", k, task.State)
		c.hold(!task.Held || task.State == model.TaskQueued, WholeGang, "task %s is held and %s", k, task.State)
		c.hold(task.Class.Valid(), References, "task %s is of class %d", k, task.Class)
	}
}
