package intake

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Defaults of a job.
const (
	DefaultUser     = auth.Anonymous
	defaultPriority = 2
	defaultGrace    = 30 * time.Second
	defaultWarning  = time.Minute
	// holdFrom is the time limit above which a job that loses contact is held, not started again
	// elsewhere: so much work is not discarded for a lost contact.
	holdFrom = time.Hour
)

// Submission converts a submission to a command: names are resolved and defaults filled in here, before
// the log.
func Submission(r *wire.Submit, now model.Time) (*command.Submit, error) {
	c := &command.Submit{
		Script: r.Script, Stdin: r.Stdin,
		Spec: model.Spec{
			Name: r.Name, User: r.User, Project: r.Project, RunID: r.RunID, Command: r.Command, WorkDir: r.WorkDir,
			CheckpointDir: r.CheckpointDir,
			Held:          r.Hold != nil && *r.Hold,
		},
	}
	if c.Spec.User == "" {
		c.Spec.User = DefaultUser
	}
	for _, fill := range []func(*wire.Submit, *command.Submit) error{signals, program, size, memory, where, times, ends, retries, checkpoints, array, awaited} {
		if err := fill(r, c); err != nil {
			return nil, err
		}
	}
	if err := dates(r, c, now); err != nil {
		return nil, err
	}
	return c, toTell(r, &c.Spec)
}

// program parses what runs: a shell command, or a program with its arguments.
func program(r *wire.Submit, c *command.Submit) error {
	if fault := model.ProgramFault(r.Script); fault != "" {
		return problem.Invalid("script", fault)
	}
	switch {
	case r.Args != nil && r.Command != "":
		return problem.Invalid("args", "must not be given together with command")
	case r.Args != nil:
		for _, a := range r.Args {
			if strings.ContainsRune(a, 0) {
				return problem.Invalid("args", "must not hold NUL")
			}
		}
		if len(r.Args) == 0 || r.Args[0] == "" && r.Script == "" {
			return problem.Invalid("args", "must begin with a program")
		}
		c.Spec.Command, c.Spec.Argv = strings.Join(r.Args, "\x00"), true
	case strings.TrimSpace(r.Command) == "" && r.Script == "":
		return problem.Invalid("command", "must be given, or args, or a script")
	}
	for name, value := range r.Env {
		c.Env = append(c.Env, name+"="+value)
		if strings.Contains(name, "=") {
			return problem.Invalid("env", "must have names of letters, digits and _ that do not begin with a digit")
		}
	}
	slices.SortFunc(c.Env, byName)
	return nil
}

// byName orders "NAME=value" by name, which differs from the order of the texts
// where one name begins another.
func byName(a, b string) int {
	x, _, _ := strings.Cut(a, "=")
	y, _, _ := strings.Cut(b, "=")
	return strings.Compare(x, y)
}

