package sbatch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
)

// setter keeps the value of an option. Its error says what is wrong with the value.
type setter = func(o *Options, value string, now time.Time) error

var errEmpty = errors.New("the value is empty")

// text keeps a value as it is.
func text(at func(*Options) *string) setter {
	return func(o *Options, value string, _ time.Time) error {
		if value == "" {
			return errEmpty
		}
		if strings.ContainsAny(value, "\x00\n") {
			return fmt.Errorf("%q has a line end or a zero byte", value)
		}
		*at(o) = value
		return nil
	}
}

// list keeps the parts of a value that commas join.
func list(at func(*Options) *[]string) setter {
	return func(o *Options, value string, _ time.Time) error {
		parts := strings.Split(value, ",")
		for _, part := range parts {
			if part == "" {
				return fmt.Errorf("%q has an empty name: write names that commas join", value)
			}
		}
		*at(o) = parts
		return nil
	}
}

// given keeps that an option was given.
func given(at func(*Options) *bool) setter { return assign(at, true) }

// assign keeps a fixed value of an option without one of its own.
func assign[T any](at func(*Options) *T, v T) setter {
	return func(o *Options, _ string, _ time.Time) error {
		*at(o) = v
		return nil
	}
}

func count(at func(*Options) *int) setter {
	return func(o *Options, value string, _ time.Time) (err error) {
		*at(o), err = form.ParseCount(value, 1)
		return err
	}
}

func memory(at func(*Options) *Memory) setter {
	return func(o *Options, value string, _ time.Time) error {
		mib, err := form.ParseMemory(value)
		*at(o) = Memory{Given: true, MiB: mib}
		return err
	}
}

func gpus(at func(*Options) *GPUs) setter {
	return func(o *Options, value string, _ time.Time) error {
		g, err := form.ParseGPUs(value)
		*at(o) = GPUs{Given: true, GPUs: g}
		return err
	}
}

func nodeNames(at func(*Options) *[]string) setter {
	return func(o *Options, value string, _ time.Time) error {
		if strings.Contains(value, "/") {
			return fmt.Errorf("%q is a file with names, which only --nodefile takes", value)
		}
		names, err := hostlist.Expand(value)
		if err == nil && len(names) == 0 {
			err = errEmpty
		}
		*at(o) = names
		return err
	}
}

// choice returns the number of the word that a value is a beginning of.
func choice(value string, words ...string) (int, error) {
	for i, word := range words {
		if value != "" && strings.HasPrefix(word, strings.ToLower(value)) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%q is not one of: %s", value, strings.Join(words, ", "))
}

func setPriority(o *Options, value string, _ time.Time) error {
	if strings.EqualFold(value, "TOP") {
		o.Priority = "TOP"
		return nil
	}
	n, err := form.ParseCount(value, 0)
	if err != nil {
		return fmt.Errorf("%w, and not TOP", err)
	}
	o.Priority = strconv.Itoa(n)
	return nil
}

func setNice(o *Options, value string, _ time.Time) error {
	const usual, most = 100, 2147483645
	n := usual
	if value != "" {
		var err error
		if n, err = strconv.Atoi(value); err != nil || n > most || n < -most {
			return fmt.Errorf("%q is not a whole number from -%d to %d", value, most, most)
		}
	}
	o.Nice = Nice{Given: true, By: n}
	return nil
}

func setArray(o *Options, value string, _ time.Time) (err error) {
	o.Array, err = form.ParseArray(value)
	return err
}

func setDependency(o *Options, value string, _ time.Time) (err error) {
	o.Dependency, err = form.ParseDependency(value)
	return err
}

func setKillOnBad(o *Options, value string, _ time.Time) error {
	n, err := choice(value, "yes", "no")
	o.KillOnBad = n == 0
	return err
}

func setNodes(o *Options, value string, _ time.Time) (err error) {
	o.Nodes, err = form.ParseNodes(value)
	return err
}

// setTresPerTask reads cpu:8,gres/gpu:a100:2, with = in place of the first colon, too.
func setTresPerTask(o *Options, value string, now time.Time) error {
	for part := range strings.SplitSeq(value, ",") {
		kind, amount, _ := strings.Cut(strings.Replace(part, "=", ":", 1), ":")
		name := strings.TrimPrefix(kind, "gres/")
		var err error
		switch {
		case kind == "cpu":
			err = count(func(o *Options) *int { return &o.CPUsPerTask })(o, amount, now)
		case name == "gpu":
			err = gpus(func(o *Options) *GPUs { return &o.GPUsPerTask })(o, amount, now)
		default:
			err = fmt.Errorf("%q has the resource %q; Berth gives cpu and gres/gpu to tasks", value, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setDistribution(o *Options, value string, _ time.Time) error {
	kind, _, _ := strings.Cut(value, ":")
	kind, _, _ = strings.Cut(kind, ",")
	if size, found := strings.CutPrefix(kind, "plane="); found {
		n, err := form.ParseCount(size, 1)
		o.Distribution = Distribution{Kind: Plane, Plane: n}
		return err
	}
	switch kind {
	case "*", "block":
		o.Distribution = Distribution{}
	case "cyclic":
		o.Distribution = Distribution{Kind: Cyclic}
	default:
		return fmt.Errorf("%q is not one of: block, cyclic, plane=N", value)
	}
	return nil
}

// setNodeInfo reads SOCKETS[:CORES[:THREADS]]; * stands for any number, and of a range the least number counts.
func setNodeInfo(o *Options, value string, _ time.Time) error {
	parts := strings.Split(value, ":")
	to := []*int{&o.Sockets, &o.CoresPerSocket, &o.ThreadsPerCore}
	if len(parts) > len(to) {
		return fmt.Errorf("%q has more than three numbers: write SOCKETS:CORES:THREADS", value)
	}
	for i, part := range parts {
		if part == "*" {
			continue
		}
		least, _, _ := strings.Cut(part, "-")
		n, err := form.ParseCount(least, 1)
		if err != nil {
			return err
		}
		*to[i] = n
	}
	return nil
}

func setExclusive(o *Options, value string, _ time.Time) error {
	switch value {
	case "":
		o.Exclusive = WholeNodes
	case "user":
		o.Exclusive = SameUserNodes
	default:
		return fmt.Errorf("%q is a way to share nodes that Berth does not have: write --exclusive, or --exclusive=user", value)
	}
	return nil
}

func setGres(o *Options, value string, _ time.Time) (err error) {
	o.Gres, err = form.ParseGres(value)
	return err
}

func setConstraint(o *Options, value string, _ time.Time) (err error) {
	o.Constraint, err = form.ParseConstraint(value)
	o.HasConstraint = true
	return err
}

func setPropagate(o *Options, value string, _ time.Time) error {
	o.Propagate = &value
	return nil
}
