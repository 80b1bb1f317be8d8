package agent_test

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// An agent that runs jobs of one user only refuses those of others, uncharged and with the reason, also if
// the cluster places them there: this one does not know it.
func TestJobsOfOtherUsersAreGivenBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.account = "ada"
	h.start(t)
	c.free(t, 1)
	other := c.submit(t, func(b *command.Submit) { b.Spec.User, b.Spec.Command = "eve", "touch "+h.dir+"/eve" })
	c.until(t, "the rank given back", func(s *statetest.Cluster) bool {
		task, _ := s.State.Tasks.Get(model.TaskKey{Job: other})
		return task.State == model.TaskQueued && task.Attempts == 1 && task.Retries == 0
	})
	said := false
	for _, e := range stateOf(c).Events.All() {
		said = said || e.What == model.EventRefused && strings.Contains(e.Detail, "under the account of its agent, ada, and none of user eve")
	}
	if !said {
		t.Error("the refusal gives no reason")
	}
	c.do(&command.Cancel{Job: other, Task: model.AllTasks})
	own := c.submit(t, func(b *command.Submit) { b.Spec.User, b.Spec.Command = "ada", "true" })
	if task := c.ended(t, own); task.State != model.TaskCompleted {
		t.Errorf("the job of the account's user is %s", task.State)
	}
}
