package check_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// inTurn returns a state in which job 1 runs, and job 2, an array with a deadline, waits for it.
func inTurn(t *testing.T) state.State {
	t.Helper()
	c, job := running(t, 1)
	c.Submit(1, func(b *command.Submit) {
		b.After = []dependency.After{{Job: job, Kind: dependency.AfterOK}}
		b.Spec.Array, b.Tasks = "3,7", 2
		b.Spec.Deadline = c.Now.Add(time.Hour)
	})
	return c.State
}

func TestCheckNamesBrokenTurns(t *testing.T) {
	key := dependency.Key{Job: 2, On: 1, Kind: dependency.AfterOK}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"a count of dependencies": {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.Jobs, 2, func(r *model.Job) { r.Waits = 2 }) }},
		"a dependency of no job": {check.References, func(s *state.State) {
			statetest.Put(&s.Dependencies, dependency.Key{Job: 9, On: 1, Kind: dependency.AfterOK}, func(r *dependency.Row) {
				*r = dependency.Row{Key: dependency.Key{Job: 9, On: 1, Kind: dependency.AfterOK}, State: dependency.Met}
			})
		}},
		"a kind that is none": {check.References, func(s *state.State) {
			odd := dependency.Key{Job: 2, On: 1, Kind: 9}
			statetest.Put(&s.Dependencies, odd, func(r *dependency.Row) { *r = dependency.Row{Key: odd, State: dependency.Met} })
		}},
		"a due time of an end":               {check.InTurn, func(s *state.State) { statetest.Put(&s.Dependencies, key, func(r *dependency.Row) { r.Due = 9 }) }},
		"a count of those that tasks decide": {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.Jobs, 2, func(r *model.Job) { r.Each = 1 }) }},
		"a count of begun tasks":             {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.Jobs, 2, func(r *model.Job) { r.Begun = 1 }) }},
		"a task that waits for nothing": {check.InTurn, func(s *state.State) {
			statetest.Put(&s.Tasks, model.TaskKey{Job: 2, Task: 3}, func(r *model.Task) { r.Waits = true })
		}},
		"a later job": {check.InTurn, func(s *state.State) {
			statetest.Put(&s.Dependencies, dependency.Key{Job: 1, On: 2, Kind: dependency.AfterOK}, func(r *dependency.Row) {
				*r = dependency.Row{Key: dependency.Key{Job: 1, On: 2, Kind: dependency.AfterOK}, State: dependency.Met}
			})
		}},
		"a job that is forgotten": {check.References, func(s *state.State) { statetest.Drop(&s.Jobs, 1) }},
		"a job that runs": {check.InTurn, func(s *state.State) {
			a, _ := s.Attempts.Get(model.AttemptKey{Job: 1, N: 1})
			a.Key = model.AttemptKey{Job: 2, Task: 3, N: 1}
			statetest.Put(&s.Attempts, a.Key, func(r *model.Attempt) { *r = a })
		}},
		"another number": {check.References, func(s *state.State) {
			statetest.Put(&s.Jobs, 2, func(r *model.Job) { r.Spec.Array = "3,8" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inTurn(t)
			v.change(&s)
			s, err := statetest.Reseal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := check.State(&s); !statetest.Names(err, v.want) {
				t.Errorf("Check says %v, want %q", err, v.want)
			}
		})
	}
}

func TestCheckNamesBrokenTurnIndexes(t *testing.T) {
	for name, change := range map[string]func(*state.State){
		"awaited": func(s *state.State) {
			statetest.Drop(&s.Awaited, state.AwaitedKey{On: 1, Kind: dependency.AfterOK, Job: 2})
		},
		"delayed": func(s *state.State) {
			statetest.Put(&s.Delayed, state.DelayedKey{At: 9, Row: dependency.Key{Job: 2, On: 1}}, func(*state.None) {})
		},
		"settling":  func(s *state.State) { statetest.Put(&s.Settling, 1, func(*state.None) {}) },
		"deadlines": func(s *state.State) { s.Deadlines = state.State{}.Deadlines },
		"the queue": func(s *state.State) {
			statetest.Put(&s.Queue, state.QueueKey{Task: model.TaskKey{Job: 2, Task: 3}}, func(*state.None) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := inTurn(t)
			if err := check.State(&s); err != nil {
				t.Fatal(err)
			}
			change(&s)
			if err := check.State(&s); !statetest.Names(err, check.SameOnReplay) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// A dependency that was settled stays as it is, and none comes or goes without its job.
func TestCheckMoveNamesBrokenTurns(t *testing.T) {
	key := dependency.Key{Job: 2, On: 1, Kind: dependency.AfterOK}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"another delay": {check.OnlyForward, func(s *state.State) {
			statetest.Put(&s.Dependencies, key, func(r *dependency.Row) { r.Delay = time.Minute })
		}},
		"one of several": {check.OnlyForward, func(s *state.State) {
			statetest.Put(&s.Dependencies, key, func(r *dependency.Row) { r.Any = true })
		}},
		"a new one": {check.NothingLost, func(s *state.State) {
			statetest.Put(&s.Dependencies, dependency.Key{Job: 1, On: 0}, func(r *dependency.Row) { r.State = dependency.Met })
		}},
		"one is gone": {check.NothingLost, func(s *state.State) { statetest.Drop(&s.Dependencies, key) }},
	} {
		t.Run(name, func(t *testing.T) {
			before := inTurn(t)
			after := before
			after.Index++
			v.change(&after)
			if err := check.Move(&before, &after); !statetest.Names(err, v.want) {
				t.Errorf("CheckMove says %v, want %q", err, v.want)
			}
		})
	}
}
