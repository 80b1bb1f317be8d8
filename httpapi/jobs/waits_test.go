package jobs_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
)

// stopwatch measures by itself, in steps of time, for how long a job has waited: while it could have run and did not.
type stopwatch struct {
	total time.Duration
	first time.Duration // until its first start
}

// waiting is a site with jobs to which random things happen, and what a stopwatch for each of them shows.
type waiting struct {
	*apitest.Site
	r       *rand.Rand
	watches map[model.JobID]*stopwatch
	told    map[model.JobID]time.Duration // the waits that events of starts have shown last
	last    map[model.JobID]time.Duration // and what the stopwatches showed then
}

// pass lets some time pass.
func (w *waiting) pass(c *statetest.Cluster) {
	for range 1 + w.r.IntN(4) {
		for id, watch := range w.watches {
			job, _ := c.State.Jobs.Get(id)
			task, _ := c.State.Tasks.Get(model.TaskKey{Job: id})
			waits := task.State == model.TaskQueued || task.State == model.TaskScheduled
			if waits && !task.Held && !job.Blocked() && (task.Attempts > 0 || task.NotBefore <= c.Now) {
				watch.total += 10 * time.Second
			}
		}
		c.Wait(10 * time.Second)
	}
}

// happens lets something happen to a job.
func (w *waiting) happens(c *statetest.Cluster, n *statetest.Agent) {
	if len(w.watches) < 12 && w.r.IntN(3) == 0 {
		w.comes(c)
		return
	}
	id := model.JobID(1 + w.r.IntN(len(w.watches)))
	task, _ := c.State.Tasks.Get(model.TaskKey{Job: id})
	job, _ := c.State.Jobs.Get(id)
	a, _ := c.State.Attempts.Get(task.Newest())
	const all = model.AllTasks
	if w.r.IntN(40) == 0 && !task.State.Terminal() && task.State != model.TaskScheduled && task.State != model.TaskRunning {
		c.Do(&command.Cancel{Job: id, Task: all})
		return
	}
	switch free := !task.Held && !job.Blocked() && task.NotBefore <= c.Now; {
	case task.State == model.TaskQueued && w.r.IntN(3) == 0:
		c.Do(&command.Hold{Job: id, Task: all})
	case task.State == model.TaskQueued && task.Held:
		c.Do(&command.Release{Job: id, Task: all})
	case task.State == model.TaskQueued && free && c.State.LiveTasks.Len() < 6:
		c.Place(id)
	case task.State == model.TaskScheduled:
		watch := w.watches[id]
		if task.Started == 0 {
			watch.first = watch.total
		}
		w.last[id] = watch.total
		c.Start(a.Key)
	case task.State == model.TaskRunning && a.Stop == model.ReasonNone:
		ends := []func(){
			func() { c.Do(&command.Requeue{Job: id, Task: all, Hold: w.r.IntN(2) == 0}) },
			func() { c.Do(&command.Suspend{Attempts: []model.AttemptKey{a.Key}}) },
			func() {},
		}
		ends[w.r.IntN(len(ends))]()
		a, _ = c.State.Attempts.Get(a.Key)
		c.Report(model.Progress{Rank: a.Key.Rank(0), Phase: model.RankExited, Exit: model.Exit{Delivered: a.Stop, Ran: c.Now.Sub(a.Started)}})
		n.Clean()
		for next, row := range c.State.Jobs.All() {
			if row.Waits > 0 {
				_ = c.Try(&command.Settle{Jobs: []model.JobID{next}})
			}
		}
	}
}

// comes has a new job submitted.
func (w *waiting) comes(c *statetest.Cluster) {
	job := c.Submit(1, func(b *command.Submit) {
		switch w.r.IntN(4) {
		case 0:
			b.Spec.Held = true
		case 1:
			b.Spec.Begin = c.Now.Add(time.Duration(1+w.r.IntN(12)) * 10 * time.Second)
		case 2:
			if last := model.JobID(len(w.watches)); last > 0 {
				b.After = []dependency.After{{Kind: dependency.AfterAny, Job: last}}
			}
		}
	})
	w.watches[job] = &stopwatch{}
}

// All that shows how long jobs have waited agrees with a stopwatch, whatever has happened to the jobs: answers, events, totals
// and the history.
func TestWaitsAgree(t *testing.T) {
	for seed := range uint64(10) {
		w := &waiting{
			Site: apitest.New(t), r: rand.New(rand.NewPCG(seed, 0)), watches: map[model.JobID]*stopwatch{},
			told: map[model.JobID]time.Duration{}, last: map[model.JobID]time.Duration{},
		}
		w.With(func(c *statetest.Cluster) {
			c.Told = func(list []model.Notice) {
				for i := range list {
					if e := notify.EventOf(&list[i]); e.Type == "job.started" {
						w.told[list[i].Job] = time.Duration(*e.Data.WaitSeconds * float64(time.Second))
					}
				}
			}
			n := c.Node("n1", 8)
			w.comes(c)
			for range 60 {
				w.happens(c, n)
				w.pass(c)
			}
			n.Renew() // the state's clock follows
		})
		w.agree(seed)
	}
}

func (w *waiting) agree(seed uint64) {
	s, sum, started, longest := w.State(), time.Duration(0), uint64(0), time.Duration(0)
	for id, watch := range w.watches {
		task, _ := s.Tasks.Get(model.TaskKey{Job: id})
		want := watch.total
		if task.Started > 0 {
			sum += watch.first
			started++
		}
		if task.Started > 0 && task.State != model.TaskQueued {
			want = watch.first
		}
		shown := w.Detail("/jobs/" + id.String())
		if shown.WaitSeconds != want.Seconds() {
			w.T.Errorf("seed %d: job %s (%s) shows a wait of %g s, and has waited %s", seed, id, task.State, shown.WaitSeconds, want)
		}
		if w.told[id] != w.last[id] {
			w.T.Errorf("seed %d: the event of the last start of job %s shows a wait of %s, and it had waited %s", seed, id, w.told[id], w.last[id])
		}
	}
	for k := range s.Queue.All() {
		longest = max(longest, w.watches[k.Task.Job].total)
	}
	values := history.Take(&s, nil, s.Settings().Clock)
	if got, _ := values.Get(history.OldestWait); got != longest.Seconds() {
		w.T.Errorf("seed %d: the history has a longest wait of %g s, and it is %s", seed, got, longest)
	}
	if n := s.Settings().Totals; n.Waited != sum || n.Started != started {
		w.T.Errorf("seed %d: the totals have waits of %s of %d jobs, and they are %s of %d", seed, n.Waited, n.Started, sum, started)
	}
}
