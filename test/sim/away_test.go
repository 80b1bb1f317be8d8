package sim

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// A job goes on while the peers have lost each other for longer than its T, if its agent asks them and all
// answer that there is no leader. Without the rule it is stopped and starts again.
func TestJobsGoOnWhileNobodyLeads(t *testing.T) {
	scripted(t)
	for _, away := range []bool{false, true} {
		s := Setup{Seed: 1, Peers: 3, Nodes: 1, GPUs: 1, Away: away, Tuning: leisurely()}
		var task model.Task
		r := run(t, s, func(w *World) {
			place(w, stubborn(1, 0, short, 0))
			w.part(50 * time.Second)
			w.Until(5*time.Minute, func() bool {
				s := w.oracle.now()
				task, _ = s.Tasks.Get(firstRank.Attempt().TaskKey())
				return task.State.Terminal()
			})
		})
		describeFailure(t, s.Seed, r)
		if wentOn := task.State == model.TaskCompleted && task.Attempts == 1; wentOn != away {
			t.Errorf("with the rule: %t; the job is %s after %d attempts", away, task.State, task.Attempts)
		}
	}
}

// A host is cloned once the cluster knows the machine as its node: before that the copy could be the node for good.
func TestOnlyAKnownHostIsCloned(t *testing.T) {
	scripted(t)
	s := Setup{Seed: 1, Peers: 3, Nodes: 1, GPUs: 1, Tuning: leisurely()}
	r := run(t, s, func(w *World) {
		if got := cloneHost(w); got != "" {
			t.Errorf("at the beginning: %s", got)
		}
		if !w.Until(time.Minute, func() bool { return w.registered(w.hosts[0]) }) {
			t.Error("the host is not registered")
		}
		if got := cloneHost(w); got == "" {
			t.Error("a host that is known is not cloned")
		}
	})
	describeFailure(t, s.Seed, r)
}
