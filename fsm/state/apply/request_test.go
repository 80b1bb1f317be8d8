package apply

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// AllRequestIDsAreTaken: when no more request ids fit, the oldest one is forgotten, whichever actor it is of: every
// caller can still change something, and only the one whose id went is refused older ids.
func AllRequestIDsAreTaken(t *testing.T, checks Checks) {
	t.Parallel()
	r := newRunner(t)
	small := tx.RequestBounds{All: 12, Actor: 4, Untimed: 6, Actors: 10}
	once := func(actor, id string) command.Result {
		c, err := command.New(actor, &command.SetRunning{Running: true})
		if err == nil {
			c, err = c.WithRequest(id)
		}
		if err != nil {
			t.Fatal(err)
		}
		x := tx.Begin(&r.s, r.meta())
		x.Bounds, x.Clock, x.Actor = small, r.at, actor
		result := x.Once(&c, appliers[c.Kind()])
		r.s, _ = x.Finish([]command.Result{result})
		if err := checks.State(&r.s); err != nil {
			t.Fatal(err)
		}
		return result
	}
	oldest := uuidAt(r.at, 0)
	for n := range 12 {
		id := uuidAt(r.at, n)
		if n%2 == 1 {
			id = fmt.Sprint("text", n)
		}
		if got := once(fmt.Sprint("user:", n%6), id); !got.OK() {
			t.Fatalf("id %d: %+v", n, got)
		}
	}
	for n := range 20 {
		if got := once("user:admin", uuidAt(r.at, n)); !got.OK() {
			t.Fatalf("the admin's change %d: %+v", n, got)
		}
	}
	for _, v := range []struct {
		actor, id string
		want      model.Code
	}{
		{"user:0", oldest, model.CodeRequestExpired},
		{"user:0", uuidAt(r.at, 99), model.CodeOK},
		{"user:1", "text1", model.CodeOK}, // as before
		{"user:1", "another", model.CodeRequestsFull},
		{"user:2", "another", model.CodeRequestsFull},
		{"user:2", uuidAt(r.at, 99), model.CodeOK},
	} {
		if got := once(v.actor, v.id); got.Code != v.want {
			t.Errorf("%s %s: %+v, want %s", v.actor, v.id, got, v.want)
		}
	}
	if n := r.s.Requests.Len(); n > small.All {
		t.Errorf("%d ids are remembered, more than %d", n, small.All)
	}
}
