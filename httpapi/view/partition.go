package view

import (
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/partition"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

// Partitions returns the partitions and the QOS of jobs in Slurm's language, each with the nodes that have its labels.
func Partitions(s *state.State) (partitions, qos []wire.Partition) {
	d := s.Settings().Defaults
	return partitionsOf(s, d.Partitions), partitionsOf(s, d.QOS)
}

func partitionsOf(s *state.State, text string) (list []wire.Partition) {
	table, _ := partition.Parse(text) // the setting was checked when it was made
	for i := range table {
		e := &table[i]
		p := wire.Partition{
			Name: e.Name, Default: e.Default, Constraint: e.Constraint, MaxTimeSeconds: e.MaxTime.Seconds(),
			DefaultTimeSeconds: e.DefaultTime.Seconds(),
			MaxGPUs:            int64(e.MaxGPUs), MaxNodes: int64(e.MaxNodes), Priority: int64(e.Class),
		}
		sites := model.Where{Constraint: e.Constraint}.Sites()
		for id, n := range s.Nodes.All() {
			if sites.Has(&n) {
				p.Nodes = append(p.Nodes, string(id))
			}
		}
		list = append(list, p)
	}
	return list
}

// unknownPartitions returns a warning about a partition and a QOS that a job names and the cluster does not have.
func unknownPartitions(s *state.State, spec *model.Spec) (out []string) {
	if spec.Slurm == "" {
		return nil
	}
	r, err := request.Decode(spec.Slurm)
	if err != nil {
		return nil
	}
	d := s.Settings().Defaults
	for _, v := range []struct{ what, text, name string }{{"partition", d.Partitions, r.Partition}, {"QOS", d.QOS, r.QOS}} {
		table, err := partition.Parse(v.text)
		if err == nil && v.name != "" && partition.Find(table, v.name) == nil {
			out = append(out, fmt.Sprintf("names the %s %s, which this cluster does not have: the default one counts, if there is one", v.what, strings.ReplaceAll(model.Clip(v.name), ",", ", ")))
		}
	}
	return out
}
