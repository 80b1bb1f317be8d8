package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

func labelNode(s *scene, w words) {
	changes := slices.Clone(w.names[1:])
	for key, value := range w.named {
		changes = append(changes, key+"="+value)
	}
	slices.Sort(changes)
	s.Must(&command.SetNodeLabels{Node: model.NodeID(w.names[0]), Changes: strings.Join(changes, ",")})
}

// bookGPUs keeps GPUs for a user or a project, bookNodes nodes for their maintenance.
func bookGPUs(s *scene, w words) {
	reserve(s, w, model.Booking{Kind: model.BookGPUs, Owner: scopeOf(w), GPUs: s.number(w, "gpus", 1), Model: w.named["model"]})
}

func bookNodes(s *scene, w words) {
	reserve(s, w, model.Booking{Kind: model.BookMaintenance})
}

func reserve(s *scene, w words, b model.Booking) {
	b.Nodes = strings.ReplaceAll(w.named["nodes"], ",", " ")
	b.Start = s.Now.Add(s.span(w.named["start"]))
	b.End = b.Start.Add(s.span(w.named["for"]))
	s.Must(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 24 * time.Hour, PerUser: 50}},
		&command.Book{Booking: b})
}

// searched is a plan whose outlook later passes go on from, between such a pass.
func searched(s *scene, _ words) []string {
	bodies, _, outlook := sched.PlanLoaded(&s.State, s.Now, nil)
	s.outlook = outlook
	return s.carryOut(bodies)
}

func between(s *scene, _ words) []string {
	bodies, ok := search.Between(&s.State, s.Now, s.outlook)
	if !ok {
		return []string{"only a search can tell"}
	}
	return s.carryOut(bodies)
}

// askFor has a service ask for GPUs.
func askFor(s *scene, w words) {
	user := w.named["user"]
	if user == "" {
		user = "svc"
	}
	s.Must(&command.Allocate{
		ID: model.AllocationID(w.names[0]), Service: w.names[0], User: user, Class: classNamed(w), GPUs: s.number(w, "gpus", 1),
		GPUModel: w.named["model"], TTL: s.span(w.named["ttl"]), Constraint: w.named["constraint"],
		Job: model.JobID(s.number(w, "job", 0)),
	})
}

// calledIn is what a task or a service is called that waits on a state.
func calledIn(s *state.State, key model.TaskKey) string {
	if id, is := s.Waiting.Get(key); is {
		return string(id)
	}
	return key.String()
}

// fromNow is so long from now as a name says; 0: it is not named.
func fromNow(s *scene, w words, name string) model.Time {
	if w.named[name] == "" {
		return 0
	}
	return s.Now.Add(s.span(w.named[name]))
}

// span3 is "1h0m0s (15m0s to 4h0m0s)".
func span3(now model.Time, r forecast.Range) string {
	if !r.Known {
		return "at a time not known"
	}
	if r.Soonest == r.Latest {
		return fmt.Sprint("in ", r.Expected.Sub(now))
	}
	return fmt.Sprintf("in %s (%s to %s)", r.Expected.Sub(now), r.Soonest.Sub(now), r.Latest.Sub(now))
}

// pausesOf is ", suspended in 1h0m0s for 5m0s".
func pausesOf(now model.Time, c *forecast.Course) (out string) {
	for _, v := range c.Pauses {
		if out += fmt.Sprint(", suspended in ", v.From.Sub(now)); v.Until > 0 {
			out += fmt.Sprint(" for ", v.Until.Sub(v.From))
		}
	}
	return out
}
