package view

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Submit converts a spec to the submission that would give the same spec: the inverse of intake.Submission,
// without the script, the environment and the dependencies.
func Submit(s *model.Spec, throttle uint32) *wire.Submit {
	r := &wire.Submit{
		RunID: s.RunID, Name: s.Name, User: s.User, Project: s.Project, WorkDir: s.WorkDir, Command: s.Command,
		GPUs: Given(s.GPUs), Nodes: orNothing(s.Nodes), MinGPUs: orNothing(s.MinGPUs), CPUs: orNothing(s.CPUs), GPUType: s.GPUModel,
		GPUMemory: inGB(s.GPUMemoryMB), HostMemory: inGB(s.MemoryMB),
		Constraint: s.Constraint, Nodelist: listed(s.Nodelist), Exclude: listed(s.Exclude), Placement: s.Placement,
		Priority: priorityOf(s), TimeLimit: unless0(s.TimeLimit), Estimate: unless0(s.Estimate),
		MaxRetries: Given(s.MaxRetries), RetryOn: codes(s.RetryOn), Preemptible: new(s.Preemptible), Hold: new(s.Held),
		OnLost: s.OnLost.String(), DisconnectGrace: new(wire.Duration(s.DisconnectGrace)), StopSignal: s.StopSignal,
		Grace: new(wire.Duration(s.Grace)), CheckpointSignal: s.CheckpointSignal, CheckpointGrace: new(wire.Duration(s.CheckpointGrace)),
		CheckpointInterval: unless0(s.CheckpointInterval), CheckpointDir: s.CheckpointDir, WarnSignal: s.WarnSignal,
		IdleStop: new(wire.Duration(s.IdleStop)), Attached: unless0(s.Attached), MaxRunning: orNothing(throttle),
		Indices: s.Array, Begin: stamp(s.Begin), Deadline: stamp(s.Deadline),
	}
	if s.Argv {
		r.Command, r.Args = "", strings.Split(s.Command, "\x00")
	}
	if s.WarnSignal != "" {
		r.WarnBefore = new(wire.Duration(s.WarnBefore))
	}
	if s.Sweep != "" {
		r.Indices, r.Params = "", strings.Split(s.Sweep, "\n")
	}
	return r
}

// Given returns a number as a value that is given.
func Given(n uint32) *int64 { return new(int64(n)) }

func orNothing(n uint32) *int64 {
	if n == 0 {
		return nil
	}
	return Given(n)
}

func unless0(d time.Duration) *wire.Duration {
	if d == 0 {
		return nil
	}
	return new(wire.Duration(d))
}

// inGB converts MB to the GB that megabytes converts back to the same.
func inGB(mb uint32) *float64 {
	if mb == 0 {
		return nil
	}
	gb := float64(mb) / 1000
	if math.Ceil(gb*1000) > float64(mb) {
		gb = math.Nextafter(gb, 0)
	}
	return &gb
}

// priorityOf returns the priority as it was given, if it still means the same class.
func priorityOf(s *model.Spec) *int64 {
	if s.Priority > 0 && model.JobClass(s.Priority) == s.Class {
		return Given(uint32(s.Priority))
	}
	return Given(uint32(s.Class))
}

func codes(text string) (out []int64) {
	for _, v := range listed(text) {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil { // the spec was validated
			out = append(out, n)
		}
	}
	return out
}

func stamp(t model.Time) string {
	if t == 0 {
		return ""
	}
	return t.Time().Format(time.RFC3339Nano)
}
