package fleet_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
)

// records returns a node's agent that has a record of each rank.
func records(t *testing.T) string {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := func(key string) uint32 {
			n, _ := strconv.ParseUint(r.URL.Query().Get(key), 10, 32)
			return uint32(n)
		}
		k := model.RankKey{Job: model.JobID(number("job")), Task: number("task"), N: number("attempt"), Rank: number("rank")}
		data, err := agentwire.Encode(&agentwire.Record{Rank: k, Placed: 9, Spec: statetest.Spec(1), Ranks: 1})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(agent.Close)
	return agent.Listener.Addr().String()
}

// A job that is held in the backup goes on with the attempt that runs, as the job of its user. Two attempts of one task are not
// both taken.
func TestAdoptedIsOneAttempt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	address := records(t)
	found := func(n *statetest.Agent, attempt uint32, gpu model.GPUID) {
		n.Register(func(b *command.Register) {
			b.Address = address
			b.Folders = []model.Folder{{
				Rank: model.RankKey{Job: 1, N: attempt}, Incarnation: statetest.Incarnation(1), Running: true,
				GPUs: []model.GPUID{gpu},
			}}
		})
	}
	var n1 *statetest.Agent
	s.With(func(c *statetest.Cluster) {
		n2 := c.Node("n2", 2)
		n1 = c.Node("n1", 2)
		c.Submit(1, func(b *command.Submit) { b.Spec.Held = true })
		c.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
		found(n1, 1, "n1-0")
		found(n2, 2, "n2-0")
	})
	s.Do(http.MethodPost, "/nodes/n1/foreign/adopt", "{}").Problem(http.StatusConflict, model.CodeConflict.String())
	if r := s.Do(http.MethodPost, "/nodes/n1/foreign/kill", "{}"); r.Status != http.StatusOK {
		t.Fatalf("kill: %d %s", r.Status, r.Body)
	}
	s.With(func(*statetest.Cluster) { n1.Clean() })
	if r := s.Do(http.MethodPost, "/nodes/n2/foreign/adopt", "{}"); r.Status != http.StatusOK {
		t.Fatalf("adopt: %d %s", r.Status, r.Body)
	}
	s.With(func(c *statetest.Cluster) {
		task, _ := c.State.Tasks.Get(model.TaskKey{Job: 1})
		if task.State != model.TaskScheduled || task.Attempts != 2 || task.Held {
			t.Errorf("the task is %+v", task)
		}
	})
}
