package fleet

import (
	"slices"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Partition is a part of the cluster's nodes under a name.
type Partition struct {
	Name    string
	Default bool
	Nodes   []string // in order
	Limit   float64  // seconds that a job may run; 0: as long as it asks for
	Usual   float64  // the limit of jobs without one, in seconds; 0: Limit

	MaxNodes int64 // of a job; 0: any number
}

// DefaultPartition is the partition of jobs that name none.
const DefaultPartition = "main"

// Partitions returns the partitions of a cluster, in the order of its settings. Without any there is one, with all nodes.
func Partitions(list *wire.Nodes) (all []Partition) {
	for i := range list.Partitions {
		p := &list.Partitions[i]
		all = append(all, Partition{
			Name: p.Name, Default: p.Default, Nodes: p.Nodes, Limit: p.MaxTimeSeconds, Usual: p.DefaultTimeSeconds, MaxNodes: p.MaxNodes,
		})
	}
	if len(all) > 0 {
		return all
	}
	p := Partition{Name: DefaultPartition, Default: true}
	for i := range list.Nodes {
		p.Nodes = append(p.Nodes, list.Nodes[i].ID)
	}
	slices.Sort(p.Nodes)
	return []Partition{p}
}
