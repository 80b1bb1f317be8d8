package leader

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Ended jobs leave the state, oldest first, when their texts take more than they may, however few they are.
func TestRetentionByBytes(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	for range 4 {
		id := c.Submit(1, func(b *command.Submit) { b.Script = strings.Repeat("x", 1000) })
		c.Do(&command.Cancel{Job: id, Task: model.AllTasks})
	}
	c.Submit(1, func(b *command.Submit) { b.Script = strings.Repeat("x", 5000) }) // has not ended
	job, _ := c.State.Jobs.Get(1)
	each := int64(job.Bytes)
	for most, want := range map[int64]int{4 * each: 0, 3 * each: 1, 2*each + 1: 2, 0: 4} {
		b, _, _ := retire(&c.State, c.Now, 1<<60, most)
		var jobs []model.JobID
		if r, is := b.(*command.Retire); is {
			jobs = r.Jobs
		}
		if len(jobs) != want || want > 0 && jobs[0] != 1 {
			t.Errorf("with at most %d bytes jobs %v leave, want %d", most, jobs, want)
		}
	}
}
