package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// placement is an attempt that has been placed, and its user.
type placement struct {
	before, after *state.State
	attempt       *model.Attempt
	wish          *command.Submit
}

// beside checks that an attempt leaves alone what is reserved for others. An owner of any booking may be
// given what another lacks, so those are exempt. The lock is held.
func (r *rules) beside(p *placement, b *model.Booking) {
	if b.End <= p.attempt.Placed || r.heldUntil(p.after, p.attempt) <= b.Start {
		return
	}
	if b.Kind == model.BookMaintenance {
		r.asked[BreachMaintenance]++
		for _, rank := range p.after.RanksOf(p.attempt.Key) {
			if strings.Contains(" "+b.Nodes+" ", " "+string(rank.Node)+" ") {
				r.w.trace.Break(BreachMaintenance, "%s is placed on %s at %s and may last until after %s, when there is %q", p.attempt.Key,
					rank.Node, p.attempt.Placed.Time(), b.Start.Time(), b.Note)
			}
		}
		return
	}
	for _, row := range p.after.Bookings.All() {
		if own := r.booked[row.Note]; own == nil || own.For(p.wish.Spec.User, p.wish.Spec.Project) {
			return
		}
	}
	r.asked[BreachBooked]++
	ids := b.NodeIDs()
	if len(ids) == 0 {
		ids = []model.NodeID{""}
	}
	for _, id := range ids {
		if p.takes(id) && r.lacking(p, b, id) > 0 {
			r.w.trace.Break(BreachBooked, "%s is placed at %s, and %q lacks %d GPUs %s", p.attempt.Key, p.attempt.Placed.Time(), b.Note,
				r.lacking(p, b, id), id)
		}
	}
}

// takes reports whether the attempt has GPUs of a node; of any, if none is named.
func (p *placement) takes(id model.NodeID) bool {
	for _, rank := range p.after.RanksOf(p.attempt.Key) {
		if rank.GPUs > 0 && (id == "" || rank.Node == id) {
			return true
		}
	}
	return false
}

// lacking returns how many GPUs a booking is short of on a node, or if none is named in the cluster, when it begins, at the least: a GPU
// that was or is fit for work counts, and those that others hold do from when they may be back at the soonest.
func (r *rules) lacking(p *placement, b *model.Booking, on model.NodeID) int {
	need, own, free := int(b.GPUs)/max(len(b.NodeIDs()), 1), 0, 0
	for key, slot := range p.after.Slots.All() {
		if on != "" && slot.Node != on {
			continue
		}
		if b.GPUs == 0 { // all that there are
			need++
		}
		theirs := r.holder(p.after, &slot, b)
		switch fit := fit(p.before, key.GPU, slot.Node) || fit(p.after, key.GPU, slot.Node); {
		case theirs == holdsOther:
		case fit:
			free++
		case theirs == holdsOwn:
			own++
		}
	}
	return need - min(need, own) - free
}

func fit(s *state.State, gpu model.GPUID, node model.NodeID) bool {
	g, _ := s.GPUs.Get(gpu)
	n, _ := s.Nodes.Get(node)
	return g.Usable() && n.Schedulable()
}

// holds is which holder has a GPU when a booking begins.
type holds uint8

const (
	holdsNobody holds = iota // it may be free then
	holdsOwn
	holdsOther
)

func (r *rules) holder(s *state.State, slot *model.Slot, b *model.Booking) holds {
	if slot.Owner != model.OwnerAttempt {
		return holdsNobody
	}
	a, _ := s.Attempts.Get(slot.Rank.Attempt())
	job, _ := s.Jobs.Get(slot.Rank.Job)
	switch {
	case b.For(job.Spec.User, job.Spec.Project):
		return holdsOwn
	case r.heldUntil(s, &a) > b.Start:
		return holdsOther
	}
	return holdsNobody
}

// heldUntil returns when an attempt gives its GPUs back at the soonest, if it takes as long
// as it may: it starts at once, and is killed at the end of its grace.
func (r *rules) heldUntil(s *state.State, a *model.Attempt) model.Time {
	job, _ := s.Jobs.Get(a.Key.Job)
	limit, grace := job.Spec.TimeLimit, job.Spec.Grace
	if c := r.wishes[job.Spec.Name]; c != nil {
		limit, grace = c.Spec.TimeLimit, c.Spec.Grace
	}
	switch {
	case a.Stop != model.ReasonNone:
		return 0
	case limit == 0:
		return model.Never
	}
	return a.Placed.Add(limit + grace)
}

// staySlack is how much longer an attempt may stay as it is than its own times allow: agents that have just started register, renew
// and look at what is left.
const staySlack = 30 * time.Second

// stay is since when a live attempt has been as it is.
type stay struct {
	as    string
	since time.Time
	found bool // it was reported
}

// move checks that once nothing is broken any more, each attempt that starts or stops moves on: it must not hold its GPUs and do
// nothing. How long an attempt runs is the job's own; a rank whose agent has lost its data folder waits for its lease or an operator.
func (r *rules) move(s *state.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, before := time.Now(), r.stays
	r.stays = make(map[model.AttemptKey]stay, len(before))
	for k, t := range s.Tasks.All() {
		if !t.State.Live() {
			continue
		}
		a, _ := s.Attempts.Get(t.Newest())
		ranks := s.RanksOf(a.Key)
		is := stay{as: fmt.Sprint(a.State, a.Stop, a.Run), since: now}
		forgotten := false
		for i := range ranks {
			is.as += fmt.Sprint(ranks[i].Phase)
			forgotten = forgotten || ranks[i].Orphan > 0 && !ranks[i].Phase.Ended()
		}
		if was := before[a.Key]; was.as == is.as {
			is = was
		}
		limit := r.w.tuning().StartDeadline + staySlack
		if a.Stop != model.ReasonNone {
			limit = a.Frozen.CheckpointGrace + a.Frozen.Grace + a.Frozen.Kill + staySlack
		}
		moves := a.State == model.TaskRunning && a.Stop == model.ReasonNone
		if !moves && !forgotten && !is.found && !r.soundAt.IsZero() && now.Sub(is.since) > limit && now.Sub(r.soundAt) > limit {
			is.found = true
			r.w.trace.Break(BreachStuck, "task %s has been %s, stop %q, for %v: ranks %+v", k, a.State, a.Stop, now.Sub(is.since), ranks)
		}
		r.stays[a.Key] = is
	}
}
