package fleet_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
)

// After a restore jobs are started again once no job can run twice: each node is back, and no job that waits runs on one.
func TestResumeWaitsForNodes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var n *statetest.Agent
	s.With(func(c *statetest.Cluster) {
		n = c.Node("n1", 2)
		n.Register()
		c.Submit(1)
		c.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
	})
	refused := func(path, want string) {
		t.Helper()
		if r := s.Do(http.MethodPost, path, ""); r.Status != http.StatusConflict || !strings.Contains(string(r.Body), want) {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	refused("/cluster/resume", "nodes are not in contact yet")
	s.With(func(*statetest.Cluster) {
		n.Register(func(b *command.Register) {
			b.Folders = []model.Folder{{
				Rank: model.RankKey{Job: 1, N: 1}, Incarnation: statetest.Incarnation(1), Running: true,
				GPUs: []model.GPUID{"n1-0"},
			}}
		})
	})
	refused("/cluster/resume", "1 on node n1")
	s.With(func(c *statetest.Cluster) {
		if set := c.State.Settings(); !set.Standstill {
			t.Error("a refusal has ended the standstill")
		}
	})
	if r := s.Do(http.MethodPost, "/cluster/resume?force=true", ""); r.Status != http.StatusOK {
		t.Fatalf("forced: %d %s", r.Status, r.Body)
	}
	s.With(func(c *statetest.Cluster) {
		if set := c.State.Settings(); set.Standstill {
			t.Error("the standstill lasts")
		}
	})
}
