package fsm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// ear records the calls of Told.
type ear struct{ heard []string }

func (e *ear) Put(list []model.Notice) {
	for i := range list {
		e.heard = append(e.heard, fmt.Sprintf("%+v", list[i]))
	}
}

func (e *ear) Reset(index uint64) { e.heard = append(e.heard, fmt.Sprint("from ", index)) }

// A follower of notices gets the same ones from every peer, and is notified of the start of a snapshot.
func TestTold(t *testing.T) {
	one, other := &ear{}, &ear{}
	a, b := start(t, Config{Told: one}), start(t, Config{Told: other})
	a.apply(statetest.Job(1), statetest.Job(2))
	if len(one.heard) != 2 {
		t.Fatalf("told %v", one.heard)
	}
	if err := b.f.Restore(reader(a.snapshot())); err != nil {
		t.Fatal(err)
	}
	b.index = a.index
	for _, d := range []*feeder{a, b} {
		d.apply(statetest.Job(1))
	}
	if other.heard[0] != "from 2" || !slices.Equal(other.heard[1:], one.heard[2:]) || len(one.heard) != 3 {
		t.Errorf("told\n%v\nand\n%v", one.heard, other.heard)
	}
}
