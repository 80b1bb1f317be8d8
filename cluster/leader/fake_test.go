package leader_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

// fake is a peer whose log is a list in memory.
type fake struct {
	mu       sync.Mutex
	s        state.State
	waiters  []waiter
	barriers int // that fail before one succeeds
	fail     error
	refuse   bool
	slow     time.Duration

	counts
}

// counts is the number of calls of a fake.
type counts struct {
	states, proposals int
	flying, most      map[command.Kind]int
	actors            map[string]bool
	kinds             map[command.Kind]int
}

type waiter struct {
	topics model.TopicSet
	after  uint64
	ch     chan struct{}
}

func newFake(t *testing.T) *fake {
	f := &fake{counts: counts{
		flying: map[command.Kind]int{}, most: map[command.Kind]int{},
		actors: map[string]bool{}, kinds: map[command.Kind]int{},
	}}
	f.user(t, &command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: 1, Running: true, Policy: "fcfs",
		Retention: model.Retention{Jobs: 10, Age: time.Hour},
	})
	f.user(t, &command.Register{
		Node: "n1", Machine: "m1", Boot: "b1", Lineage: "l1", Session: "s1",
		Devices: []model.Device{{ID: "g1", Model: "H200", Health: model.HealthHealthy, Idle: true}},
	})
	return f
}

// user applies another client's proposal.
func (f *fake) user(t *testing.T, b command.Body) command.Result {
	t.Helper()
	c, err := command.New("user:alice", b)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.apply([]command.Command{c})[0]
	if !r.OK() {
		t.Fatalf("%s: %s", b.Kind(), r.Detail)
	}
	return r
}

func (f *fake) apply(cs []command.Command) []command.Result {
	meta := state.Meta{Index: f.s.Index + 1, Term: 1, At: model.TimeOf(time.Now()), By: "p1"}
	next, results, _ := apply.Apply(f.s, meta, cs)
	f.s = next
	keep := f.waiters[:0]
	for _, w := range f.waiters {
		if f.past(w.topics, w.after) {
			close(w.ch)
		} else {
			keep = append(keep, w)
		}
	}
	f.waiters = keep
	return results
}

func (f *fake) past(topics model.TopicSet, after uint64) bool {
	for t, index := range f.s.Settings().Topics {
		if topics.Has(model.Topic(t)) && index > after {
			return true
		}
	}
	return false
}

func (f *fake) Barrier(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.barriers > 0 {
		f.barriers--
		return errors.New("not yet")
	}
	return nil
}

func (f *fake) State() state.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states++
	return f.s
}

func (f *fake) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan struct{})
	if f.past(topics, after) {
		close(ch)
	} else {
		f.waiters = append(f.waiters, waiter{topics, after, ch})
	}
	return ch
}

func (f *fake) Propose(ctx context.Context, cs ...command.Command) ([]command.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := cs[0].Kind()
	f.proposals++
	f.kinds[kind]++
	f.flying[kind]++
	f.most[kind] = max(f.most[kind], f.flying[kind])
	f.actors[cs[0].Actor] = true
	defer func() { f.flying[kind]-- }()
	if f.slow > 0 {
		f.mu.Unlock()
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
		}
		f.mu.Lock()
	}
	for i := range cs {
		if cs[i].Kind().Lane() != kind.Lane() {
			return nil, errors.New("commands of two lanes")
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.fail != nil:
		return nil, f.fail
	case f.refuse:
		results := make([]command.Result, len(cs))
		for i := range results {
			results[i].Code = model.CodeConflict
		}
		return results, nil
	}
	return f.apply(cs), nil
}
