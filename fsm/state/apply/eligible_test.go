package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A job could run since its submission, its begin, or since what it waited for had
// ended or was dropped.
func TestEligible(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	eligible := func(id model.JobID) model.Time {
		j, _ := c.State.Jobs.Get(id)
		return c.State.Eligible(&j)
	}
	first, begin := c.Submit(1), c.Now.Add(time.Hour)
	if got := eligible(first); got != c.Now {
		t.Errorf("a plain job: %s", got.Time())
	}
	if got := eligible(c.Submit(1, func(b *command.Submit) { b.Spec.Begin = begin })); got != begin {
		t.Errorf("one with a begin: %s", got.Time())
	}
	met, dropped, waits := c.Submit(1, after(dependency.AfterAny, first)), c.Submit(1, after(dependency.AfterAny, first)), c.Submit(1, after(dependency.AfterAny, first))
	submitted := c.Now
	c.Wait(time.Minute)
	c.Do(&command.DropDependencies{Job: dropped})
	was := c.Now
	c.Wait(time.Minute)
	ends(c, n, first, 0)
	c.Do(settle(met))
	if eligible(dropped) != was || eligible(met) != c.Now || eligible(waits) != submitted {
		t.Errorf("%s, %s, %s", eligible(dropped).Time(), eligible(met).Time(), eligible(waits).Time())
	}
}
