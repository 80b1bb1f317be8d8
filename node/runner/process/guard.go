package process

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// Guard keeps ranks from devices that are not theirs, by their groups. An agent has one; supervisors have
// none, so that they stay small.
type Guard interface {
	// Possible returns why no group below this one can be kept from devices; nil: it is possible.
	Possible(group string) error
	// Confine keeps a group from GPUs other than these, named by UUID, for as long as the group exists.
	Confine(group string, gpus []string) error
}

func possible(g Guard, groups string) error {
	if groups == "" {
		return errors.New("ranks have no cgroups of version 2")
	}
	return g.Possible(groups)
}

// confine makes the group of a rank and keeps it from devices, before the rank has a supervisor. A rank that
// cannot be kept from them does not start.
func (r *Runner) confine(name string, rec *runner.Record) error {
	if r.o.Devices == nil {
		return nil
	}
	g, err := (&laid{Groups: r.groups}).make(name, cgroup.Limits{})
	if err != nil {
		return err
	}
	ids := make([]string, len(rec.GPUs))
	for i, gpu := range rec.GPUs {
		ids[i] = string(gpu.ID)
	}
	if err := r.o.Devices.Confine(g.Path(), ids); err != nil {
		return errors.Join(fmt.Errorf("keeping the rank from the GPUs of others: %w", err), g.Remove())
	}
	return nil
}
