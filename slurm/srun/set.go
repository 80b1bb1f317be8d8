package srun

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// MaxTasks is the largest number of tasks of a step.
const MaxTasks = 1 << 16

// setter keeps the value of an option.
type setter = option.Setter[Options]

func text(at func(*Options) *string) setter {
	return option.Keep(at, func(value string) (string, error) {
		if strings.ContainsRune(value, 0) {
			return "", errors.New("the value has a zero byte")
		}
		return value, nil
	})
}

func count(at func(*Options) *int, least int) setter {
	return option.Keep(at, func(value string) (int, error) {
		n, err := form.ParseCount(value, least)
		if err == nil && n > MaxTasks {
			return 0, fmt.Errorf("%q is more than %d", value, MaxTasks)
		}
		return n, err
	})
}

// exact lets a step hold what it asks for.
func exact(set setter) setter {
	return func(o *Options, value string) error {
		o.Size.Exact = true
		return set(o, value)
	}
}

func seconds(at func(*Options) *int64) setter {
	return option.Keep(at, func(value string) (int64, error) {
		n, err := form.ParseCount(value, 0)
		return int64(time.Duration(n) * time.Second), err
	})
}

func names(at func(*Options) *[]string) setter {
	return option.Keep(at, func(value string) ([]string, error) {
		if strings.Contains(value, "/") {
			return nil, fmt.Errorf("%q is the name of a file; write the names of the nodes, such as gpu[01-04]", value)
		}
		list, err := hostlist.Expand(value)
		if err == nil && len(list) == 0 {
			return nil, errors.New("the list is empty; write the names of nodes, such as gpu[01-04]")
		}
		return list, err
	})
}

func gpus(set func(*Options, int)) setter {
	return func(o *Options, value string) error {
		g, err := form.ParseGPUs(value)
		if err == nil && g.Count > MaxTasks {
			return fmt.Errorf("%q is more than %d", value, MaxTasks)
		}
		set(o, g.Count)
		o.Size.NoGPUs, o.Size.HoldsGPUs, o.Size.Exact = g.Count == 0, true, true
		return err
	}
}

func setGres(o *Options, value string) error {
	g, err := form.ParseGres(value)
	switch {
	case err != nil:
		return err
	case g.None || g.HasGPU && g.GPUs.Count == 0:
		o.Size.NoGPUs = true
	case g.HasGPU:
		o.Size.GPUsPerNode, o.Size.HoldsGPUs, o.Size.Exact = g.GPUs.Count, true, true
	}
	return nil
}

func setDistribution(o *Options, value string) (err error) {
	o.Size.Distributed = true
	o.Size.Kind, o.Size.Plane, err = environ.ParseDistribution(value, true) // the size of planes may be in SLURM_DIST_PLANESIZE
	return err
}

func setOpenMode(o *Options, value string) error {
	switch value {
	case "append", "a":
		o.Files.Append = true
	case "truncate", "t":
		o.Files.Append = false
	default:
		return fmt.Errorf("%q is not one of: append, truncate", value)
	}
	return nil
}

func setJob(o *Options, value string) (err error) {
	o.Job, err = form.ParseJob(value)
	o.JobGiven = true
	return err
}

func setKill(o *Options, value string) error {
	switch value {
	case "", "1":
		o.KillOnBad = true
	case "0":
		o.KillOnBad = false
	default:
		return fmt.Errorf("%q is not one of: 0, 1", value)
	}
	return nil
}

func setImmediate(o *Options, value string) error {
	o.Immediate = -1
	if value == "" || value == "0" {
		return nil
	}
	n, err := form.ParseCount(value, 1)
	o.Immediate = time.Duration(n) * time.Second
	return err
}

func setExport(o *Options, value string) error {
	for word := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(word, "=")
		if strings.ContainsAny(name, "\x00 \t\n") || name == "" && value != "" {
			return fmt.Errorf("%q has %q, which is no name of a variable: write ALL, NONE, or names and NAME=value that commas join", value, name)
		}
	}
	o.Export = value
	return nil
}

// Environment returns the variables of a step's tasks: those of srun's environment that --export names. Variables of Slurm and of Berth
// are always among them.
func Environment(all []string, export string) []string {
	words := strings.Split(export, ",")
	keep := func(string) bool { return true }
	if export != "" && words[0] != "ALL" {
		names := map[string]bool{}
		for _, word := range words {
			names[word] = true
		}
		keep = func(name string) bool {
			return names[name] || strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "BERTH_")
		}
	}
	var out []string
	at := map[string]int{}
	add := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, found := at[name]; found {
			out[i] = pair
			return
		}
		at[name] = len(out)
		out = append(out, pair)
	}
	for _, pair := range all {
		if name, _, has := strings.Cut(pair, "="); has && keep(name) {
			add(pair)
		}
	}
	for _, word := range words {
		if strings.Contains(word, "=") {
			add(word)
		}
	}
	return out
}
