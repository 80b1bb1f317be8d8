package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// mayTake tells when the task may take GPUs of others, and whose: a plan of then stops them. That may be
// at once, or they have to run for a while yet. What a
// reservation changes until then is not looked at.
func (t *trial) mayTake() {
	at := t.now
	for ; t.left > 0; t.left-- {
		p := newPass(t.state, at)
		p.run()
		i := slices.IndexFunc(p.commands, func(b command.Body) bool {
			v, is := b.(*command.Preempt)
			return is && v.Beneficiary == t.task
		})
		if i >= 0 {
			u := Unblock{Kind: UnblockPreempt, Ends: victimsOf(p.commands[i])}
			if at > t.now {
				u.At = at
			}
			t.found = append(t.found, u)
		}
		if at = due(p); i >= 0 || p.found.prey == nil || p.found.prey.wake == 0 || t.turns(at) {
			return
		}
	}
}

// turns says that a booking begins or ends by an instant.
func (t *trial) turns(at model.Time) bool {
	for _, b := range t.state.Bookings.All() {
		if b.End <= at || b.Start <= at && !b.Begun {
			return true
		}
	}
	return false
}

func victimsOf(b command.Body) (out []blocker.Holder) {
	if b, is := b.(*command.Preempt); is {
		for _, v := range b.Victims {
			out = append(out, blocker.Holder{Task: v.TaskKey()})
		}
	}
	slices.SortFunc(out, blocker.Holder.Compare)
	return out
}

// maxWhom bounds the jobs that are named as making way.
const maxWhom = 3

// makeWay is who is being stopped so that their GPUs are a task's, how many of these are
// kept for it, and when they are free at the latest if all goes well.
func makeWay(s *state.State, who model.TaskKey) (whom string, gpus uint32, until model.Time) {
	var names []string
	for k := range s.ClaimedFor.From(state.ClaimKey{Task: who}) {
		if k.Task != who {
			break
		}
		slot, _ := s.Slots.Get(k.Slot)
		a, _ := s.Attempts.Get(slot.Rank.Attempt())
		if slot.Owner != model.OwnerAttempt || a.Stop == model.ReasonNone {
			continue
		}
		gpus++
		until = max(until, a.StopAt.Add(a.Frozen.FenceLead()+soon))
		if name := (blocker.Holder{Task: a.Key.TaskKey()}).String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	verb := " have"
	if len(names) == 1 {
		verb = " has"
	}
	if more := len(names) - maxWhom; more > 0 {
		names = append(names[:maxWhom], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		whom = strings.Join(names, " and ") + verb
	}
	return whom, gpus, until
}
