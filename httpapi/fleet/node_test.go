package fleet_test

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestOneNode checks a node by itself: its GPUs, the jobs that run there and none of other nodes, and what users may see of others' jobs.
func TestOneNode(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"secret","gpu_count":2}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","array_size":2}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Start(c.Place(1))
		for i := range uint32(2) {
			c.Start(c.PlaceTask(model.TaskKey{Job: 2, Task: i}))
		}
		c.Node("n2", 2)
	})
	api, err := client.New(client.Options{Addresses: []string{s.URL[len("http://"):]}, Token: apitest.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	n, err := api.Node(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	if n.ID != "n1" || len(n.GPUs) != 4 || n.Jobs != 3 || len(n.Running) != 2 || n.Running[0].ID != "1" || n.Running[1].ID != "2" ||
		n.Running[0].Command != "" {
		t.Errorf("%+v", n)
	}
	if n, err = api.Node(t.Context(), "n2"); err != nil || n.Jobs != 0 || n.Running == nil || len(n.Running) != 0 || n.FreeGPUs != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	var seen wire.NodeDetail
	s.Do(http.MethodGet, "/nodes/n1", "", apitest.As(apitest.Ann)...).Into(&seen)
	if seen.Running[0].Command != "secret" {
		t.Errorf("the owner sees %+v", seen.Running[0])
	}
	s.Do(http.MethodGet, "/nodes/n3", "", apitest.As(apitest.Ann)...).Problem(http.StatusNotFound, wire.CodeNotFound)
}
