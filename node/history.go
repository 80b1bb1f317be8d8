package node

import (
	"math"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/nodeapi"
)

// History serves the measurements of a node's GPUs, for package nodeapi.
type History struct {
	Node model.NodeID
	GPUs gpu.History
}

var _ nodeapi.History = History{}

// Past returns the measurements of the GPUs from back ago to now, in that number of steps.
func (h History) Past(back time.Duration, steps int) *wire.NodeHistory {
	from, step := time.Now().Add(-back), back/time.Duration(steps)
	out := &wire.NodeHistory{Node: string(h.Node), From: from, StepSeconds: step.Seconds(), Steps: int64(steps), GPUs: []wire.GPUHistory{}}
	for _, t := range h.GPUs.History(from) {
		out.GPUs = append(out.GPUs, wire.GPUHistory{
			Index: int64(t.Device.Index), UUID: string(t.Device.ID), Points: thin(t.Points, from, step, steps),
		})
	}
	return out
}

// thin merges all measurements of a step into one point. Measurements outside all steps, after a clock was
// set back, are left out.
func thin(points []gpu.Point, from time.Time, step time.Duration, steps int) []wire.GPUPoint {
	sums := make([]sum, steps)
	for _, p := range points {
		since := p.At.Sub(from)
		if at := since / step; since >= 0 && at < time.Duration(steps) {
			sums[at].add(p)
		}
	}
	out := []wire.GPUPoint{}
	for i, s := range sums {
		if s.count > 0 {
			out = append(out, s.point(i))
		}
	}
	return out
}

// sum is the sum of a step's measurements.
type sum struct {
	count, measured    int // points; those with a known utilization
	utilization, power uint64
	memoryMB           uint32
	temperature        int16
}

func (s *sum) add(p gpu.Point) {
	if s.count == 0 {
		s.temperature = p.Temperature
	}
	s.count++
	s.power += uint64(p.PowerWatts)
	s.memoryMB, s.temperature = max(s.memoryMB, p.MemoryUsedMB), max(s.temperature, p.Temperature)
	if !p.Unmeasured {
		s.measured++
		s.utilization += uint64(p.Utilization)
	}
}

func (s *sum) point(step int) wire.GPUPoint {
	p := wire.GPUPoint{
		Step: int64(step), MemoryUsedGB: tenths(float64(s.memoryMB) / 1024), TemperatureCelsius: float64(s.temperature),
		PowerWatts: tenths(float64(s.power) / float64(s.count)),
	}
	if s.measured > 0 {
		mean := tenths(float64(s.utilization) / float64(s.measured))
		p.UtilizationPercent = &mean
	}
	return p
}

// tenths rounds to one digit.
func tenths(v float64) float64 { return math.Round(v*10) / 10 }
