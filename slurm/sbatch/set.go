package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// setter keeps the value of an option.
type setter = option.Setter[Options]

var errEmpty = errors.New("the value is empty")

// text keeps a value as it is.
func text(at func(*Options) *string) setter {
	return option.Keep(at, func(value string) (string, error) {
		if value == "" {
			return "", errEmpty
		}
		if strings.ContainsAny(value, "\x00\n") {
			return "", fmt.Errorf("%q has a line end or a zero byte", value)
		}
		return value, nil
	})
}

// list keeps the parts of a value that commas join.
func list(at func(*Options) *[]string) setter {
	return option.Keep(at, func(value string) ([]string, error) {
		parts := strings.Split(value, ",")
		if slices.Contains(parts, "") {
			return nil, fmt.Errorf("%q has an empty name: write names that commas join", value)
		}
		return parts, nil
	})
}

func count(at func(*Options) *int) setter {
	return option.Keep(at, func(value string) (int, error) { return form.ParseCount(value, 1) })
}

func memory(at func(*Options) *Memory) setter {
	return option.Keep(at, func(value string) (Memory, error) {
		mib, err := form.ParseMemory(value)
		return Memory{Given: true, MiB: mib}, err
	})
}

func gpus(at func(*Options) *GPUs) setter {
	return option.Keep(at, func(value string) (GPUs, error) {
		g, err := form.ParseGPUs(value)
		return GPUs{Given: true, GPUs: g}, err
	})
}

func nodeNames(at func(*Options) *[]string) setter {
	return option.Keep(at, func(value string) ([]string, error) {
		if strings.Contains(value, "/") {
			return nil, fmt.Errorf("%q is a file with names, which only --nodefile takes", value)
		}
		names, err := hostlist.Expand(value)
		if err == nil && len(names) == 0 {
			err = errEmpty
		}
		return names, err
	})
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

func setPriority(o *Options, value string) error {
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

func setNice(o *Options, value string) error {
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

func setKillOnBad(o *Options, value string) error {
	n, err := choice(value, "yes", "no")
	o.KillOnBad = n == 0
	return err
}

// setTresPerTask reads cpu:8,gres/gpu:a100:2, with = in place of the first colon, too.
func setTresPerTask(o *Options, value string) error {
	for part := range strings.SplitSeq(value, ",") {
		kind, amount, _ := strings.Cut(strings.Replace(part, "=", ":", 1), ":")
		name := strings.TrimPrefix(kind, "gres/")
		var err error
		switch {
		case kind == "cpu":
			err = count(func(o *Options) *int { return &o.CPUsPerTask })(o, amount)
		case name == "gpu":
			err = gpus(func(o *Options) *GPUs { return &o.GPUsPerTask })(o, amount)
		default:
			err = fmt.Errorf("%q has the resource %q; Berth gives cpu and gres/gpu to tasks", value, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setDistribution(o *Options, value string) (err error) {
	o.Distribution.Kind, o.Distribution.Plane, err = environ.ParseDistribution(value, false)
	return err
}

// setNodeInfo reads SOCKETS[:CORES[:THREADS]]; * stands for any number, and of a range the least number counts.
func setNodeInfo(o *Options, value string) error {
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

func setExclusive(o *Options, value string) error {
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

func setConstraint(o *Options, value string) (err error) {
	o.Constraint, err = form.ParseConstraint(value)
	o.HasConstraint = true
	return err
}
