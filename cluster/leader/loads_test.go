package leader

import (
	"maps"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Loads are computed only where a plan uses them; a node with an unmeasured GPU is unknown, and a GPU that
// has just been given to a job counts as busy.
func TestLoads(t *testing.T) {
	c := statetest.New(t)
	for _, id := range []model.NodeID{"n1", "n2", "n3", "n4"} {
		c.Node(id, 2)
	}
	c.Do(&command.SetNodeMode{Node: "n4", Mode: model.ModeCordoned})
	c.Place(c.Submit(1)) // on n1, and not started
	measured := map[model.GPUID]uint32{"n1-0": 0, "n1-1": 10, "n2-0": 50, "n2-1": 61, "n3-0": 5, "n4-0": 1, "n4-1": 1}
	config := &Config{Use: Use{Busy: func(_ model.NodeID, gpu model.GPUID) (uint32, bool) {
		percent, known := measured[gpu]
		return percent, known
	}}}
	now := c.State.Settings().Clock
	if got := loads(&c.State, now, config); got != nil {
		t.Errorf("nothing waits, and loads are %v", got)
	}
	c.Submit(1, func(b *command.Submit) { b.Spec.Placement = "least_loaded" })
	if got := loads(&c.State, now, config); !maps.Equal(got, place.Loads{"n1": 55, "n2": 55}) {
		t.Errorf("loads are %v", got)
	}
	if got := loads(&c.State, now, &Config{}); got != nil {
		t.Errorf("without measurements loads are %v", got)
	}
	c.Start(model.TaskKey{Job: 1}.Attempt(1)) // and measures nothing of its own yet
	now = c.State.Settings().Clock
	if got := loads(&c.State, now.Add(settling-1), config); !maps.Equal(got, place.Loads{"n1": 55, "n2": 55}) {
		t.Errorf("once the job has only just started loads are %v", got)
	}
	if got := loads(&c.State, now.Add(settling), config); !maps.Equal(got, place.Loads{"n1": 5, "n2": 55}) {
		t.Errorf("once the job has run for a while loads are %v", got)
	}
}
