package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
)

// inTurn returns a state in which job 1 runs, and job 2, an array with a deadline, waits for it.
func inTurn(t *testing.T) state.State {
	t.Helper()
	l := running(t, 1)
	l.Submit(1, after(model.AfterOK, l.job), numbered("3,7"), func(b *command.Submit) { b.Spec.Deadline = l.Now.Add(time.Hour) })
	return l.State
}

func TestCheckNamesBrokenTurns(t *testing.T) {
	key := model.DependencyKey{Job: 2, On: 1}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"a count of dependencies": {check.TotalsAgree, func(s *state.State) { put(&s.Jobs, 2, func(r *model.Job) { r.Waits = 2 }) }},
		"a dependency of no job": {check.References, func(s *state.State) {
			put(&s.Dependencies, model.DependencyKey{Job: 9, On: 1}, func(r *model.Dependency) {
				*r = model.Dependency{Key: model.DependencyKey{Job: 9, On: 1}, Kind: model.AfterOK, State: model.DependencyMet}
			})
		}},
		"a kind that is none": {check.References, func(s *state.State) { put(&s.Dependencies, key, func(r *model.Dependency) { r.Kind = 9 }) }},
		"a later job": {check.InTurn, func(s *state.State) {
			put(&s.Dependencies, model.DependencyKey{Job: 1, On: 2}, func(r *model.Dependency) {
				*r = model.Dependency{Key: model.DependencyKey{Job: 1, On: 2}, Kind: model.AfterOK, State: model.DependencyMet}
			})
		}},
		"a job that is forgotten": {check.References, func(s *state.State) { drop(&s.Jobs, 1) }},
		"a job that runs": {check.InTurn, func(s *state.State) {
			a, _ := s.Attempts.Get(model.AttemptKey{Job: 1, N: 1})
			a.Key = model.AttemptKey{Job: 2, Task: 3, N: 1}
			put(&s.Attempts, a.Key, func(r *model.Attempt) { *r = a })
		}},
		"another number": {check.References, func(s *state.State) {
			put(&s.Jobs, 2, func(r *model.Job) { r.Spec.Array = "3,8" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inTurn(t)
			v.change(&s)
			s, err := apply.Reseal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := check.State(&s); !names(err, v.want) {
				t.Errorf("Check says %v, want %q", err, v.want)
			}
		})
	}
}

func TestCheckNamesBrokenTurnIndexes(t *testing.T) {
	for name, change := range map[string]func(*state.State){
		"awaited":   func(s *state.State) { drop(&s.Awaited, state.AwaitedKey{On: 1, Job: 2}) },
		"settling":  func(s *state.State) { put(&s.Settling, 1, func(*state.None) {}) },
		"deadlines": func(s *state.State) { s.Deadlines = state.State{}.Deadlines },
		"the queue": func(s *state.State) {
			put(&s.Queue, state.QueueKey{Task: model.TaskKey{Job: 2, Task: 3}}, func(*state.None) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := inTurn(t)
			if err := check.State(&s); err != nil {
				t.Fatal(err)
			}
			change(&s)
			if err := check.State(&s); !names(err, check.SameOnReplay) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// A dependency that was settled stays as it is, and none comes or goes without its job.
func TestCheckMoveNamesBrokenTurns(t *testing.T) {
	key := model.DependencyKey{Job: 2, On: 1}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"another kind": {check.OnlyForward, func(s *state.State) {
			put(&s.Dependencies, key, func(r *model.Dependency) { r.Kind = model.AfterAny })
		}},
		"a new one": {check.NothingLost, func(s *state.State) {
			put(&s.Dependencies, model.DependencyKey{Job: 1, On: 0}, func(r *model.Dependency) { r.Kind = model.AfterAny })
		}},
		"one is gone": {check.NothingLost, func(s *state.State) { drop(&s.Dependencies, key) }},
	} {
		t.Run(name, func(t *testing.T) {
			before := inTurn(t)
			after := before
			after.Index++
			v.change(&after)
			if err := check.Move(&before, &after); !names(err, v.want) {
				t.Errorf("CheckMove says %v, want %q", err, v.want)
			}
		})
	}
}
