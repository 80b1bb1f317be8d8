// Package fleet has the nodes and partitions of a cluster as Slurm's programs show them.
package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/format"
)

// State returns the state of a node in Slurm's words.
func State(n *wire.Node, now time.Time) format.NodeState {
	busy := n.Jobs > 0
	switch n.State {
	case "dead":
		return format.NodeDown
	case "cordoned", "draining", "degraded":
		if busy {
			return format.NodeDraining
		}
		return format.NodeDrained
	}
	reserved := false
	for i := range n.Reservations {
		r := &n.Reservations[i]
		if r.Start.After(now) || !r.End.After(now) {
			continue
		}
		if r.Kind == "maintenance" {
			return format.NodeMaint
		}
		reserved = true
	}
	used, free := Use(n)
	switch {
	case used == 0 && reserved:
		return format.NodeReserved
	case used == 0:
		return format.NodeIdle
	case free == 0:
		return format.NodeAllocated
	}
	return format.NodeMixed
}

// Use returns how many GPUs of a node are in use and free, or of a node without GPUs how many cores.
func Use(n *wire.Node) (used, free int64) {
	if n.GPUCount == 0 {
		return n.CPUsHeld, max(n.CPURoom-n.CPUsHeld, 0)
	}
	return max(GPUsInUse(n), min(n.Jobs, 1)), n.FreeGPUs
}

// GPUsInUse returns how many GPUs of a node have a holder.
func GPUsInUse(n *wire.Node) (used int64) {
	for i := range n.GPUs {
		switch n.GPUs[i].State {
		case "allocated", "cleaning", "claimed", "foreign":
			used++
		}
	}
	return used
}

// Silent returns the mark of a node that does not answer, which follows its state.
func Silent(n *wire.Node) string {
	if n.State == "suspect" || n.State == "dead" || n.Gossip == "silent" {
		return "*"
	}
	return ""
}

// Cores returns the cores of a node that jobs hold, that are free, that cannot be used, and all. Jobs with GPUs hold the share of the
// cores that their GPUs are of all.
func Cores(n *wire.Node, now time.Time) (held, idle, other int64) {
	held = n.CPUsHeld
	if n.GPUCount > 0 {
		held += (n.CPUs - n.CPURoom) * GPUsInUse(n) / n.GPUCount
	}
	held = min(held, n.CPUs)
	switch State(n, now) { //nolint:exhaustive // the others take work
	case format.NodeDown, format.NodeDrained, format.NodeDraining, format.NodeMaint:
		return held, 0, n.CPUs - held
	}
	return held, n.CPUs - held, 0
}

// Mebibytes converts GB of main memory, which Berth counts as 1,000 MiB.
func Mebibytes(gb float64) int64 { return int64(math.Round(gb * 1000)) }

// Gres returns the GPUs of a node by their models, such as gpu:h100:8, and how many of each a count finds; empty: none.
func Gres(n *wire.Node, count func(*wire.GPU) bool) (text string) {
	models := map[string]int{}
	for i := range n.GPUs {
		m := words.Model(n.GPUs[i].Type)
		models[m] += 0
		if count(&n.GPUs[i]) {
			models[m]++
		}
	}
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(models)) {
		if m == "" {
			parts = append(parts, fmt.Sprintf("gpu:%d", models[m]))
			continue
		}
		parts = append(parts, fmt.Sprintf("gpu:%s:%d", m, models[m]))
	}
	return strings.Join(parts, ",")
}

// AnyGPU counts each GPU.
func AnyGPU(*wire.GPU) bool { return true }

// UsedGres returns the GPUs that are in use, with their numbers.
func UsedGres(n *wire.Node) string {
	if len(n.GPUs) == 0 {
		return "gpu:0"
	}
	var numbers []string
	inUse := func(g *wire.GPU) bool { return g.State == "allocated" || g.State == "cleaning" }
	for i := range n.GPUs {
		if inUse(&n.GPUs[i]) {
			numbers = append(numbers, strconv.FormatInt(n.GPUs[i].Index, 10))
		}
	}
	return Gres(n, inUse) + "(IDX:" + cmp.Or(strings.Join(numbers, ","), "N/A") + ")"
}

// Features returns the labels of a node.
func Features(n *wire.Node) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		words = append(words, strings.TrimSuffix(key+"="+n.Labels[key], "="))
	}
	return strings.Join(words, ",")
}