// size parses how many GPUs on how many nodes, given in one of three ways.
func size(r *wire.Submit, c *command.Submit) error {
	s := &c.Spec
	gpus, err := Count("gpu_count", r.GPUs, 1, model.MaxGPUs, 1)
	if err != nil {
		return err
	}
	nodes, err := Count("nodes", r.Nodes, 1, model.MaxRanks, 0)
	if err != nil {
		return err
	}
	each, err := Count("gpus_per_node", r.GPUsPerNode, 1, model.MaxDevices, 0)
	if err != nil {
		return err
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
	if s.CPUs, err = Count("cpus", r.CPUs, 1, 1<<16, 0); err != nil {
		return err
	}
	priority, err := Count("priority", r.Priority, 1, model.MaxPriority, defaultPriority)
	if err != nil {
		return err
	}
	s.Priority = uint8(priority)
	s.Class = model.JobClass(s.Priority)
	s.MaxRetries, err = Count("max_retries", r.MaxRetries, 0, model.MaxRetries, 0)
	return err
}

// memory parses the memory of GPUs, which has two names, and of the host.
func memory(r *wire.Submit, c *command.Submit) (err error) {
	both, err := same("gpu_memory_gb", "memory_gb", r.GPUMemory, r.Memory)
	if err != nil {
		return err
	}
	if c.Spec.GPUMemoryMB, err = megabytes("gpu_memory_gb", both); err != nil {
		return err
	}
	if r.HostMemory != nil && *r.HostMemory == 0 {
		return problem.Invalid("host_memory_gb", "must be more than 0, or be left out for no limit")
	}
	c.Spec.MemoryMB, err = megabytes("host_memory_gb", r.HostMemory)
	return err
}

// times parses the limit and the estimate, which have two names each.
func times(r *wire.Submit, c *command.Submit) error {
	limit, err := Duration("time_limit", "time_limit_seconds", r.TimeLimit, r.TimeLimitS)
	if err != nil {
		return err
	}
	if limit != nil && *limit == 0 {
		return problem.Invalid("time_limit", "must be longer than 0, or be left out for no limit")
	}
	guess, err := Duration("estimated_duration", "estimated_duration_seconds", r.Estimate, r.EstimateS)
	if err != nil {
		return err
	}
	if guess != nil && *guess == 0 {
		return problem.Invalid("estimated_duration", "must be longer than 0; leave it out if the run time is not known")
	}
	c.Spec.TimeLimit, c.Spec.Estimate = Or(limit, 0), Or(guess, 0)
	return nil
}

// ends parses how the job is stopped, and what follows when contact to its node is lost.
func ends(r *wire.Submit, c *command.Submit) error {
	s := &c.Spec
	s.Grace = Or((*time.Duration)(r.Grace), defaultGrace)
	s.CheckpointGrace = Or((*time.Duration)(r.CheckpointGrace), 0)
	s.DisconnectGrace = Or((*time.Duration)(r.DisconnectGrace), model.DefaultDisconnectGrace)
	switch r.OnLost {
	case "requeue":
		s.OnLost = model.OnLostRequeue
	case "hold":
		s.OnLost = model.OnLostHold
	case "fail":
		s.OnLost = model.OnLostFail
	case "":
		s.OnLost = model.OnLostHold
		if s.TimeLimit > 0 && s.TimeLimit <= holdFrom {
			s.OnLost = model.OnLostRequeue
		}
	default:
		return problem.Invalid("on_lost", "must be requeue, hold or fail")
	}
	return nil
}

// retries parses which failures are retried.
func retries(r *wire.Submit, c *command.Submit) error {
	codes := slices.Clone(r.RetryOn)
	slices.Sort(codes)
	var list []string
	for _, v := range slices.Compact(codes) {
		if v < 1 || v > 255 {
			return problem.Invalid("retry_on", "must hold exit codes from 1 to 255")
		}
		list = append(list, strconv.FormatInt(v, 10))
	}
	c.Spec.RetryOn = strings.Join(list, ",")
	return nil
}

// checkpoints parses the signals before an end, and the contact time of an attached client.
func checkpoints(r *wire.Submit, c *command.Submit) error {
	s := &c.Spec
	interval, err := Duration("checkpoint_interval", "checkpoint_interval_seconds", r.CheckpointInterval, r.CheckpointIntervalS)
	if err != nil {
		return err
	}
	s.CheckpointInterval, s.Attached = Or(interval, 0), Or((*time.Duration)(r.Attached), 0)
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

// same returns the one value that is given under two names.
func same[T comparable](name, other string, a, b *T) (*T, error) {
	switch {
	case a == nil:
		return b, nil
	case b != nil && *a != *b:
		return nil, problem.Invalid(other, "is another name of "+name+", and the values differ")
	}
	return a, nil
}

// megabytes converts GB of 1,000 MB, as GPUs are sold, and rounds up; a GPU reports somewhat more
// than its name says.
func megabytes(field string, gb *float64) (uint32, error) {
	const most = 1 << 20 // GB
	switch {
	case gb == nil:
		return 0, nil
	case math.IsNaN(*gb) || *gb < 0 || *gb > most:
		return 0, problem.Invalid(field, "must be 0 to 1048576")
	}
	return uint32(math.Ceil(*gb * 1000)), nil
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
