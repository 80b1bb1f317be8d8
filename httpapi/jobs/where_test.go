package jobs_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Where a job may run is written in one way, and told as it was asked for.
func TestSubmitWhere(t *testing.T) {
	s := apitest.New(t)
	got := s.Spec(`{"command":"x","constraint":"zone=a & !spot","nodelist":["gpu[03-04]","gpu01"],"exclude":["b","a"],"gpu_type":"H100|A100","placement":"round-robin"}`)
	if got.Constraint != "!spot,zone=a" || got.Nodelist != "gpu01,gpu03,gpu04" || got.Exclude != "a,b" || got.GPUModel != "A100|H100" || got.Placement != "round_robin" {
		t.Errorf("asks for %+v", got)
	}
	var detail wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&detail)
	if detail.Constraint != "!spot,zone=a" || len(detail.Nodelist) != 3 || len(detail.Exclude) != 2 || detail.GPUType != "A100|H100" || detail.Placement != "round_robin" {
		t.Errorf("told %+v", detail.Job)
	}
	s.Submit(`{"command":"x","constraint":"zone in (a,b)"}`).About("constraint")
	s.Submit(`{"command":"x","placement":"anywhere"}`).About("placement")
	s.Submit(`{"command":"x","nodelist":["n[3-1]"]}`).About("nodelist")
	s.Submit(`{"command":"x","exclude":["a b"]}`).About("exclude")
}

// A node that the cluster does not have is a warning in the answer: it may be a slip, or join later.
func TestUnknownNodesAreToldOf(t *testing.T) {
	s := apitest.New(t)
	warned := func(body string) []string {
		var out wire.Submitted
		s.Submit(body).Into(&out)
		return out.Warnings
	}
	if got := warned(`{"command":"x","exclude":["n9"]}`); len(got) > 0 {
		t.Errorf("while no node is known it is said %q", got)
	}
	s.With(func(c *statetest.Cluster) { c.Node("n1", 3); c.Node("n2", 3) })
	for body, want := range map[string][]string{
		`{"command":"x","exclude":["n2"],"nodelist":["n1"]}`: nil,
		`{"command":"x","exclude":["n9"]}`:                   {"excludes a node that the cluster does not have: n9"},
		`{"command":"x","nodelist":["n[1-3]"],"exclude":["n2","gpu[1-7]"]}`: {
			"names a node that the cluster does not have: n3",
			"excludes nodes that the cluster does not have: gpu1, gpu2, gpu3, gpu4, gpu5 and 2 more",
		},
	} {
		if got := warned(body); !slices.Equal(got, want) {
			t.Errorf("of %s it is said %q, not %q", body, got, want)
		}
	}
	var dry wire.Submitted
	if s.Do(http.MethodPost, "/queue/submit?dry_run=true", `{"command":"x","exclude":["n9"]}`).Into(&dry); len(dry.Warnings) != 1 {
		t.Errorf("of a dry run it is said %q", dry.Warnings)
	}
}

// A job that takes fewer GPUs says how many at least, and shows those that it has.
func TestSubmitFewer(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 3) })
	if got := s.Spec(`{"command":"x","gpu_count":4,"min_gpus":2}`); got.GPUs != 4 || got.MinGPUs != 2 {
		t.Errorf("asks for %+v", got)
	}
	if got := s.Spec(`{"command":"x","gpu_count":2,"min_gpus":2}`); got.MinGPUs != 0 {
		t.Errorf("asks for %+v", got)
	}
	s.Submit(`{"command":"x","gpu_count":2,"min_gpus":3}`).About("min_gpus")
	s.Submit(`{"command":"x","gpu_count":8,"min_gpus":4}`).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	s.With(func(c *statetest.Cluster) { c.Start(c.Place(1)) })
	var detail wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&detail)
	if detail.GPUs != 4 || detail.MinGPUs != 2 || len(detail.AllocatedGPUs) != 3 || detail.Granted != 3 {
		t.Errorf("told %+v", detail.Job)
	}
	s.With(func(c *statetest.Cluster) { c.Exit(model.TaskKey{Job: 1}.Attempt(1), 0) })
	var q wire.Queue
	if s.Do(http.MethodGet, "/queue?ended=1", "").Into(&q); len(q.Ended) != 1 || q.Ended[0].GPUs != 4 || q.Ended[0].Granted != 3 {
		t.Errorf("after its end it is told %+v", q.Ended)
	}
}

// A constraint that no node meets is refused once there are nodes, and taken again as
// soon as a node is labeled.
func TestLabelsDecide(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x","constraint":"zone=a"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 2).Register(func(b *command.Register) { b.Labels = "rack=7,zone=b" })
	})
	s.Submit(`{"command":"x","constraint":"zone=a"}`).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	var done wire.NodeDone
	s.Do(http.MethodPatch, "/nodes/n1/labels", `{"set":{"zone":"a","ssd":""},"remove":["rack"]}`).Into(&done)
	if done.Message != "labeled ssd,zone=a" {
		t.Errorf("it says %+v", done)
	}
	s.Submit(`{"command":"x","constraint":"zone=a,ssd,!rack"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetNodeLabels{Node: "n1", Changes: "ssd-"})
	})
	var nodes wire.Nodes
	s.Do(http.MethodGet, "/nodes", "").Into(&nodes)
	s.Do(http.MethodPatch, "/nodes/n1/labels", `{"remove":["zone","rack"]}`).Into(&done)
	if done.Message != "has no labels" {
		t.Errorf("it says %+v", done)
	}
	if got := nodes.Nodes[0].Labels; !maps.Equal(got, wire.Labels{"zone": "a"}) {
		t.Errorf("the node has %v", got)
	}
	for _, bad := range []string{`{}`, `{"set":{"a b":"c"}}`, `{"set":{"a":"b,c"}}`, `{"set":{"a":"1,b=2"}}`, `{"set":{"a":""},"remove":["a"]}`, `{"remove":["-"]}`} {
		if r := s.Do(http.MethodPatch, "/nodes/n1/labels", bad); r.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", bad, r.Status, r.Body)
		}
	}
	s.Do(http.MethodPatch, "/nodes/n9/labels", `{"set":{"a":"b"}}`).Problem(http.StatusNotFound, wire.CodeNotFound)
}

// The memory of a node's room is in the unit in which jobs ask for memory: a job that asks for all of it fits.
func TestMemoryOfANodeIsInTheUnitOfJobs(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 0) })
	var nodes wire.Nodes
	s.Do(http.MethodGet, "/nodes", "").Into(&nodes)
	room := nodes.Nodes[0].MemoryRoom
	if nodes.Nodes[0].MemoryGB != room {
		t.Errorf("a node without GPUs has %v GB, and room for %v GB", nodes.Nodes[0].MemoryGB, room)
	}
	ask := func(gb float64) *apitest.Reply {
		return s.Do(http.MethodPost, "/queue/submit?dry_run=true", fmt.Sprintf(`{"command":"x","gpu_count":0,"host_memory_gb":%v}`, gb))
	}
	var out wire.Submitted
	if ask(room).Into(&out); out.Job.HostMemory != room {
		t.Errorf("a job that asks for %v GB has %v GB", room, out.Job.HostMemory)
	}
	ask(room+0.001).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
}
