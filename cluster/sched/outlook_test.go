package sched_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Asking for an outlook changes no plan, though more of those that wait are looked at.
func TestAnOutlookChangesNoPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			request, next := sched.Plan(&c.State, c.Now)
			got, also, _ := sched.PlanLoaded(&c.State, c.Now, nil)
			if !reflect.DeepEqual(got, request) || also != next {
				t.Fatalf("with an outlook the plan is %s (next %d), without %s (next %d)", inFull(got), also, inFull(request), next)
			}
			c.Plan()
		}
	})
}

// Whatever happens since a search, what a pass goes on with is accepted, suspends
// no job, and is the same each time.
func TestEveryPassBetweenSearchesIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		outlook := searchOnce(t, c, nodes)
		for range rapid.IntRange(1, 8).Draw(t, "events") {
			schedtest.Mixed(t, c, nodes)
			if outlook == nil {
				return
			}
			bodies, ok := search.Between(&c.State, c.Now, outlook)
			if !ok || len(bodies) == 0 {
				continue
			}
			c.Must(bodies...)
			for _, b := range bodies {
				switch b.(type) {
				case *command.Place, *command.Grant:
				default:
					t.Fatalf("between searches it wants to %s", b.Kind())
				}
			}
		}
	})
}

// searchOnce has something happen, and carries out what a search says then.
func searchOnce(t *rapid.T, c *schedtest.Cluster, nodes int) *search.Outlook {
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		schedtest.Mixed(t, c, nodes)
		if rapid.Bool().Draw(t, "plan") {
			c.Plan()
			schedtest.BeginOne(c)
		}
	}
	bodies, _, outlook := sched.PlanLoaded(&c.State, c.Now, nil)
	if len(bodies) > 0 {
		c.Must(bodies...)
	}
	return outlook
}

// What a search suspends others for starts once these have ended, whoever came or went
// since and whatever was started between.
func TestWhatASearchMeantToStartStarts(t *testing.T) {
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		c := schedtest.New(t, model.DefaultPolicy)
		c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
		for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			c.Node(string(rune('a'+i)), rapid.IntRange(2, 8).Draw(t, "gpus"), "A")
		}
		for range rapid.IntRange(1, 10).Draw(t, "jobs") {
			come(t, c)
			c.Plan()
			for _, key := range schedtest.Live(c) {
				c.Begin(key)
			}
			c.Now = c.Now.Add(time.Hour)
			c.Must(&command.AdvanceClock{})
		}
		meant := suspendedFor(c)
		bodies, _, outlook := sched.PlanLoaded(&c.State, c.Now, nil)
		if len(bodies) > 0 {
			c.Must(bodies...)
		}
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			if running := schedtest.Live(c); len(running) > 0 && rapid.Bool().Draw(t, "an end") {
				c.End(rapid.SampledFrom(running).Draw(t, "whose"), 0)
			} else {
				come(t, c)
			}
			goOn(c, outlook)
		}
		for _, key := range schedtest.Live(c) {
			if task, _ := c.State.Tasks.Get(key); stopping(c, &task) {
				c.End(key, 0)
			}
		}
		goOn(c, outlook)
		running := schedtest.Live(c)
		for _, key := range meant {
			if met++; !slices.Contains(running, key) {
				if task, _ := c.State.Tasks.Get(key); task.State == model.TaskQueued {
					t.Fatalf("others were suspended for %s, and it waits still", key)
				}
			}
		}
	})
	if met == 0 {
		t.Error("no job was ever suspended for another")
	}
}

func come(t *rapid.T, c *schedtest.Cluster) {
	s := schedtest.Spec(rapid.SampledFrom([]string{"amy", "bob", "eve"}).Draw(t, "user"), uint32(rapid.IntRange(1, 4).Draw(t, "n")), 0)
	s.Preemptible = rapid.Bool().Draw(t, "yields")
	s.Estimate = time.Duration(rapid.IntRange(1, 50).Draw(t, "hours")) * time.Hour
	c.Submit(s, 1, 0)
}

func goOn(c *schedtest.Cluster, outlook *search.Outlook) {
	if outlook == nil {
		return
	}
	if bodies, _ := search.Between(&c.State, c.Now, outlook); len(bodies) > 0 {
		c.Must(bodies...)
	}
}

func stopping(c *schedtest.Cluster, task *model.Task) bool {
	a, _ := c.State.Attempts.Get(task.Newest())
	return a.Stop != model.ReasonNone
}

// suspendedFor lists the tasks that others are being suspended for.
func suspendedFor(c *schedtest.Cluster) (out []model.TaskKey) {
	for _, key := range schedtest.Waiting(c) {
		e, _ := explain.Task(&c.State, c.Now, key)
		if slices.ContainsFunc(e.Blockers, func(b blocker.Blocker) bool { return b.Code == blocker.CodeSuspending }) {
			out = append(out, key)
		}
	}
	return out
}

// inFull writes commands with their kinds and fields.
func inFull(bodies []command.Body) string {
	var out strings.Builder
	for _, b := range bodies {
		fmt.Fprintf(&out, "%s %+v; ", b.Kind(), b)
	}
	return out.String()
}
