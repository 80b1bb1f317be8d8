package statetest

import (
	"reflect"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/table"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Put breaks one row of a table.
func Put[K table.Key[K], R any](t *table.Table[K, R], k K, change func(*R)) {
	row, _ := t.Get(k)
	change(&row)
	d := t.Fork()
	d.Put(k, row)
	*t = d.Table()
}

// Drop removes one row of a table.
func Drop[K table.Key[K], R any](t *table.Table[K, R], k K) {
	d := t.Fork()
	d.Delete(k)
	*t = d.Table()
}

// Names reports whether an error of a check names an invariant.
func Names(err error, i check.Invariant) bool {
	for _, v := range check.Violations(err) {
		if v.Invariant == i {
			return true
		}
	}
	return false
}

// CheckNames breaks a state of a running gang and array by hand, and fails unless a check names the invariant.
func CheckNames(t *testing.T, want check.Invariant, change func(*state.State)) {
	t.Helper()
	c := New(t)
	c.Node("n1", 4)
	c.Node("n2", 4)
	a := c.Place(c.Submit(8, func(b *command.Submit) { b.Spec.Nodes, b.Tasks, b.Throttle = 2, 2, 1 }))
	c.Start(a)
	s := c.State
	if err := check.State(&s); err != nil {
		t.Fatalf("before: %v", err)
	}
	change(&s)
	s, err := Reseal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := check.State(&s); !Names(err, want) || Names(err, check.SameOnReplay) {
		t.Errorf("Check says %v, want %q", err, want)
	}
}

// Reseal gives a state whose rows a test has broken the indexes and the digest of
// those rows, so that only what was broken is left to be found.
func Reseal(s state.State) (state.State, error) {
	t := tx.Begin(&state.State{}, state.Meta{Index: s.Index, Term: s.Term})
	t.Restoring = true
	c := digest.NewCommit(digest.Digest{Chain: s.Fingerprint.Chain}, model.Hash{})
	from := tx.Begin(&s, state.Meta{}).List
	for i, cell := range t.List {
		for row := range from[i].Rows() {
			err := cell.Load(c, func(into any) error {
				reflect.ValueOf(into).Elem().Set(reflect.ValueOf(row).Elem())
				return nil
			})
			if err != nil {
				return state.State{}, err
			}
		}
	}
	return t.Close(c.Digest), nil
}
