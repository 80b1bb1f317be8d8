package apply_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Nothing happens before the bootstrap, and it happens once.
func TestBootstrap(t *testing.T) {
	c := statetest.Empty(t)
	wantCode(t, c.Try(statetest.Job(1)), model.CodeNotBootstrapped)
	b := &command.Bootstrap{Incarnation: statetest.Incarnation(1), Level: 1, Policy: "fcfs", Retention: model.Retention{Age: time.Hour}}
	c.Do(b)
	wantCode(t, c.Try(b), model.CodeBootstrapped)
}

// A state begins with all that its founders are configured with, or not at all.
func TestBootstrapOfAConfiguration(t *testing.T) {
	c := statetest.Empty(t)
	b := &command.Bootstrap{
		Incarnation: statetest.Incarnation(1), Level: 1, Policy: "fcfs", Retention: model.Retention{Age: time.Hour},
		Tuning: model.DefaultTuning(), Pools: model.Pools{Mode: model.PoolHybrid, Part: 250},
		Defaults: model.Defaults{Name: "GPU-Cluster-01", Class: model.ClassHigh},
		Notify:   model.Notify{Secret: model.NewHookSecret([32]byte{1}), Backlog: 5},
	}
	b.Tuning.Retries = 3
	for name, change := range map[string]func(*command.Bootstrap){
		"tuning":   func(b *command.Bootstrap) { b.Tuning.Depth = 0 },
		"pools":    func(b *command.Bootstrap) { b.Pools.Part = 1001 },
		"defaults": func(b *command.Bootstrap) { b.Defaults.IdleStop = 1 },
		"secret":   func(b *command.Bootstrap) { b.Notify.Secret = "whsec_short" },
		"limit":    func(b *command.Bootstrap) { b.Limits = []model.LimitValue{{Of: model.LimitQueued, Value: -2}} },
		"limit, twice": func(b *command.Bootstrap) {
			b.Limits = slices.Repeat([]model.LimitValue{{Of: model.LimitQueued, Value: 1}}, 2)
		},
	} {
		wrong := *b
		if change(&wrong); wrong.Validate() == nil {
			t.Errorf("%s: %+v is allowed", name, wrong)
		}
	}
	b.Limits = []model.LimitValue{{Of: model.LimitGPUTime, Value: 5}} // each right by itself, and of no use without a period
	wantCode(t, c.Try(b), model.CodeInvalid)
	if set := c.State.Settings(); !set.Incarnation.IsZero() || c.State.Limits.Len() > 0 {
		t.Errorf("a refused bootstrap left %+v", set)
	}
	b.Limits = []model.LimitValue{{Of: model.LimitQueued, Value: 1}}
	c.Do(b)
	set := c.State.Settings()
	if set.Tuning != b.Tuning || set.Pools != b.Pools || set.Defaults != b.Defaults || set.Notify != b.Notify || set.Policy != "fcfs" ||
		set.Running {
		t.Errorf("the state begins with %+v", set)
	}
	c.Do(statetest.Job(1))
	wantCode(t, c.Try(statetest.Job(1)), model.CodeLimit)
}

// A stamp far ahead is refused, unless the peers have agreed on the time; the
// clock never goes back.
func TestTheClock(t *testing.T) {
	c := statetest.New(t)
	c.Now = c.Now.Add(6 * time.Minute)
	wantCode(t, c.Try(statetest.Job(1)), model.CodeClock)
	c.Do(&command.AdvanceClock{})
	c.Do(statetest.Job(1))
	now := c.Now
	c.Now -= 1e12
	c.Do(statetest.Job(1))
	if got := c.State.Settings().Clock; got != now {
		t.Errorf("the clock is %d, want %d", got, now)
	}
}

// The feature level rises when every peer has it, and never falls.
func TestLevels(t *testing.T) {
	c := statetest.Empty(t)
	c.Do(&command.Bootstrap{Incarnation: statetest.Incarnation(1), Level: 1, Policy: "fcfs", Retention: model.Retention{Age: time.Hour}})
	wantCode(t, c.Try(&command.RaiseLevel{Level: 2}), model.CodeLevel)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", Level: 1}})
	c.Do(&command.RaiseLevel{Level: 1})
	wantCode(t, c.Try(&command.RaiseLevel{Level: 2}), model.CodeLevel)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", Level: 9}})
	c.Do(&command.RaiseLevel{Level: 2})
	wantCode(t, c.Try(&command.RaiseLevel{Level: 1}), model.CodeLevel)
	wantCode(t, c.Try(&command.RaiseLevel{Level: 10}), model.CodeLevel)
	c.Do(&command.DropPeer{ID: "p1"})
}

// A peer's id keeps its data folder for as long as the peer is known: addresses change,
// the folder does not.
func TestAPeerKeepsItsFolder(t *testing.T) {
	c := statetest.New(t)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "a:1", Folder: "f1"}})
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "b:1", Folder: "f1"}})
	wantCode(t, c.Try(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "b:1", Folder: "f2"}}), model.CodeConflict)
	wantCode(t, c.Try(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "b:1"}}), model.CodeConflict)
	if p, _ := c.State.Peers.Get("p9"); p.Folder != "f1" || p.RaftAddress != "b:1" {
		t.Errorf("the peer is %+v", p)
	}
	c.Do(&command.DropPeer{ID: "p9"})
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p9", Folder: "f2"}})
}

