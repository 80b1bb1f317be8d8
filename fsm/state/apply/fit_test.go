package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// GPUs that are not healthy, that an operator has taken out of service or whose node takes
// no work are not fit for any; they are again when that is over.
func TestFitGPUs(t *testing.T) {
	c := statetest.New(t)
	n1, n2 := c.Node("n1", 4), c.Node("n2", 2)
	sick := func(h model.Health) func() {
		return func() {
			n1.Inventory(func(d *model.Device) {
				if d.Index == 0 {
					d.Health = h
				}
			})
		}
	}
	gpu := model.GPUID("")
	for id, g := range c.State.GPUs.All() {
		if g.Node == "n1" && g.Index == 1 {
			gpu = id
		}
	}
	mode := func(m model.NodeMode) func() {
		return func() { c.Do(&command.SetNodeMode{Node: "n2", Mode: m}) }
	}
	gpuMode := func(m model.NodeMode) func() { return func() { c.Do(&command.SetGPUMode{GPU: gpu, Mode: m}) } }
	for i, v := range []struct {
		do   func()
		want int64
	}{
		{func() {}, 6},
		{func() { c.Place(c.Submit(2)) }, 6}, // their owner does not matter
		{sick(model.HealthQuarantined), 5},
		{gpuMode(model.ModeCordoned), 4},
		{mode(model.ModeDraining), 2},
		{n1.Suspect, 0},
		{mode(model.ModeOpen), 2},
		{n1.Renew, 4},
		{sick(model.HealthHealthy), 5},
		{gpuMode(model.ModeOpen), 6},
		{func() { n2.Reboot() }, 6},
	} {
		if v.do(); c.State.FitGPUs != v.want {
			t.Errorf("after step %d %d GPUs are fit for work, want %d", i, c.State.FitGPUs, v.want)
		}
	}
	s := c.State
	apply.Miscount(&s)
	if err := check.State(&s); !statetest.Names(err, check.SameOnReplay) {
		t.Errorf("of one that is counted too often Check says %v", err)
	}
}

// What pools leave to all is of the GPUs that are fit for work.
func TestPoolsAreOfWhatIsFit(t *testing.T) {
	for _, v := range []struct {
		mode  model.PoolMode
		owned int64
		gpus  uint32     // bob's, which owns none
		want  model.Code // with 16 GPUs
		less  model.Code // with half of them out of service
	}{
		{model.PoolStatic, 6, 2, model.CodeOK, model.CodeOK},
		{model.PoolStatic, 6, 3, model.CodeOK, model.CodeLimit},
		{model.PoolHybrid, 8, 4, model.CodeOK, model.CodeOK}, // half of what is fit is kept
		{model.PoolHybrid, 8, 5, model.CodeOK, model.CodeLimit},
		{model.PoolDynamic, 8, 8, model.CodeOK, model.CodeOK},
	} {
		for half, want := range map[bool]model.Code{false: v.want, true: v.less} {
			c := statetest.New(t)
			c.Node("n1", 8)
			c.Node("n2", 8)
			c.Do(&command.SetPools{Mode: v.mode, Part: 500})
			c.Do(owns(theProject("vision"), v.owned))
			if half {
				c.Do(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
			}
			id := c.Submit(v.gpus, by("bob", ""))
			if r := c.Try(c.Placement(model.TaskKey{Job: id})); r.Code != want {
				t.Errorf("%+v, half of it out of service %t: %+v", v, half, r)
			}
		}
	}
}
