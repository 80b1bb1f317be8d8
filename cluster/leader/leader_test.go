package leader_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// clock is the bubble's, and a boot clock that can be made to jump.
type clock struct {
	mu    sync.Mutex
	start time.Time
	jump  time.Duration
}

func (c *clock) Wall() time.Time { return time.Now() }

func (c *clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.start) + c.jump + time.Hour
}

// lead runs a leader around f in a bubble until test returns.
func lead(t *testing.T, prepare func(*fake, *leader.Config), test func(*fake, *clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, ck := newFake(t), &clock{start: time.Now()}
		c := leader.Config{
			ID: "p1", Peer: f, Clock: ck,
			Clocks:  func() (model.Time, bool) { return model.TimeOf(time.Now()), true },
			Members: func() []model.Peer { return nil },
		}
		if prepare != nil {
			prepare(f, &c)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- leader.Run(ctx, c) }()
		synctest.Wait()
		test(f, ck)
		stop()
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		default:
			t.Error("Run goes on after leadership was lost")
		}
	})
}

func job() *command.Submit {
	return &command.Submit{Tasks: 1, Spec: model.Spec{
		User: "alice", Class: model.ClassNormal, Command: "true", GPUs: 1,
		OnLost: model.OnLostHold, DisconnectGrace: time.Minute,
	}}
}

func (f *fake) count(k command.Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kinds[k]
}

// view returns the newest state.
func (f *fake) view() *state.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.s
	return &s
}

// decisions returns how often a decider has looked at the state.
func (f *fake) decisions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states
}

func (f *fake) taskState() model.TaskState {
	f.mu.Lock()
	defer f.mu.Unlock()
	task, _ := f.s.Tasks.Get(model.TaskKey{Job: 1})
	return task.State
}

func TestAJobIsPlacedAsSoonAsItComes(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		f.user(t, job())
		synctest.Wait()
		if got := f.taskState(); got != model.TaskScheduled {
			t.Errorf("the job is %s at once after its submission", got)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.actors["peer:p1"] || len(f.actors) != 1 {
			t.Errorf("actors are %v", f.actors)
		}
	})
}

func TestNothingIsDecidedBeforeTheBarrier(t *testing.T) {
	lead(t, func(f *fake, _ *leader.Config) { f.barriers = 5; f.user(t, job()) }, func(f *fake, _ *clock) {
		if f.taskState() != model.TaskQueued {
			t.Error("placed before the barrier")
		}
		time.Sleep(10 * time.Second)
		if f.taskState() != model.TaskScheduled {
			t.Error("not placed after the barrier")
		}
	})
}

func TestOnePlanIsInFlight(t *testing.T) {
	lead(t, func(f *fake, _ *leader.Config) { f.slow = time.Second }, func(f *fake, _ *clock) {
		for range 20 {
			f.user(t, job())
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := f.most[command.KindPlace]; n != 1 {
			t.Errorf("%d plans in flight at once", n)
		}
	})
}

func TestRunStopsInTheMiddleOfAProposal(t *testing.T) {
	lead(t, func(f *fake, _ *leader.Config) { f.slow = time.Hour; f.user(t, job()) }, func(f *fake, _ *clock) {
		if f.count(command.KindPlace) != 1 {
			t.Error("nothing is proposed")
		}
	})
}

func TestRefusalsAndErrorsAreNotRepeatedInABusyLoop(t *testing.T) {
	for name, set := range map[string]func(*fake){
		"refused": func(f *fake) { f.refuse = true },
		"failed":  func(f *fake) { f.fail = errors.New("no quorum") },
	} {
		t.Run(name, func(t *testing.T) {
			lead(t, func(f *fake, _ *leader.Config) { set(f); f.user(t, job()) }, func(f *fake, _ *clock) {
				time.Sleep(time.Minute)
				if n := f.count(command.KindPlace); n < 20 || n > 60 {
					t.Errorf("proposed %d times in a minute, want about one in two seconds", n)
				}
			})
		})
	}
}

func TestAnIdleClusterCostsNothing(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		time.Sleep(11 * time.Minute) // the silent node's suspicion is over
		before := f.decisions()
		time.Sleep(10 * time.Minute)
		if n := f.decisions() - before; n > 60 {
			t.Errorf("%d decisions in ten idle minutes", n)
		}
		if f.view().Settings().Clock < model.TimeOf(time.Now().Add(-2*time.Minute)) {
			t.Error("the state's clock was left behind")
		}
	})
}

func TestADueTimeWakes(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		f.user(t, &command.Allocate{ID: "a1", User: "bob", Class: model.ClassNormal, GPUs: 1, TTL: 5 * time.Second})
		time.Sleep(4 * time.Second)
		if a, _ := f.view().Allocations.Get("a1"); a.State != model.AllocationActive {
			t.Errorf("after four seconds it is %s", a.State)
		}
		time.Sleep(1100 * time.Millisecond)
		if a, _ := f.view().Allocations.Get("a1"); a.State != model.AllocationExpired {
			t.Errorf("after five seconds it is %s", a.State)
		}
	})
}

func TestNothingIsPlacedWhileStopped(t *testing.T) {
	lead(t, func(f *fake, _ *leader.Config) { f.user(t, &command.SetRunning{}); f.user(t, job()) }, func(f *fake, _ *clock) {
		if f.count(command.KindPlace) > 0 {
			t.Error("placed while the orchestrator is stopped")
		}
		f.user(t, &command.SetRunning{Running: true})
		synctest.Wait()
		if f.taskState() != model.TaskScheduled {
			t.Error("not placed after it was started")
		}
	})
}

