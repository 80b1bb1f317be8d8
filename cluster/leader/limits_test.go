package leader

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func TestNearLimits(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 4)
	limit := func(d time.Duration) func(*command.Submit) {
		return func(b *command.Submit) { b.Spec.TimeLimit = d }
	}
	c.Start(c.Place(c.Submit(1))) // without a limit
	hour := c.Place(c.Submit(1, limit(time.Hour)))
	c.Start(hour)
	c.Start(c.Place(c.Submit(1, limit(2*time.Hour))))
	c.Place(c.Submit(1, limit(time.Minute))) // does not run yet
	if list, next := nearLimits(&c.State, c.Now); len(list) != 0 || next != 48*time.Minute {
		t.Errorf("near are %v, next %s", list, next)
	}
	list, next := nearLimits(&c.State, c.Now.Add(50*time.Minute))
	if len(list) != 1 || list[0] != hour || next != 46*time.Minute {
		t.Errorf("near are %v, next %s", list, next)
	}
	c.Do(&command.NearLimit{Attempts: list})
	if list, next = nearLimits(&c.State, c.Now.Add(50*time.Minute)); len(list) != 0 || next != 46*time.Minute {
		t.Errorf("told already, near are %v, next %s", list, next)
	}
	c.Do(&command.Cancel{Job: 3, Task: model.AllTasks})
	if list, next = nearLimits(&c.State, c.Now.Add(3*time.Hour)); len(list) != 0 || next != liveness.Never {
		t.Errorf("of one that is being stopped: %v, next %s", list, next)
	}
}

// The decider looks now and then, however often it is woken.
func TestWarningOfLimits(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 1)
	a := c.Place(c.Submit(1, func(b *command.Submit) { b.Spec.TimeLimit = time.Minute }))
	c.Start(a)
	at := &hands{wall: c.Now.Time()}
	decide := warnOfLimits(&Config{Clock: at})
	if out, next := decide(&c.State); out != nil || next != 48*time.Second {
		t.Fatalf("at first %v, %s", out, next)
	}
	at.move(2 * time.Second)
	if out, next := decide(&c.State); out != nil || next != limitsPause-2*time.Second {
		t.Fatalf("woken early: %v, %s", out, next)
	}
	at.move(47 * time.Second)
	out, next := decide(&c.State)
	if len(out) != 1 || next != limitsPause {
		t.Fatalf("when it is due: %v, %s", out, next)
	}
	if b, is := out[0].(*command.NearLimit); !is || len(b.Attempts) != 1 || b.Attempts[0] != a {
		t.Errorf("it proposes %+v", out[0])
	}
}

// hands are a clock's, moved by hand.
type hands struct {
	boot time.Duration
	wall time.Time
}

func (h *hands) Boot() time.Duration { return h.boot }
func (h *hands) Wall() time.Time     { return h.wall }

func (h *hands) move(d time.Duration) {
	h.boot += d
	h.wall = h.wall.Add(d)
}
