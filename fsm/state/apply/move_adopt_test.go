package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// restoredWith returns a cluster that was restored, on whose node n2 a rank runs that its state does not know.
func restoredWith(t *testing.T, unknown model.RankKey, gpus ...model.GPUID) *life {
	t.Helper()
	l := placed(t, 2)
	l.Submit(1) // job 2, which waits
	l.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
	l.n1.Register()
	l.n2.Register(func(b *command.Register) {
		b.Folders = []model.Folder{{Rank: unknown, Incarnation: statetest.Incarnation(1), Running: true, GPUs: gpus}}
	})
	return l
}

// adopting returns the command that adopts a rank on n2.
func (l *life) adopting(unknown model.RankKey, gpus ...model.GPUID) *command.Adopt {
	p := command.Placement{Node: "n2", Epoch: l.n2.Epoch()}
	for _, id := range gpus {
		p.Slots = append(p.Slots, model.SlotKey{GPU: id})
	}
	spec := statetest.Spec(uint32(len(gpus)))
	if unknown.Task > 0 {
		spec.Array = model.Indices{unknown.Task}.String()
	}
	return &command.Adopt{
		Job: command.ImportedJob{ID: unknown.Job, Spec: spec, Tasks: 1}, Placed: []uint64{77},
		Attempts: []command.Place{{Attempt: unknown.Attempt(), Ranks: []command.Placement{p}}},
	}
}

// A job that was submitted after the backup comes back under its number, with the attempt that runs: the node gets it as one
// of its own, placed where its folder says, and its end is the end of the job.
func TestALostJobIsAdopted(t *testing.T) {
	t.Parallel()
	lost := model.RankKey{Job: 7, N: 3}
	l := restoredWith(t, lost, "n2-0", "n2-1")
	next := l.State.Settings().NextJob
	l.Do(l.adopting(lost, "n2-0", "n2-1"))
	wantOwners(t, l.Cluster, "n2", model.OwnerAttempt, 2)
	d := l.State.Desired("n2")
	if len(d.Ranks) != 1 || d.Ranks[0].Rank != lost || d.Ranks[0].Placed != 77 || !d.Ranks[0].Run || len(d.Ranks[0].GPUs) != 2 {
		t.Fatalf("desired is %+v", d.Ranks)
	}
	l.Report(model.Progress{Rank: lost, Phase: model.RankRunning})
	if task, _ := l.State.Tasks.Get(lost.Attempt().TaskKey()); task.State != model.TaskRunning || task.Attempts != 3 {
		t.Errorf("the task is %+v", task)
	}
	if now := l.State.Settings().NextJob; now != next {
		t.Errorf("the next job is %s, and was %s", now, next)
	}
	l.Report(model.Progress{Rank: lost, Phase: model.RankExited})
	if job, _ := l.State.Jobs.Get(7); job.Open != 0 || job.Failed != 0 {
		t.Errorf("the job is %+v", job)
	}
	l.n2.Clean()
	wantOwners(t, l.Cluster, "n2", model.OwnerNone, 4)
}

// A job that waits in the backup and ran later goes on with that attempt, and is not started a second time.
func TestAWaitingJobIsAdopted(t *testing.T) {
	t.Parallel()
	later := model.RankKey{Job: 2, N: 1}
	l := restoredWith(t, later, "n2-0")
	l.Do(l.adopting(later, "n2-0"))
	l.Report(model.Progress{Rank: later, Phase: model.RankRunning})
	task, _ := l.State.Tasks.Get(later.Attempt().TaskKey())
	if task.State != model.TaskRunning || task.Attempts != 1 {
		t.Errorf("the task is %+v", task)
	}
}

// What kept a job waiting at the time of the backup does not count any more when the job is found running: a hold, a job that it
// waits for, and a job that each task waits for. The time until then is no wait of the job.
func TestAHinderedJobIsAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hinder func(*command.Submit)
		frees  bool // the job's other task, too
	}{
		"held":             {func(b *command.Submit) { b.Spec.Held = true }, false},
		"begins later":     {func(b *command.Submit) { b.Spec.Begin = statetest.Start.Add(time.Hour) }, true},
		"waits for a job":  {after(dependency.AfterOK, 1), true},
		"waits for a task": {after(dependency.AfterCorr, 1), false},
		"waits for one of two jobs": {func(b *command.Submit) {
			after(dependency.AfterOK, 1, 2)(b)
			b.After[0].Any, b.After[1].Any = true, true
		}, true},
		"is held and waits for a job and a task": {func(b *command.Submit) {
			b.Spec.Held = true
			after(dependency.AfterCorr, 1)(b)
			after(dependency.AfterAny, 2)(b)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := placed(t, 2)
			l.Submit(1) // job 2, which waits
			job := l.Submit(1, numbered("0-1"), c.hinder)
			later := model.RankKey{Job: job, N: 1}
			l.Wait(time.Minute)
			l.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
			l.n2.Register(func(b *command.Register) {
				b.Folders = []model.Folder{{Rank: later, Incarnation: statetest.Incarnation(1), Running: true, GPUs: []model.GPUID{"n2-0"}}}
			})
			l.Do(l.adopting(later, "n2-0"))
			l.Report(model.Progress{Rank: later, Phase: model.RankRunning})
			task, _ := l.State.Tasks.Get(later.Attempt().TaskKey())
			if task.State != model.TaskRunning || task.Attempts != 1 || task.Waited != 0 {
				t.Errorf("the task is %+v", task)
			}
			if inQueue(l.Cluster, job) != c.frees {
				t.Errorf("the other task is in the queue: %t", !c.frees)
			}
		})
	}
}

