package intake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/partition"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

// partitions are what a job in Slurm's language gets by its partition and its QOS. Without any a job gets nothing.
type partitions []named

// named is an entry, and how messages call the entry.
type named struct {
	*partition.Entry
	what string
}

// partitionsOf returns the partition and the QOS of a request. A partition that the cluster does not have has the meaning of the default
// one, unless the cluster refuses unknown names.
func partitionsOf(r *request.Request, d *model.Defaults) (p partitions, err error) {
	if r == nil {
		return p, nil
	}
	for _, v := range []struct{ what, text, name string }{{"partition", d.Partitions, r.Partition}, {"QOS", d.QOS, r.QOS}} {
		table, err := partition.Parse(v.text)
		if err != nil {
			return p, fmt.Errorf("the cluster's table of each %s: %w", v.what, err)
		}
		e := partition.Find(table, v.name)
		if e == nil && v.name != "" {
			if d.RefuseUnknown {
				return p, problem.Invalid("slurm", fmt.Sprintf("names the %s %s, which this cluster does not have: use %s", v.what, model.Clip(v.name), namesOf(table)))
			}
			e = partition.Find(table, "")
		}
		if e != nil {
			p = append(p, named{e, v.what + " " + e.Name})
		}
	}
	return p, nil
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

// fill gives a request what it leaves open: the names of the entries that count, a time limit, a priority, and the nodes. A warning ahead
// of a time limit that there is not, or that is shorter, is left out: there is nothing to be warned of.
func (p partitions) fill(r *wire.Submit) {
	if r.Slurm == nil {
		return
	}
	timed := r.TimeLimit != nil || r.TimeLimitS != nil || r.Slurm.Unlimited
	limit := time.Duration(0)
	for _, e := range p {
		p.name(r.Slurm, &e)
		if !timed {
			limit = shorter(limit, e.DefaultTime, e.MaxTime)
		}
		if e.Constraint != "" && !slices.Contains(strings.Split(r.Constraint, ","), e.Constraint) {
			r.Constraint = strings.Trim(r.Constraint+","+e.Constraint, ",")
		}
		if r.Nodes == nil && r.GPUsPerNode == nil && e.MaxNodes == 1 {
			r.Nodes = new(int64(1))
		}
		if r.Priority == nil && e.Class.Valid() {
			r.Priority = new(int64(e.Class))
		}
	}
	if limit > 0 {
		r.TimeLimit = new(wire.Duration(limit))
	}
	if r.TimeLimit == nil && r.TimeLimitS == nil || r.TimeLimit != nil && r.WarnBefore != nil && *r.WarnBefore >= *r.TimeLimit {
		r.WarnSignal, r.WarnBefore = "", nil
	}
}

// name notes which entry counts, where the request names none or several. An unknown name stays as it was given.
func (p partitions) name(r *request.Request, e *named) {
	to := &r.Partition
	if strings.HasPrefix(e.what, "QOS ") {
		to = &r.QOS
	}
	if *to == "" || slices.Contains(strings.Split(*to, ","), e.Name) {
		*to = e.Name
	}
}

// shorter returns the limit of a job without one, after the limit of the entries before: the usual one of an entry, and at most its
// longest.
func shorter(limit, usual, most time.Duration) time.Duration {
	if limit == 0 {
		limit = usual
	}
	if most > 0 && (limit == 0 || limit > most) {
		return most
	}
	return limit
}

// check returns the limit that a job exceeds. A job that leaves the number of its nodes open may get as many as GPUs.
func (p partitions) check(s *model.Spec) error {
	for _, e := range p {
		if err := e.longer(s.TimeLimit); err != nil {
			return err
		}
		nodes := s.Nodes
		if nodes == 0 {
			nodes = max(s.GPUs, 1)
		}
		switch {
		case e.MaxGPUs > 0 && s.GPUs > e.MaxGPUs:
			return problem.Invalid("gpu_count", fmt.Sprintf("must be at most %d, the limit of the %s, and is %d", e.MaxGPUs, e.what, s.GPUs))
		case e.MaxNodes > 0 && s.Nodes > e.MaxNodes:
			return problem.Invalid("nodes", fmt.Sprintf("must be at most %d, the limit of the %s, and is %d", e.MaxNodes, e.what, s.Nodes))
		case e.MaxNodes > 0 && nodes > e.MaxNodes:
			return problem.Invalid("nodes", fmt.Sprintf("must be given, because the %s allows at most %d: such as --nodes=%d", e.what, e.MaxNodes, e.MaxNodes))
		}
	}
	return nil
}

// longer returns an error if a job may not have a time limit.
func (p partitions) longer(limit time.Duration) error {
	for _, e := range p {
		if err := e.longer(limit); err != nil {
			return err
		}
	}
	return nil
}

func (e *named) longer(limit time.Duration) error {
	switch {
	case e.MaxTime == 0:
	case limit == 0:
		return problem.Invalid("time_limit", fmt.Sprintf("must be given, because the %s allows at most %s", e.what, e.MaxTime))
	case limit > e.MaxTime:
		return problem.Invalid("time_limit", fmt.Sprintf("must be at most %s, the limit of the %s, and is %s", e.MaxTime, e.what, limit))
	}
	return nil
}
