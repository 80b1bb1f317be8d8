package apply

import (
	"bytes"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/admin"
	"github.com/berth-gpu/berth/fsm/state/apply/jobs"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// A state that was restored at any cut of a log is the state that applied it all,
// there and at every later entry.
func TestReplayEqualsRestoreAtAnyCut(t *testing.T) {
	for seed := range uint64(6) {
		g := newGen(seeded(100 + seed))
		var log []logEntry
		states := []state.State{{}}
		write(t, g, state.State{}, raceScale(500), func(_, after state.State, e logEntry, _ outcome) {
			log = append(log, e)
			states = append(states, after)
		})
		for range 6 {
			cut := g.roll(len(states))
			s := restored(t, &states[cut])
			sameState(t, cut, &states[cut], &s)
			for i, e := range log[cut:] {
				s, _ = e.apply(t, s)
				if s.Digest() != states[cut+i+1].Digest() || i%40 == 0 {
					sameState(t, cut, &states[cut+i+1], &s)
				}
			}
			sameState(t, cut, &states[len(log)], &s)
		}
	}
}

func restored(t *testing.T, s *state.State) state.State {
	t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(s, &b); err != nil {
		t.Fatal(err)
	}
	out, err := snapshot.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameState(t *testing.T, cut int, want, got *state.State) {
	t.Helper()
	if where := firstDifference(want, got); where != "" {
		t.Fatalf("restored at %d, at %d: %s", cut, want.Index, where)
	}
	if got.Digest() != want.Digest() || got.Index != want.Index || got.Term != want.Term {
		t.Fatalf("restored at %d: digest %x at %d, want %x at %d", cut, got.Digest(), got.Index, want.Digest(), want.Index)
	}
}

// A command whose applier panics half-way is skipped alone: the entry's others
// take effect as if it had not been there.
func TestPanicIsolation(t *testing.T) {
	faulty := rules{}
	for k, apply := range appliers {
		faulty[k] = apply
	}
	faulty[command.KindSetPolicy] = func(t *tx.Tx, b command.Body) command.Result {
		policy, _ := b.(*command.SetPolicy)
		admin.SetPolicy(t, policy)
		jobs.Cancel(t, &command.Cancel{Job: 1, Task: model.AllTasks})
		var none *model.Job
		none.ID++ //nolint:govet // the planted panic
		return tx.OK()
	}
	r := newRunner(t)
	r.run(mustNew(t, oneLine(0)))
	bad := mustNew(t, &command.SetPolicy{Policy: "sjf"})
	good := []command.Command{mustNew(t, oneLine(1)), mustNew(t, &command.Hold{Job: 1, Task: 0}), mustNew(t, oneLine(2))}
	m := r.meta()
	for _, places := range [][]int{{0}, {1}, {3}, {0, 2}, {1, 2, 5}} {
		mixed, next := []command.Command(nil), 0
		isBad := map[int]bool{}
		for _, p := range places {
			isBad[p] = true
		}
		for i := range len(good) + len(places) {
			if isBad[i] {
				mixed = append(mixed, bad)
			} else {
				mixed, next = append(mixed, good[next]), next+1
			}
		}
		want, wantResults, _ := Apply(r.s, m, good)
		got, results, changes := faulty.apply(&r.s, m, mixed)
		if !equalInts(changes.Panics, places) {
			t.Fatalf("panics %v, want %v", changes.Panics, places)
		}
		if where := besideTheTrail(&want, &got); where != "" {
			t.Fatalf("bad commands at %v changed %s", places, where)
		}
		next = 0
		for i, r := range results {
			switch {
			case isBad[i] && r.Code != model.CodePanic:
				t.Errorf("the bad command was answered %s", r.Code)
			case !isBad[i] && (r.Code != wantResults[next].Code || r.Job != wantResults[next].Job):
				t.Errorf("command %d was answered %+v, want %+v", i, r, wantResults[next])
			}
			if !isBad[i] {
				next++
			}
		}
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestAMissingRowIsADefect: a row that others refer to and that is not there stops the command that needs the row,
// alone, and is reported.
func TestAMissingRowIsADefect(t *testing.T) {
	faulty := rules{}
	for k, apply := range appliers {
		faulty[k] = apply
	}
	faulty[command.KindHold] = func(t *tx.Tx, _ command.Body) command.Result {
		t.Jobs.Must(4711)
		return tx.OK()
	}
	r := newRunner(t)
	commands := []command.Command{mustNew(t, oneLine(0)), mustNew(t, &command.Hold{Job: 1, Task: 0})}
	_, results, changes := faulty.apply(&r.s, r.meta(), commands)
	if !equalInts(changes.Panics, []int{1}) || !results[0].OK() || results[1].Code != model.CodePanic {
		t.Errorf("panics %v, results %+v; want the second command alone to fail", changes.Panics, results)
	}
}