// A job that runs as many tasks as it may gets no other one from a node.
func TestAThrottledJobAdoptsNoMore(t *testing.T) {
	t.Parallel()
	l := placed(t, 1, array(2, 1))
	later := model.RankKey{Job: l.job, Task: 1, N: 1}
	l.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
	l.n2.Register(func(b *command.Register) {
		b.Folders = []model.Folder{{Rank: later, Incarnation: statetest.Incarnation(1), Running: true, GPUs: []model.GPUID{"n2-0"}}}
	})
	if r := l.Try(l.adopting(later, "n2-0")); r.Code != model.CodeLimit {
		t.Errorf("the answer is %s: %s", r.Code, r.Detail)
	}
}

// What is adopted keeps within the limits that hold now, as what is placed does: a waiting job without a time limit gets the
// longest one, and GPUs are counted for each task.
func TestAdoptionKeepsWithinLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  model.Limit
		change func(*command.Submit)
		want   model.Code
	}{
		"the longest time": {model.Limit{GPUs: -1, Live: -1, Queued: -1, GPUsPerJob: -1, CPUs: -1, RunTime: time.Hour}, numbered("0-1"), model.CodeOK},
		"too long a time": {
			model.Limit{GPUs: -1, Live: -1, Queued: -1, GPUsPerJob: -1, CPUs: -1, RunTime: time.Hour},
			func(b *command.Submit) { numbered("0-1")(b); b.Spec.TimeLimit = 2 * time.Hour }, model.CodeLimit,
		},
		"GPUs of each task": {model.Limit{GPUs: -1, Live: -1, Queued: -1, GPUsPerJob: 1, CPUs: -1}, numbered("0-1"), model.CodeOK},
		"too many GPUs":     {model.Limit{GPUs: 1, Live: -1, Queued: -1, GPUsPerJob: -1, CPUs: -1}, numbered("0-1"), model.CodeLimit},
		"too many tasks":    {model.Limit{GPUs: -1, Live: 1, Queued: -1, GPUsPerJob: -1, CPUs: -1}, numbered("0-1"), model.CodeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := statetest.New(t)
			l := &life{Cluster: cluster, n2: cluster.Node("n2", 4)}
			job := l.Submit(1, c.change)
			c.limit.Scope = model.ScopeKey{Kind: model.ScopeCluster}
			l.Do(&command.SetLimit{Limit: c.limit})
			l.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
			first, second := model.RankKey{Job: job, N: 1}, model.RankKey{Job: job, Task: 1, N: 1}
			l.n2.Register(func(b *command.Register) {
				for i, k := range []model.RankKey{first, second} {
					b.Folders = append(b.Folders,
						model.Folder{Rank: k, Incarnation: statetest.Incarnation(1), Running: true, GPUs: []model.GPUID{b.Devices[i].ID}})
				}
			})
			b, other := l.adopting(first, "n2-0"), l.adopting(second, "n2-1")
			b.Attempts, b.Placed = append(b.Attempts, other.Attempts...), append(b.Placed, other.Placed...)
			b.Job.Tasks, b.Job.Spec.Array = 2, "0-1"
			if r := l.Try(b); r.Code != c.want {
				t.Fatalf("the answer is %s: %s", r.Code, r.Detail)
			}
			if j, _ := l.State.Jobs.Get(job); c.want == model.CodeOK && (j.Live != 2 || j.Spec.TimeLimit != c.limit.RunTime) {
				t.Errorf("the job is %+v", j)
			}
		})
	}
}

