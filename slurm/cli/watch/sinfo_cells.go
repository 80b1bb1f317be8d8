package watch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/fleet"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
)

// nodeGroup is nodes of a partition that are one row; none: the partition has no such node.
type nodeGroup struct {
	partition fleet.Partition
	nodes     []*wire.Node
	state     format.NodeState
	now       time.Time
	version   string // of Berth
}

// key returns what has to be the same for two nodes to be one row.
func (g *nodeGroup) key(columns format.Format, exact bool) string {
	var b strings.Builder
	for _, c := range columns.Columns {
		switch c.Key {
		case "nodes", "nodelist", "cpusstate", "nodeai", "nodeaiot":
			continue
		case "cpus", "memory", "socketcorethread", "sockets":
			if !exact {
				continue
			}
		}
		fmt.Fprintf(&b, "%s\x00", g.cell(c.Key))
	}
	return b.String()
}

// cell returns a column.
func (g *nodeGroup) cell(key string) string {
	if text, known := g.ofPartition(key); known {
		return text
	}
	if len(g.nodes) == 0 {
		switch key {
		case "statecompact", "statelong":
			return "n/a"
		case "nodes", "cpus", "memory":
			return "0"
		case "cpusstate", "nodeaiot":
			return "0/0/0/0"
		case "nodeai":
			return "0/0"
		}
		return ""
	}
	if text, known := g.sums(key); known {
		return text
	}
	return g.ofNode(key)
}

// ofPartition returns a column of the partition.
func (g *nodeGroup) ofPartition(key string) (string, bool) {
	switch key {
	case "partition":
		if g.partition.Default {
			return g.partition.Name + "*", true
		}
		return g.partition.Name, true
	case "partitionname":
		return g.partition.Name, true
	case "available":
		return "up", true
	case "time":
		if g.partition.Limit > 0 {
			return form.FormatShortSpan(seconds(g.partition.Limit)), true
		}
		return "infinite", true
	}
	text, known := map[string]string{
		"defaulttime": "n/a", "size": "1-infinite", "root": "no", "oversubscribe": "NO", "groups": "all", "allocnodes": "all", "prioritytier": "1",
		"priorityjobfactor": "1", "preemptmode": "OFF", "maxcpuspernode": "UNLIMITED", "cluster": clusterName, "version": g.version,
	}[key]
	return text, known
}

// sums returns a column that counts.
func (g *nodeGroup) sums(key string) (string, bool) {
	var names []string
	var held, idle, other, all int64
	nodes := [4]int{} // allocated, idle, other, all
	for _, n := range g.nodes {
		names = append(names, n.ID)
		h, i, o := fleet.Cores(n, g.now)
		held, idle, other, all = held+h, idle+i, other+o, all+n.CPUs
		at := 2
		switch fleet.State(n, g.now) { //nolint:exhaustive // the others take no work
		case format.NodeAllocated, format.NodeMixed:
			at = 0
		case format.NodeIdle:
			at = 1
		}
		nodes[at]++
		nodes[3]++
	}
	switch key {
	case "nodes":
		return strconv.Itoa(len(g.nodes)), true
	case "nodelist":
		return words.Compress(names), true
	case "cpusstate":
		return fmt.Sprintf("%d/%d/%d/%d", held, idle, other, all), true
	case "nodeai":
		return fmt.Sprintf("%d/%d", nodes[0], nodes[1]), true
	case "nodeaiot":
		return fmt.Sprintf("%d/%d/%d/%d", nodes[0], nodes[1], nodes[2], nodes[3]), true
	case "cpus":
		return g.least(func(n *wire.Node) int64 { return n.CPUs }), true
	case "memory":
		return g.least(func(n *wire.Node) int64 { return fleet.Mebibytes(n.MemoryGB) }), true
	case "sockets":
		return g.least(func(n *wire.Node) int64 { return n.CPUs }), true
	case "socketcorethread":
		return g.least(func(n *wire.Node) int64 { return n.CPUs }) + ":1:1", true
	}
	return "", false
}

// least returns the smallest number of the nodes, with + if others have more.
func (g *nodeGroup) least(number func(*wire.Node) int64) string {
	low, high := number(g.nodes[0]), number(g.nodes[0])
	for _, n := range g.nodes {
		low, high = min(low, number(n)), max(high, number(n))
	}
	if high > low {
		return strconv.FormatInt(low, 10) + "+"
	}
	return strconv.FormatInt(low, 10)
}

// ofNode returns a column that is the same for all nodes of the group.
func (g *nodeGroup) ofNode(key string) string {
	n := g.nodes[0]
	switch key {
	case "statecompact":
		return fleet.State(n, g.now).Compact() + fleet.Silent(n)
	case "statelong":
		return string(fleet.State(n, g.now)) + fleet.Silent(n)
	case "gres":
		return cmp.Or(fleet.Gres(n, fleet.AnyGPU), null)
	case "gresused":
		return fleet.UsedGres(n)
	case "features", "features_act":
		return cmp.Or(fleet.Features(n), null)
	case "nodehost":
		return n.ID
	case "nodeaddr":
		return cmp.Or(n.Hostname, n.ID)
	case "reason":
		return cmp.Or(n.Reason, "none")
	case "user", "userlong", "timestamp":
		return "Unknown"
	case "disk", "weight":
		return map[string]string{"disk": "0", "weight": "1"}[key]
	case "cores", "threads":
		return "1"
	}
	return "N/A"
}
