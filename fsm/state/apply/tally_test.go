package apply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func tallied(c *statetest.Cluster, kind tally.Kind, name string) tally.Row {
	n, _ := c.State.Tallies.Get(tally.Key{Kind: kind, Name: name})
	return n
}

// allocate queues an allocation of a service.
func allocate(c *statetest.Cluster, id model.AllocationID, service string) {
	c.Do(&command.Allocate{ID: id, Service: service, User: service, Class: model.ClassNormal, Priority: 5, GPUs: 1})
}

// Whatever becomes of allocations is counted by service.
func TestAllocationsAreTallied(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	grant := func(id model.AllocationID, gpu int) {
		c.Do(&command.Grant{
			ID: id, Decided: c.State.Index,
			Placement: command.Placement{Node: "n1", Epoch: n.Epoch(), Slots: []model.SlotKey{{GPU: model.GPUID(fmt.Sprintf("n1-%d", gpu))}}},
		})
	}
	for _, id := range []model.AllocationID{"a", "b", "c"} {
		allocate(c, id, "ocr")
	}
	c.Wait(90 * time.Second)
	grant("a", 0)
	c.Do(&command.ReleaseAllocation{ID: "a"})
	c.Do(&command.ReleaseAllocation{ID: "b"})
	want := [tally.Width]uint64{tally.Asked: 3, tally.Granted: 1, tally.Withdrawn: 1, tally.Released: 1}
	if got := tallied(c, tally.Service, "ocr"); got.Counts != want {
		t.Errorf("counted %v, want %v", got.Counts, want)
	}
	wait := tallied(c, tally.Wait, "")
	if wait.Sum < 90*time.Second || wait.Sum > 2*time.Minute || wait.Counts[4] != 1 || wait.Total() != 1 {
		t.Errorf("the waits are %+v", wait)
	}
	for i := range tally.Most + 5 {
		allocate(c, model.AllocationID(fmt.Sprintf("x%d", i)), fmt.Sprintf("service-%d", i))
	}
	if n, other := c.State.Tallies.Len(), tallied(c, tally.Service, tally.Other); n != tally.Most+2 ||
		other.Counts[tally.Asked] != 6 {
		t.Errorf("%d tallies, of others %v", n, other.Counts)
	}
}

// An allocation whose GPUs lie between those of another ends once when its node reboots.
func TestARebootEndsAnAllocationOnce(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	for i, id := range []model.AllocationID{"a", "b"} {
		c.Do(&command.Allocate{ID: id, Service: "ocr", User: "ocr", Class: model.ClassNormal, Priority: 5, GPUs: 2})
		slots := []model.SlotKey{{GPU: model.GPUID(fmt.Sprintf("n1-%d", i))}, {GPU: model.GPUID(fmt.Sprintf("n1-%d", i+2))}}
		c.Do(&command.Grant{ID: id, Decided: c.State.Index, Placement: command.Placement{Node: "n1", Epoch: n.Epoch(), Slots: slots}})
	}
	n.Reboot()
	if got := tallied(c, tally.Service, "ocr").Counts[tally.Lost]; got != 2 {
		t.Errorf("%d of 2 allocations are counted as lost", got)
	}
}

// The time that attempts ran is counted by how they ended, and what was in vain.
func TestRunsAreTallied(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	one(c, n, model.Exit{Ran: 20 * time.Minute})
	one(c, n, failing(3*time.Second))
	if got := tallied(c, tally.Run, "completed"); got.Counts[7] != 1 || got.Sum != 20*time.Minute {
		t.Errorf("completed: %+v", got)
	}
	if got := tallied(c, tally.Run, "failed"); got.Counts[1] != 1 || totals(c).Wasted != 3 {
		t.Errorf("failed: %+v, wasted %d", got, totals(c).Wasted)
	}
	if got := tallied(c, tally.Wait, ""); got.Total() != 2 {
		t.Errorf("waits: %+v", got)
	}
}

// What runs used of their GPUs is remembered: the most, and less again if later ones
// use less; runs of which it is not known, and those that failed, change nothing.
func TestPeaksAreLearnt(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	for _, v := range []struct {
		exit  model.Exit
		peak  uint32
		count uint32
	}{
		{model.Exit{Ran: time.Minute, PeakMB: 8000}, 8000, 1},
		{model.Exit{Ran: time.Minute}, 8000, 1},
		{model.Exit{Ran: time.Minute, PeakMB: 4000}, 7500, 2},
		{model.Exit{Ran: time.Minute, PeakMB: 9000, Code: 1}, 7500, 2},
		{model.Exit{Ran: time.Minute, PeakMB: 9000}, 9000, 3},
	} {
		a := one(c, n, v.exit)
		job, _ := c.State.Jobs.Get(a.Job)
		past := c.State.Past(&job.Spec)
		if past.PeakMB != v.peak || past.Peaks != v.count {
			t.Errorf("after %+v: %d MiB of %d runs, want %d of %d", v.exit, past.PeakMB, past.Peaks, v.peak, v.count)
		}
	}
	if _, err := command.New("x", n.Report(exited(model.AttemptKey{Job: 1, N: 1}.Rank(0), model.Exit{PeakMB: model.MaxPeakMB + 1}))); err == nil {
		t.Error("a peak beyond all GPUs was taken")
	}
}

func TestCheckNamesBrokenTallies(t *testing.T) {
	wait := tally.Key{Kind: tally.Wait}
	service := tally.Key{Kind: tally.Service, Name: "ocr"}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"a wait too many": {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.Tallies, wait, func(r *tally.Row) { r.Counts[3]++ }) }},
		"an allocation without a request": {check.TotalsAgree, func(s *state.State) {
			statetest.Put(&s.Tallies, service, func(r *tally.Row) { r.Key, r.Counts[tally.Released] = service, 1 })
		}},
		"services without end": {check.References, func(s *state.State) {
			for i := range tally.Most + 1 {
				k := tally.Key{Kind: tally.Service, Name: fmt.Sprint(i)}
				statetest.Put(&s.Tallies, k, func(r *tally.Row) { r.Key = k })
			}
		}},
		"a peak of no run": {check.References, func(s *state.State) {
			k := model.SketchKey{User: "u", Name: "n", GPUs: 1}
			statetest.Put(&s.Sketches, k, func(r *model.Sketch) { r.Key, r.PeakMB = k, 7 })
		}},
	} {
		t.Run(name, func(t *testing.T) { statetest.CheckNames(t, v.want, v.change) })
	}
	before := running(t, 4).State
	after := before
	after.Index++
	statetest.Put(&after.Tallies, wait, func(r *tally.Row) { r.Counts[0] = 0 })
	if err := check.Move(&before, &after); !statetest.Names(err, check.TotalsAgree) {
		t.Errorf("a tally that falls: %v", err)
	}
}