// An attempt on several nodes is adopted as a whole: each node gets its rank.
func TestAGangIsAdopted(t *testing.T) {
	t.Parallel()
	first := model.RankKey{Job: 7, N: 1}
	l := restoredWith(t, first.Attempt().Rank(1), "n2-0")
	l.n1.Register(func(b *command.Register) {
		b.Folders = append(b.Folders, model.Folder{Rank: first, Incarnation: statetest.Incarnation(1), Running: true, GPUs: []model.GPUID{"n1-3"}})
	})
	b := l.adopting(first, "n1-3")
	b.Job.Spec.GPUs, b.Job.Spec.Nodes = 2, 2
	b.Attempts[0].Secret = model.Hash{1}
	b.Attempts[0].Ranks = []command.Placement{
		{Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-3"}}}, {Node: "n2", Epoch: l.n2.Epoch(), Slots: []model.SlotKey{{GPU: "n2-0"}}},
	}
	half := *b
	half.Attempts = []command.Place{b.Attempts[0]}
	half.Attempts[0].Ranks = b.Attempts[0].Ranks[:1]
	wantCode(t, l.Try(&half), model.CodeInvalid)
	l.Do(b)
	for n, node := range []model.NodeID{"n1", "n2"} {
		l.Report(model.Progress{Rank: first.Attempt().Rank(uint32(n)), Phase: model.RankRunning})
		if d := l.State.Desired(node); d.Ranks[len(d.Ranks)-1].Rank != first.Attempt().Rank(uint32(n)) {
			t.Errorf("desired on %s is %+v", node, d.Ranks)
		}
	}
	if a, _ := l.State.Attempts.Get(first.Attempt()); a.State != model.TaskRunning || a.Begun != 2 || a.GPUs != 2 {
		t.Errorf("the attempt is %+v", a)
	}
}

// One task of an array that was lost comes back alone.
func TestATaskOfALostArrayIsAdopted(t *testing.T) {
	t.Parallel()
	lost := model.RankKey{Job: 7, Task: 4, N: 1}
	l := restoredWith(t, lost, "n2-0")
	l.Do(l.adopting(lost, "n2-0"))
	if job, _ := l.State.Jobs.Get(7); job.Tasks != 1 || job.Live != 1 || job.Spec.Array != "4" {
		t.Errorf("the job is %+v", job)
	}
}

// What is not as the command says stays foreign.
func TestWhatCannotBeAdopted(t *testing.T) {
	t.Parallel()
	lost := model.RankKey{Job: 7, N: 1}
	for name, c := range map[string]struct {
		change func(*life, *command.Adopt)
		want   model.Code
	}{
		"another GPU":       {func(_ *life, b *command.Adopt) { b.Attempts[0].Ranks[0].Slots = []model.SlotKey{{GPU: "n2-3"}} }, model.CodeNotFound},
		"a part":            {func(_ *life, b *command.Adopt) { b.Attempts[0].Ranks[0].Slots = b.Attempts[0].Ranks[0].Slots[:1] }, model.CodeInvalid},
		"an old epoch":      {func(_ *life, b *command.Adopt) { b.Attempts[0].Ranks[0].Epoch-- }, model.CodeConflict},
		"another attempt":   {func(_ *life, b *command.Adopt) { b.Attempts[0].Attempt.N = 2 }, model.CodeNotFound},
		"one being killed":  {func(l *life, _ *command.Adopt) { l.Do(&command.KillForeign{Slot: model.SlotKey{GPU: "n2-0"}}) }, model.CodeConflict},
		"one that is known": {func(l *life, b *command.Adopt) { l.Do(b) }, model.CodeNotFound},
	} {
		l := restoredWith(t, lost, "n2-0", "n2-1")
		b := l.adopting(lost, "n2-0", "n2-1")
		c.change(l, b)
		if r := l.Try(b); r.Code != c.want {
			t.Errorf("%s: %s: %s", name, r.Code, r.Detail)
		}
	}
}

// A job that is known by another user, runs here already, or has a number that was not given out yet, is not adopted.
func TestAnAttemptMustBelongToItsJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rank model.RankKey
		user string
		want model.Code
	}{
		"of another user":   {model.RankKey{Job: 2, N: 1}, "mallory", model.CodeConflict},
		"that runs here":    {model.RankKey{Job: 1, N: 2}, "", model.CodeNotQueued},
		"without such task": {model.RankKey{Job: 2, Task: 3, N: 1}, "", model.CodeNotFound},
		"of the future":     {model.RankKey{Job: 5000, N: 1}, "", model.CodeConflict},
	} {
		l := restoredWith(t, c.rank, "n2-0")
		b := l.adopting(c.rank, "n2-0")
		if c.user != "" {
			b.Job.Spec.User = c.user
		}
		if r := l.Try(b); r.Code != c.want {
			t.Errorf("a job %s: %s: %s", name, r.Code, r.Detail)
		}
	}
}
