package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The columns of telemetry are in the order of the list of nodes, as long as both have one layout.
func TestSamplesInColumns(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	var some []model.Sample
	for k := range s.State().NodeGPUs.All() {
		if k.Node == "n2" {
			some = append(some, model.Sample{GPU: k.GPU, Utilization: uint8(10 + len(some)), MemoryUsedMB: 2048, Temperature: 50, PowerWatts: 300})
		}
	}
	s.API.Peer.Telemetry.Put("n2", some)
	var samples wire.Samples
	var nodes wire.Nodes
	s.Do(http.MethodGet, "/gpu/samples", "").Into(&samples)
	s.Do(http.MethodGet, "/nodes", "").Into(&nodes)
	if samples.Layout == "" || samples.Layout != nodes.Layout || samples.GPUs != 10 {
		t.Fatalf("layouts %q and %q, %d GPUs", samples.Layout, nodes.Layout, samples.GPUs)
	}
	i, measured := 0, 0
	for _, n := range nodes.Nodes {
		for _, g := range n.GPUs {
			use, memory, age := samples.UtilizationPercent[i], samples.MemoryUsedGB[i], samples.AgeSeconds[i]
			if (use == nil) != (g.AgeSeconds == nil) || use != nil && (float64(*use) != g.UtilizationPercent || *memory != g.MemoryUsedGB) ||
				(age == nil) != (use == nil) {
				t.Errorf("GPU %d of %s: %+v, in columns %v %v %v", g.Index, n.ID, g, use, memory, age)
			}
			if use != nil {
				measured++
			}
			i++
		}
	}
	if measured == 0 || len(samples.PowerWatts) != i || len(samples.TemperatureCelsius) != i || len(samples.IdleHeldSeconds) != i {
		t.Errorf("%d measured, columns %d %d %d", measured, len(samples.PowerWatts), len(samples.TemperatureCelsius), len(samples.IdleHeldSeconds))
	}
	was := samples.Layout
	s.With(func(c *statetest.Cluster) { c.Node("n0", 1) })
	if s.Do(http.MethodGet, "/gpu/samples", "").Into(&samples); samples.Layout == was || samples.GPUs != 11 || samples.UtilizationPercent[0] != nil {
		t.Errorf("after another node the layout is %s, %+v", samples.Layout, samples)
	}
}

// What a caller can ask for follows from the caller's role and projects.
func TestOptionsOfSubmissions(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Node("n2", 8)
		c.Do(&command.SetNodeLabels{Node: "n1", Changes: "ssd,zone=a"})
		c.Do(&command.SetNodeLabels{Node: "n2", Changes: "zone=b"})
		c.Do(&command.SetUser{User: "ann", Join: []string{"vision"}})
		c.Do(&command.SetUser{User: "bob", Join: []string{"speech"}})
	})
	of := func(token string) (o wire.SubmitOptions) {
		s.Do(http.MethodGet, "/submit/options", "", apitest.As(token)...).Into(&o)
		return o
	}
	mine, all, none := of(apitest.Ann), of(apitest.Operator), of(apitest.Viewer)
	if mine.User != "ann" || !slices.Equal(mine.Projects, []string{"vision"}) || mine.AnyProject || mine.AnyUser || !mine.Submits ||
		mine.MostPriority != 8 {
		t.Errorf("ann: %+v", mine)
	}
	if !all.AnyProject || !slices.Contains(all.Projects, "speech") || !slices.Contains(all.Projects, "vision") || all.MostPriority != model.MaxPriority ||
		none.Submits {
		t.Errorf("an operator: %+v; a viewer: %+v", all, none)
	}
	if len(mine.GPUTypes) != 1 || mine.GPUTypes[0].GPUs != 12 || mine.GPUTypes[0].Free != 12 || mine.GPUTypes[0].Nodes != 2 ||
		mine.MostOnNode != 8 || !slices.Equal(mine.Nodes, []string{"n1", "n2"}) {
		t.Errorf("%+v", mine)
	}
	if len(mine.Labels) != 2 || mine.Labels[0].Key != "ssd" || mine.Labels[0].Nodes != 1 || !slices.Equal(mine.Labels[1].Values, []string{"a", "b"}) {
		t.Errorf("labels %+v", mine.Labels)
	}
	if len(mine.Limits) < 2 || mine.Limits[0].Scope != "cluster" || mine.Limits[1].Name != "ann" ||
		!slices.ContainsFunc(mine.Defaults, func(v wire.SubmitValue) bool { return v.Name == "idle_stop" }) {
		t.Errorf("limits %+v, defaults %+v", mine.Limits, mine.Defaults)
	}
}

// A job names the jobs that wait for it, and those that did.
func TestDependents(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Submit(`{"command": "a"}`)
	s.Submit(`{"command": "b", "dependencies": ["afterok:1"]}`)
	s.Submit(`{"command": "c", "dependencies": ["afterany:1", "afterok:2"]}`)
	if got := s.Detail("/jobs/1").Dependents; len(got) != 2 || got[0].JobID != "2" || got[0].State != "waiting" || got[1].JobID != "3" || got[1].Kind != "afterany" ||
		got[1].JobState != "queued" {
		t.Errorf("%+v", got)
	}
	s.Do(http.MethodDelete, "/queue/1", "")
	if got := s.Detail("/jobs/1").Dependents; len(got) != 2 {
		t.Errorf("after its end %+v", got)
	}
	if got := s.Detail("/jobs/3").Dependents; got != nil {
		t.Errorf("%+v", got)
	}
}

// The description names the role of each operation, and what codes mean in words.
func TestRolesAndWordsInTheDescription(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var doc struct {
		Paths      map[string]map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]map[string]any }
		}
	}
	if err := json.Unmarshal(s.Do(http.MethodGet, "/openapi.json", "").Body, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			rule, known := auth.Find(strings.ToUpper(method), path)
			if role, is := o["x-berth-role"].(string); !known || !is || role != rule.Least.String() {
				t.Errorf("%s %s has the role %v", method, path, o["x-berth-role"])
			}
		}
	}
	own, _ := doc.Paths["/queue/{job_id}"]["delete"]["x-berth-own"].(bool)
	cancel, logs := doc.Paths["/queue/{job_id}"]["delete"], doc.Paths["/orchestrator/stop"]["post"]
	if cancel["x-berth-role"] != "user" || !own || logs["x-berth-role"] != "operator" || logs["x-berth-own"] != nil {
		t.Errorf("cancel %v, stop %v", cancel["x-berth-role"], logs["x-berth-role"])
	}
	words := func(schema, field string) map[string]any {
		w, _ := doc.Components.Schemas[schema].Properties[field]["x-words"].(map[string]any)
		return w
	}
	if words("Job", "reason")["orchestrator_stopped"] == nil || words("Job", "reason")["time_limit"] == nil || words("Blocker", "code")["gpus"] == nil || words("Blocker", "code")["time_limit"] != nil {
		t.Errorf("words of a job %v, of a blocker %v", words("Job", "reason"), words("Blocker", "code"))
	}
}
