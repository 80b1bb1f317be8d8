package node

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
)

// A step's point is the mean of its utilization and power, and the most of its memory
// and temperature; steps without a measurement have none, and neither have points
// that lie outside.
func TestThin(t *testing.T) {
	from := time.Now()
	at := func(s float64) time.Time { return from.Add(time.Duration(s * float64(time.Second))) }
	got := thin([]gpu.Point{
		{At: at(-1), Utilization: 99},
		{At: at(0), Utilization: 10, MemoryUsedMB: 2048, Temperature: -5, PowerWatts: 100},
		{At: at(9.9), Utilization: 20, MemoryUsedMB: 1024, Temperature: -9, PowerWatts: 201},
		{At: at(20), Unmeasured: true, PowerWatts: 7},
		{At: at(30), Utilization: 99},
	}, from, 10*time.Second, 3)
	if len(got) != 2 || got[0].Step != 0 || got[1].Step != 2 {
		t.Fatalf("%+v", got)
	}
	if p := got[0]; *p.UtilizationPercent != 15 || p.MemoryUsedGB != 2 || p.TemperatureCelsius != -5 || p.PowerWatts != 150.5 {
		t.Errorf("%+v, %v", p, *p.UtilizationPercent)
	}
	if p := got[1]; p.UtilizationPercent != nil || p.PowerWatts != 7 {
		t.Errorf("%+v", p)
	}
}

// long is a host with one GPU that has measured as much as is remembered.
type long struct{}

func (long) Warnings() []gpu.Warning { return nil }

func (long) History(since time.Time) (out []gpu.Track) {
	points := make([]gpu.Point, 0, 900)
	for i := range 900 {
		points = append(points, gpu.Point{At: since.Add(time.Duration(i) * time.Second), Utilization: 50})
	}
	return []gpu.Track{{Device: model.Device{ID: "g", Index: 3}, Points: points}, {Device: model.Device{ID: "h"}}}
}

func TestPast(t *testing.T) {
	h := History{Node: "n1", GPUs: long{}}.Past(15*time.Minute, 60)
	if h.Node != "n1" || h.StepSeconds != 15 || h.Steps != 60 || len(h.GPUs) != 2 {
		t.Fatalf("%+v", h)
	}
	if g := h.GPUs[0]; g.UUID != "g" || g.Index != 3 || len(g.Points) != 60 || *g.Points[59].UtilizationPercent != 50 {
		t.Errorf("%+v", g)
	}
	if g := h.GPUs[1]; g.Points == nil || len(g.Points) != 0 {
		t.Errorf("%+v", g)
	}
}