// Defaults are set as a whole.
func TestDefaults(t *testing.T) {
	c := statetest.New(t)
	for _, want := range []model.Defaults{
		{Name: "GPU-Cluster-01", Class: model.ClassHigh, IdleStop: time.Hour, CheckpointInterval: time.Minute}, {},
	} {
		c.Do(&command.SetDefaults{Defaults: want})
		if got := c.State.Settings().Defaults; got != want {
			t.Errorf("the defaults are %+v, want %+v", got, want)
		}
	}
	for _, wrong := range []model.Defaults{
		{Name: "a\x00"},
		{Class: 5},
		{IdleStop: time.Second},
		{IdleStop: -1},
		{CheckpointInterval: 1},
		{CheckpointInterval: model.MaxDuration + 1},
	} {
		if (&command.SetDefaults{Defaults: wrong}).Validate() == nil {
			t.Errorf("%+v is allowed", wrong)
		}
	}
}

// A stopped orchestrator places and preempts nothing; what runs goes on.
func TestStoppedOrchestrator(t *testing.T) {
	l := running(t, 4)
	b := l.Placement(model.TaskKey{Job: l.Submit(1)})
	l.Do(&command.SetRunning{Running: false})
	wantCode(t, l.Try(b), model.CodeStopped)
	wantCode(t, l.Try(asks["preempt"](l)), model.CodeStopped)
	l.Exit(l.a, 0)
	l.Do(&command.SetRunning{Running: true})
	l.Do(b)
}

// A job leaves when it has ended, is in the archive, and its GPUs are clean; all
// that were named leave, or none.
func TestRetire(t *testing.T) {
	l := running(t, 4, func(b *command.Submit) { b.Script, b.Env, b.Stdin = "#!/bin/sh", []string{"A=1"}, "aGVsbG8=" })
	retire := func(to uint64, jobs ...model.JobID) command.Result {
		return l.Try(&command.Retire{Jobs: jobs, ArchivedTo: to})
	}
	other := l.Submit(1)
	wantCode(t, retire(l.State.Index, l.job), model.CodeConflict)
	l.Exit(l.a, 0)
	end := l.State.Index
	wantCode(t, retire(end-1, l.job), model.CodeConflict)
	wantCode(t, retire(end, l.job), model.CodeConflict)
	l.n1.Clean()
	wantCode(t, retire(end, l.job, other), model.CodeConflict)
	wantCode(t, retire(end, 77), model.CodeNotFound)
	wantCode(t, retire(l.State.Index+1, l.job), model.CodeConflict)
	wantCode(t, retire(end, l.job), model.CodeOK)
	if l.State.Attempts.Len()+l.State.Ranks.Len()+l.State.Blobs.Len() != 0 || l.State.Jobs.Len() != 1 {
		t.Error("something of the retired job remains")
	}
	if n := totals(l.Cluster); n.Completed != 1 || n.Submitted != 2 {
		t.Errorf("the totals forget: %+v", n)
	}
}

// One peer at a time has the lock for restarts, until it frees the lock or its time is over.
func TestTheLockForRestarts(t *testing.T) {
	c := statetest.New(t)
	for _, id := range []model.PeerID{"p1", "p2"} {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: id, Level: command.Level}})
	}
	lock := func(id model.PeerID, key string) *command.LockRestart {
		return &command.LockRestart{Peer: id, Key: key, For: 10 * time.Minute}
	}
	wantCode(t, c.Try(lock("p3", "a")), model.CodeNotFound)
	c.Do(lock("p1", "a"))
	wantCode(t, c.Try(lock("p2", "b")), model.CodeConflict)
	wantCode(t, c.Try(lock("p1", "b")), model.CodeConflict)
	c.Now = c.Now.Add(4 * time.Minute)
	c.Do(lock("p1", "a")) // longer
	c.Do(&command.LockRestart{Peer: "p2", Key: "a"})
	c.Do(&command.LockRestart{Peer: "p1", Key: "b"})
	c.Now = c.Now.Add(4 * time.Minute)
	c.Do(&command.AdvanceClock{})
	c.Now = c.Now.Add(4 * time.Minute)
	wantCode(t, c.Try(lock("p2", "b")), model.CodeConflict)
	c.Do(&command.LockRestart{Peer: "p1", Key: "a"})
	c.Do(lock("p2", "b"))
	for range 3 {
		c.Now = c.Now.Add(4 * time.Minute)
		c.Do(&command.AdvanceClock{})
	}
	c.Do(lock("p1", "a")) // the holder has died
	if set := c.State.Settings(); set.Restarts != "p1" || set.RestartUntil != set.Clock.Add(10*time.Minute) {
		t.Errorf("the lock is %s's until %d", set.Restarts, set.RestartUntil)
	}
}
