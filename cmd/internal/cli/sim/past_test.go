package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Where tasks may run, and how many GPUs they got of those that they asked for, is played, too.
func TestSimulateHistoryKeepsPlaces(t *testing.T) {
	j := wire.Job{
		User: "ann", Priority: 9, GPUs: 8, Nodes: 4, MinGPUs: 2, Constraint: "zone=a", Nodelist: []string{"n1", "n2"}, Exclude: []string{"n3"}, Placement: "spread",
	}
	got := endedOf(&j, "1", 60, time.Unix(60, 0), 4).Job
	want := simulate.Told{
		Class: model.ClassCritical, Where: model.Where{Constraint: "zone=a", Nodelist: "n1,n2", Exclude: "n3"}, Placement: "spread",
	}
	if got.GPUs != 4 || got.Nodes != 2 || got.Told != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	hosts := alike([]simulate.Host{{Name: "a", GPUs: 2, Labels: "x"}, {Name: "b", GPUs: 4}}, &simulation{Options: simulate.Options{Nodes: 3, GPUs: 8}})
	if want := []simulate.Host{{Name: "a", GPUs: 8, Labels: "x"}, {Name: "b", GPUs: 8}, {Name: "a+1", GPUs: 8, Labels: "x"}}; !slices.Equal(hosts, want) {
		t.Errorf("%+v, not %+v", hosts, want)
	}
}
