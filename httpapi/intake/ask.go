package intake

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Defaults of a job.
const (
	defaultUser     = auth.Anonymous
	defaultPriority = 2
	defaultGrace    = 30 * time.Second
	defaultWarning  = time.Minute
	// HoldFrom is the time limit above which a job that loses contact is held, not started again
	// elsewhere: so much work is not discarded for a lost contact.
	HoldFrom = time.Hour
)

// submission reads a submission, except for what the cluster fills in, see [Prepare].
func submission(r *wire.Submit, now model.Time) (*command.Submit, error) {
	c := &command.Submit{Script: r.Script, Stdin: r.Stdin}
	if err := readAll(r, c, now); err != nil {
		return nil, err
	}
	if c.Spec.User == "" {
		c.Spec.User = defaultUser
	}
	for _, relate := range []func(*wire.Submit, *model.Spec) error{sizes, warnings} {
		if err := relate(r, &c.Spec); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sizes determines how many GPUs on how many nodes, given in one of three ways. Each value is within its bounds.
func sizes(r *wire.Submit, s *model.Spec) (err error) {
	gpus, nodes, each := s.GPUs, s.Nodes, uint32(Or(r.GPUsPerNode, 0))
	if gpus == 0 {
		return withoutGPUs(r, s)
	}
	switch {
	case each == 0:
	case nodes == 0 && r.GPUs != nil && gpus%each != 0:
		return problem.Invalid("gpus_per_node", "must divide gpu_count")
	case nodes == 0 && r.GPUs != nil:
		nodes = gpus / each
	case r.GPUs != nil && gpus != max(nodes, 1)*each:
		return problem.Invalid("gpus_per_node", "times nodes must be gpu_count")
	default:
		nodes = max(nodes, 1)
		gpus = nodes * each
	}
	if nodes > 0 && gpus%nodes != 0 {
		return problem.Invalid("gpu_count", fmt.Sprintf("must be a multiple of nodes (%d), not %d", nodes, gpus))
	}
	s.GPUs, s.Nodes = gpus, nodes
	if s.MinGPUs, err = Count("min_gpus", r.MinGPUs, 1, int64(gpus), 0); err != nil {
		return err
	}
	if s.MinGPUs == gpus { // all GPUs are needed
		s.MinGPUs = 0
	}
	return nil
}

// withoutGPUs checks that a job without GPUs asks for nothing that is about GPUs.
func withoutGPUs(r *wire.Submit, s *model.Spec) error {
	for _, v := range []struct {
		field string
		given bool
	}{
		{"gpus_per_node", r.GPUsPerNode != nil},
		{"min_gpus", r.MinGPUs != nil},
		{"gpu_type", s.GPUModel != ""},
		{"gpu_memory_gb", s.GPUMemoryMB > 0},
		{"idle_stop", r.IdleStop != nil && *r.IdleStop > 0},
		{"preemptible", Or(r.Preemptible, false)},
	} {
		if v.given {
			return problem.Invalid(v.field, "must be left out where gpu_count is 0: it is about the GPUs of a job")
		}
	}
	return nil
}

// warnings determines when the warning signal is sent.
func warnings(r *wire.Submit, s *model.Spec) error {
	switch {
	case s.WarnSignal == "" && r.WarnBefore != nil:
		return problem.Invalid("warn_before", "needs a warn_signal")
	case s.WarnSignal != "" && s.TimeLimit == 0:
		return problem.Invalid("warn_signal", "needs a time_limit")
	case s.WarnSignal != "" && r.WarnBefore != nil && time.Duration(*r.WarnBefore) >= s.TimeLimit:
		return problem.Invalid("warn_before", "must be less than the time_limit, else the warning would come before the start")
	case s.WarnSignal != "":
		s.WarnBefore = Or((*time.Duration)(r.WarnBefore), defaultWarning)
	}
	return nil
}

// Count returns a number within bounds, or a default if none is given.
func Count(field string, v *int64, low, high, none int64) (uint32, error) {
	switch {
	case v == nil:
		return uint32(none), nil
	case *v < low || *v > high:
		return 0, problem.Invalid(field, fmt.Sprintf("must be %d to %d", low, high))
	}
	return uint32(*v), nil
}

// Duration returns a duration that has two names; nil: neither is given.
func Duration(name, other string, d *wire.Duration, s *float64) (*time.Duration, error) {
	if s == nil {
		return (*time.Duration)(d), nil
	}
	v, err := wire.FromSeconds(*s)
	if err != nil {
		return nil, problem.Invalid(other, err.Error())
	}
	return same(name, other, (*time.Duration)(d), &v)
}

// Or returns the value, or another if there is none.
func Or[T any](v *T, none T) T {
	if v == nil {
		return none
	}
	return *v
}
