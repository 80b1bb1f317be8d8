package process

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// An alarm rings at its instant, and at once at one that is over, as after a suspension.
func TestAlarm(t *testing.T) {
	t.Parallel()
	a := newAlarm()
	t.Cleanup(a.close)
	if a.file == nil {
		t.Skip("needs a kernel with timers of CLOCK_BOOTTIME")
	}
	for _, ahead := range []time.Duration{10 * time.Millisecond, -time.Millisecond} {
		at := Now().Boot.Add(ahead)
		a.set(at)
		select {
		case <-a.rings:
			if now := Now().Boot; now < at {
				t.Errorf("it rang %s early", at.Sub(now))
			}
		case <-time.After(patience):
			t.Fatalf("set %s ahead, it did not ring", ahead)
		}
	}
}

// A supervisor is woken for what is due next, and for nothing that is over.
func TestWhatIsDueNext(t *testing.T) {
	t.Parallel()
	r := new(runner.Record)
	short(model.OnLostRequeue)(r)
	const start = fence.Boot(time.Hour)
	f, _ := fence.Deadline(start, r.Frozen)
	stopping := ending{stopAt: start.Add(time.Second), killAt: start.Add(3 * time.Second)}
	asked := stopping
	asked.asked = true
	for _, c := range []struct {
		name   string
		onLost model.OnLost
		ending ending
		now    fence.Boot
		want   fence.Boot
	}{
		{"it runs", model.OnLostRequeue, ending{}, start, f.Stop},
		{"its fence has begun", model.OnLostRequeue, ending{}, f.Stop, f.Kill},
		{"its fence is over", model.OnLostRequeue, ending{}, f.Kill, 0},
		{"it is held", model.OnLostHold, ending{}, start, 0},
		{"the checkpoint's grace", model.OnLostRequeue, stopping, start, stopping.stopAt},
		{"the grace", model.OnLostRequeue, asked, start, asked.killAt},
		{"the grace is over", model.OnLostHold, asked, asked.killAt, 0},
	} {
		frozen := r.Frozen
		frozen.OnLost = c.onLost
		s := &supervisor{guard: fence.NewGuard(start, frozen), ending: c.ending}
		if got := s.next(c.now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
