package apply_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// An outline is a history without what takes long to read.
func TestOutline(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 2)
	a := c.Place(c.Submit(2))
	c.Start(a)
	c.Exit(a, 3)
	whole := c.State.Histories(a.Job)[0]
	data, err := whole.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := state.DecodeOutline(data)
	want := state.History{Job: whole.Job, Tasks: whole.Tasks, Attempts: whole.Attempts, Ranks: whole.Ranks}
	if err != nil || !reflect.DeepEqual(got, want) || len(got.Attempts) == 0 || len(whole.Events) == 0 {
		t.Errorf("%v: the outline of %+v is %+v", err, whole, got)
	}
	if _, err := state.DecodeOutline(data[:len(data)-1]); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("of half a history: %v", err)
	}
}

// What reading one ended job's history costs, and its outline.
func BenchmarkHistory(b *testing.B) {
	c := statetest.New(b)
	c.Node("n1", 8)
	a := c.Place(c.Submit(8))
	c.Start(a)
	c.Exit(a, 0)
	data, err := c.State.Histories(a.Job)[0].Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if _, err := state.DecodeHistory(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("outline", func(b *testing.B) {
		for b.Loop() {
			if _, err := state.DecodeOutline(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
