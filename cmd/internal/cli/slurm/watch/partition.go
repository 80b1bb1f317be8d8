package watch

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
}

// defaultPartition is the partition of jobs that name none.
const defaultPartition = "main"

// normalQOS is the QOS of jobs that name none.
const normalQOS = "normal"

// partitions returns the partitions of a cluster: one, with all nodes.
func partitions(nodes []wire.Node) []Partition {
	p := Partition{Name: defaultPartition, Default: true}
	for i := range nodes {
		p.Nodes = append(p.Nodes, nodes[i].ID)
	}
	slices.Sort(p.Nodes)
	return []Partition{p}
}