func TestAStallDelaysSuspicion(t *testing.T) {
	for _, stall := range []bool{false, true} {
		lead(t, nil, func(f *fake, ck *clock) {
			time.Sleep(5 * time.Second)
			ck.mu.Lock()
			if stall {
				ck.jump = time.Minute
			}
			ck.mu.Unlock()
			time.Sleep(6 * time.Second)
			n, _ := f.view().Nodes.Get("n1")
			if suspect := n.Status == model.NodeSuspect; suspect == stall {
				t.Errorf("stall %t: after eleven seconds of its own the leader suspects the node: %t", stall, suspect)
			}
		})
	}
}

func TestPeersFollowTheMembers(t *testing.T) {
	wake := make(chan struct{}, 1)
	var mu sync.Mutex
	members := []model.Peer{{ID: "p1", Level: 1}, {ID: "p2", Level: 1}}
	lead(t, func(_ *fake, c *leader.Config) {
		wake = make(chan struct{}, 1)
		c.Wake = wake
		c.Members = func() []model.Peer {
			mu.Lock()
			defer mu.Unlock()
			return members
		}
	}, func(f *fake, _ *clock) {
		if f.view().Peers.Len() != 2 {
			t.Errorf("%d peers", f.view().Peers.Len())
		}
		time.Sleep(2 * time.Second)
		mu.Lock()
		members = []model.Peer{{ID: "p2", Level: 1}, {ID: "p3", Level: 1}}
		mu.Unlock()
		wake <- struct{}{}
		synctest.Wait()
		if f.view().Peers.Has("p1") || !f.view().Peers.Has("p3") {
			t.Error("the peers did not follow")
		}
	})
}

// The cluster goes on at a newer feature level as soon as all programs know it, and not before.
func TestTheLevelRises(t *testing.T) {
	wake := make(chan struct{}, 1)
	var mu sync.Mutex
	members := []model.Peer{{ID: "p1", Level: command.Level}, {ID: "p2", Level: 1}}
	lead(t, func(f *fake, c *leader.Config) {
		wake = make(chan struct{}, 1)
		c.Wake = wake
		c.Members = func() []model.Peer {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(members)
		}
	}, func(f *fake, _ *clock) {
		time.Sleep(10 * time.Second)
		if level := f.view().Settings().Level; level != 1 {
			t.Errorf("at level %d, which p2 does not know", level)
		}
		mu.Lock()
		members[1].Level = command.Level + 1
		mu.Unlock()
		wake <- struct{}{}
		time.Sleep(10 * time.Second)
		if level := f.view().Settings().Level; level != command.Level {
			t.Errorf("at level %d, though all know %d", level, command.Level)
		}
	})
}

func TestOldRequestsAreCut(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		c, err := command.New("user:alice", job())
		if err != nil {
			t.Fatal(err)
		}
		if c, err = c.WithRequest("r1"); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.apply([]command.Command{c})
		f.mu.Unlock()
		time.Sleep(23 * time.Hour)
		if f.view().Requests.Len() != 1 {
			t.Error("forgotten too early")
		}
		time.Sleep(2*time.Hour + time.Minute)
		if f.view().Requests.Len() != 0 {
			t.Error("not forgotten after a day")
		}
	})
}

// Chores of both lanes that are due at the same moment are all done.
func TestChoresOfBothLanesAreDone(t *testing.T) {
	t.Parallel()
	lead(t, func(f *fake, c *leader.Config) {
		cmd, err := command.New("user:alice", job())
		if err != nil {
			t.Fatal(err)
		}
		if cmd, err = cmd.WithRequest("r1"); err != nil {
			t.Fatal(err)
		}
		f.apply([]command.Command{cmd})
		at := time.Now().Add(24*time.Hour + time.Second)
		c.Members = func() []model.Peer {
			if time.Now().Before(at) {
				return nil
			}
			return []model.Peer{{ID: "p1", Level: 1}}
		}
	}, func(f *fake, _ *clock) {
		time.Sleep(26 * time.Hour)
		if now := f.view(); now.Requests.Len() != 0 || !now.Peers.Has("p1") {
			t.Errorf("%d requests are remembered, and the peers are %d", now.Requests.Len(), now.Peers.Len())
		}
	})
}

func TestEachPassIsTold(t *testing.T) {
	var passes []leader.Pass
	lead(t, func(f *fake, c *leader.Config) {
		c.Passed = func(p leader.Pass) { passes = append(passes, p) }
		f.user(t, job())
	}, func(*fake, *clock) {
		decided := 0
		for _, p := range passes {
			decided += p.Decided
		}
		if len(passes) < 2 || decided != 1 {
			t.Errorf("told of %+v, want a pass that places the job and one that finds nothing to do", passes)
		}
	})
}

// A defect in a decision ends neither this peer nor, after it, each later leader: the defect is logged, and the
// decision is taken again.
func TestADefectIsSurvived(t *testing.T) {
	var log bytes.Buffer
	var defects atomic.Int32
	left := 3
	lead(t, func(f *fake, c *leader.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Passed = func(leader.Pass) {
			if left--; left >= 0 {
				panic("no such shape")
			}
		}
		c.Defects = func() { defects.Add(1) }
		f.user(t, job())
	}, func(f *fake, _ *clock) {
		if f.taskState() != model.TaskQueued {
			t.Error("placed by a decision that came to nothing")
		}
		time.Sleep(5 * time.Second)
		if got := f.taskState(); got != model.TaskScheduled {
			t.Errorf("the job is %s", got)
		}
	})
	if n := defects.Load(); n != 3 {
		t.Errorf("%d defects were told of", n)
	}
	for _, said := range []string{"level=ERROR", "no such shape", "decider=scheduling", "pace.go"} {
		if n := strings.Count(log.String(), said); n < 3 {
			t.Errorf("%q was said %d times:\n%s", said, n, log.String())
		}
	}
}
