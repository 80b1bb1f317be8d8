package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/process"
)

// crash is a point in the start of a rank at which its agent, and its supervisor if there is one by then, are killed.
type crash struct {
	told   model.RankPhase // what the cluster has by then
	leaves func(*wreck) error
	starts bool // the next agent starts the rank; otherwise the rank goes back to the queue
}

// wreck is what a node has of a rank when its agent is killed.
type wreck struct {
	journal *journal.Journal
	run     runner.RunFolder
	record  *runner.Record
	name    string
}

// crashes lists the steps of a start in their order: an agent prepares the run folder, makes the rank's folder under another
// name, renames it and starts a supervisor; that tells its status, sets the latch and starts the job.
func crashes() map[string]crash {
	status := func(change func(*runner.Status)) func(*wreck) error {
		return func(w *wreck) error {
			s := runner.Status{PID: 1 << 30, Born: 1, Nonce: w.record.Nonce, Phase: model.RankTaken}
			change(&s)
			return errors.Join(w.folder(), w.run.SetStatus(w.name, s))
		}
	}
	latched := func(w *wreck) error {
		f, err := runner.Open(filepath.Join(w.journal.Dir(), "attempts", w.name))
		if err != nil {
			return err
		}
		_, _, err = f.Latch(runner.LatchStarted)
		return errors.Join(err, f.Close())
	}
	plain := func(*runner.Status) {}
	return map[string]crash{
		"before the first step":       {model.RankAssigned, func(*wreck) error { return nil }, true},
		"environment written":         {model.RankAssigned, (*wreck).environment, true},
		"folder begun":                {model.RankAssigned, (*wreck).begun, true},
		"folder made":                 {model.RankAssigned, (*wreck).folder, false},
		"folder made and reported":    {model.RankTaken, (*wreck).folder, false},
		"supervisor prepares":         {model.RankAssigned, status(plain), false},
		"supervisor is reported":      {model.RankTaken, status(plain), false},
		"ready":                       {model.RankReady, status(func(s *runner.Status) { s.Phase = model.RankReady }), false},
		"latch set":                   {model.RankTaken, func(w *wreck) error { return errors.Join(status(plain)(w), latched(w)) }, false},
		"latch set, and was ready":    {model.RankReady, func(w *wreck) error { return errors.Join(status(plain)(w), latched(w)) }, false},
		"folder lost":                 {model.RankTaken, func(*wreck) error { return nil }, false},
		"folder lost, with a status":  {model.RankTaken, func(w *wreck) error { return errors.Join(status(plain)(w), w.lose()) }, false},
		"folder lost, was ready":      {model.RankReady, func(*wreck) error { return nil }, false},
		"folder lost, begun":          {model.RankTaken, (*wreck).begun, false},
		"folder lost, it was running": {model.RankRunning, func(*wreck) error { return nil }, false},
		"folder lost, a process is known": {model.RankTaken, func(w *wreck) error {
			return errors.Join(status(func(s *runner.Status) { s.Phase, s.Session, s.Begun = model.RankRunning, 1<<30, 1 })(w), w.lose())
		}, false},
	}
}

func (w *wreck) environment() error {
	return w.run.SetEnvironment(w.name, &runner.Environment{Job: []byte("A=b")})
}

func (w *wreck) begun() error {
	dir := filepath.Join(w.journal.Dir(), "attempts", ".new-"+w.name)
	return errors.Join(w.environment(), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "script"), nil, 0o600))
}

func (w *wreck) folder() error {
	_, err := w.journal.Create(w.name, func(dir string) error { return runner.Fill(dir, w.record, runner.Content{}) })
	return err
}

func (w *wreck) lose() error { return os.RemoveAll(filepath.Join(w.journal.Dir(), "attempts", w.name)) }

