package intake

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/partition"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Partition gives a job in Slurm's language the nodes, limits and priority that its partition and its QOS mean in this cluster. A
// request above a limit is refused.
func Partition(r *wire.Submit, s *model.Spec, set *model.Settings) (err error) {
	if r.Slurm == nil {
		return nil
	}
	timed := s.TimeLimit > 0
	for _, v := range []struct {
		what, text string
		name       *string
	}{{"partition", set.Defaults.Partitions, &r.Slurm.Partition}, {"QOS", set.Defaults.QOS, &r.Slurm.QOS}} {
		table, err := partition.Parse(v.text)
		if err != nil {
			return fmt.Errorf("the cluster's table of each %s: %w", v.what, err)
		}
		e := partition.Find(table, *v.name)
		switch {
		case e == nil && *v.name != "" && set.Defaults.RefuseUnknown:
			return problem.Invalid("slurm", fmt.Sprintf("names the %s %s, which this cluster does not have: use %s", v.what, model.Clip(*v.name), namesOf(table)))
		case e == nil:
			continue
		}
		*v.name = e.Name
		if err := within(r, s, e, timed, v.what+" "+e.Name); err != nil {
			return err
		}
	}
	if s.Slurm, err = r.Slurm.Encode(); err != nil {
		return problem.Invalid("slurm", err.Error())
	}
	return nil
}

// namesOf lists the entries of a table.
func namesOf(table []partition.Entry) string {
	if len(table) == 0 {
		return "none"
	}
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].Name
	}
	return "one of " + strings.Join(names, ", ")
}

// within applies an entry to a job, or returns the limit that the job exceeds. A job is timed if it has a time limit of its own.
func within(r *wire.Submit, s *model.Spec, e *partition.Entry, timed bool, what string) error {
	switch {
	case timed && e.MaxTime > 0 && s.TimeLimit > e.MaxTime:
		return problem.Invalid("time_limit", fmt.Sprintf("must be at most %s, the limit of the %s, and is %s", e.MaxTime, what, s.TimeLimit))
	case e.MaxGPUs > 0 && s.GPUs > e.MaxGPUs:
		return problem.Invalid("gpu_count", fmt.Sprintf("must be at most %d, the limit of the %s, and is %d", e.MaxGPUs, what, s.GPUs))
	case e.MaxNodes > 0 && s.Nodes > e.MaxNodes:
		return problem.Invalid("nodes", fmt.Sprintf("must be at most %d, the limit of the %s, and is %d", e.MaxNodes, what, s.Nodes))
	}
	if s.TimeLimit == 0 {
		s.TimeLimit = cmp.Or(e.DefaultTime, e.MaxTime)
	} else if e.MaxTime > 0 {
		s.TimeLimit = min(s.TimeLimit, e.MaxTime)
	}
	if e.Constraint != "" {
		both, err := model.ParseConstraint(strings.Trim(s.Constraint+","+e.Constraint, ","))
		if err != nil {
			return Named("constraint", err)
		}
		s.Constraint = both.String()
	}
	if r.Priority == nil && e.Class.Valid() {
		s.Class, s.Priority = e.Class, uint8(e.Class)
	}
	return nil
}