// crashed leaves a rank of a job as an agent of the host that is killed at that point does. No agent runs.
func (h *host) crashed(t testing.TB, at crash, key model.AttemptKey) {
	t.Helper()
	j := h.open(t)
	boot, err := process.BootID()
	if err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(h.run, "*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	s := stateOf(h.c)
	a, _ := s.Attempts.Get(key)
	i := s.Settings().Incarnation
	w := &wreck{journal: j, run: runner.RunFolder{Path: runs[0], Boot: boot}, name: journal.Name(i, key.Rank(0))}
	w.record = &runner.Record{
		Rank: key.Rank(0), Incarnation: runner.Incarnation(i), Placed: a.PlacedIndex, Boot: boot, Run: runs[0], Frozen: a.Frozen,
		Nonce: runner.NoncePrefix(h.dir) + journal.Random(),
	}
	if err := errors.Join(at.leaves(w), j.Close()); err != nil {
		t.Fatal(err)
	}
	n, _ := s.Nodes.Get(h.name)
	for phase := model.RankTaken; phase <= at.told; phase++ {
		p := model.Progress{Rank: key.Rank(0), Phase: phase}
		if phase == model.RankReady {
			p.Address, p.Port = "127.0.0.1", 4000
		}
		h.c.do(&command.Report{Node: h.name, Incarnation: i, Epoch: n.Epoch, Reports: []model.Progress{p}})
	}
	if r, _ := stateOf(h.c).Ranks.Get(key.Rank(0)); r.Phase != at.told {
		t.Fatalf("the cluster has the rank as %s, not %s", r.Phase, at.told)
	}
}

// An agent that is killed at any step of a rank's start leaves no rank behind of which nothing becomes: the next agent starts the
// rank, or reports that it never did, and the job is back in the queue, uncharged. A job that is canceled meanwhile is canceled.
func TestKilledAtAnyStepOfAStart(t *testing.T) {
	t.Parallel()
	for name, at := range crashes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			h := newHost(t, c, "n1", 2)
			stop := h.start(t)
			c.free(t, 2)
			stop()
			held := func(b *command.Submit) { b.Spec.Command, b.Spec.OnLost = "exit 0", model.OnLostHold }
			job, canceled := c.submit(t, held), c.submit(t, held)
			for _, id := range []model.JobID{job, canceled} {
				h.crashed(t, at, model.TaskKey{Job: id}.Attempt(1))
			}
			c.do(&command.Cancel{Job: canceled, Task: model.AllTasks})
			h.start(t)
			if task := c.ended(t, canceled); task.State != model.TaskCanceled {
				t.Errorf("the canceled job is %s by %s", task.State, task.Reason)
			}
			if at.starts {
				if task := c.ended(t, job); task.State != model.TaskCompleted || task.Attempts != 1 {
					t.Errorf("the job is %s after %d attempts", task.State, task.Attempts)
				}
				return
			}
			c.until(t, "the job back in the queue", func(s *statetest.Cluster) bool {
				task, _ := s.State.Tasks.Get(model.TaskKey{Job: job})
				return task.State == model.TaskQueued || task.Attempts > 1 || task.State.Terminal()
			})
			c.pass(time.Minute)
			if task := c.ended(t, job); task.State != model.TaskCompleted || task.Attempts != 2 || task.Retries != 0 {
				t.Errorf("the job is %s after %d attempts and %d retries", task.State, task.Attempts, task.Retries)
			}
			c.free(t, 2)
		})
	}
}

// The death of a supervisor changes neither how a job has ended nor what a stop was for, whenever it comes: here the job's own
// processes kill their supervisor as soon as they get a signal.
func TestASupervisorDiesAmongTheSignals(t *testing.T) {
	t.Parallel()
	const deadly = "trap 'kill -9 $SUPERVISOR' TERM; echo up > $UP; while :; do sleep 0.01; done"
	for name, v := range map[string]struct {
		command string
		stop    func(job model.JobID) command.Body
		want    func(*model.Task) bool
	}{
		"what a job has left": {
			"(" + deadly + ") & while [ ! -s $UP ]; do sleep 0.01; done; exit 0", nil,
			func(t *model.Task) bool { return t.State == model.TaskCompleted },
		},
		"requeue": {
			deadly, func(job model.JobID) command.Body { return &command.Requeue{Job: job, Task: model.AllTasks} },
			func(t *model.Task) bool {
				return t.Reason == model.ReasonRequeue && !t.State.Terminal() && t.Retries == 0
			},
		},
		"cancel": {
			deadly, func(job model.JobID) command.Body { return &command.Cancel{Job: job, Task: model.AllTasks} },
			func(t *model.Task) bool { return t.State == model.TaskCanceled },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			newHost(t, c, "n1", 1).start(t)
			up := filepath.Join(t.TempDir(), "up")
			job := c.submit(t, func(b *command.Submit) {
				b.Spec.Grace = time.Minute
				b.Spec.Command = "SUPERVISOR=$PPID; UP=" + up + "; " + v.command
			})
			appears(t, up)
			if v.stop != nil {
				if r, _ := c.do(v.stop(job)); !r.OK() {
					t.Fatal(r)
				}
			}
			var task model.Task
			c.until(t, "the end of the attempt", func(s *statetest.Cluster) bool {
				task, _ = s.State.Tasks.Get(model.TaskKey{Job: job})
				return task.Reason != model.ReasonNone
			})
			if !v.want(&task) {
				t.Errorf("the job is %s by %s, attempt %d, retries %d", task.State, task.Reason, task.Attempts, task.Retries)
			}
		})
	}
}
