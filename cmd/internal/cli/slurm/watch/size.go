package watch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
)

// compress returns names in the form of a list, each once and sorted by their numbers.
func compress(names []string) string {
	names = slices.Clone(names)
	slices.SortFunc(names, byNumber)
	return hostlist.Compress(slices.Compact(names))
}

// byNumber compares names so that node9 comes before node10.
func byNumber(a, b string) int {
	headA, headB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if headA == headB {
		x, errX := strconv.ParseUint(a[len(headA):], 10, 64)
		y, errY := strconv.ParseUint(b[len(headB):], 10, 64)
		if errX == nil && errY == nil && x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return strings.Compare(a, b)
}

// nodes returns the nodes that the job is on, or was on last, in the order of its ranks.
func (r *row) nodes() (names []string) {
	if r.job.Last != nil {
		return r.job.Last.Nodes
	}
	for _, g := range r.job.AllocatedGPUs {
		names = append(names, g.NodeID)
	}
	return unique(append(names, r.job.OnNodes...))
}

// unique returns words, each once, in the order in which they come first.
func unique(words []string) (out []string) {
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// nodeCount returns how many nodes the job has, had or asks for.
func (r *row) nodeCount() int {
	if n := len(r.nodes()); n > 0 {
		return n
	}
	return int(max(r.job.Nodes, 1))
}

// gpus returns how many GPUs the job has or asks for.
func (r *row) gpus() int64 {
	switch {
	case len(r.job.AllocatedGPUs) > 0:
		return int64(len(r.job.AllocatedGPUs))
	case r.job.Granted > 0:
		return r.job.Granted
	}
	return r.job.GPUs
}

// taskCount returns the tasks of the job, for srun.
func (r *row) taskCount() int {
	n := 0
	for _, count := range r.slurm().Counts(r.nodeCount()) {
		n += count
	}
	return max(n, 1)
}

// cpusPerTask returns the cores of a task.
func (r *row) cpusPerTask() int { return max(r.slurm().CPUsPerTask, 1) }

// cpus returns the cores of all nodes: those that the job is limited to, else those of its tasks.
func (r *row) cpus() int64 {
	if r.job.CPUs > 0 {
		return r.job.CPUs * int64(r.nodeCount())
	}
	return int64(r.taskCount() * r.cpusPerTask())
}

// memory returns the memory of each node in MiB; 0: as much as the node has.
func (r *row) memory() int64 {
	if asked := r.slurm().Asked.MemPerNode; asked > 0 {
		return asked
	}
	const mib = 1 << 20
	return int64(math.Ceil(r.job.HostMemory * 1e9 / mib))
}

// model returns the model of GPUs as a word of Slurm's; empty: any.
func (r *row) model() string { return word(r.job.GPUType) }

// word returns the name of a model of GPUs as one word, such as a100 for NVIDIA A100-SXM4-40GB and rtx_4090 for NVIDIA GeForce RTX 4090:
// without makers, sizes of memory and sockets. Empty: there is none, or a choice of several.
func word(model string) string {
	if strings.Contains(model, "|") {
		return ""
	}
	var parts []string
	for _, part := range strings.FieldsFunc(strings.ToLower(model), func(c rune) bool { return c == ' ' || c == '-' || c == '_' }) {
		digit := strings.IndexFunc(part, func(c rune) bool { return c >= '0' && c <= '9' })
		switch {
		case slices.Contains([]string{"nvidia", "tesla", "geforce", "quadro", "amd", "instinct", "radeon", "intel", "graphics", "pcie", "nvl"}, part),
			digit > 0 && slices.Contains([]string{"sxm", "hbm"}, strings.TrimRight(part, "0123456789e")), digit == 0 && strings.HasSuffix(part, "gb"):
			continue
		}
		parts = append(parts, clean(part))
	}
	return strings.Join(parts, "_")
}

// clean replaces signs that Slurm's lists have a meaning for.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.':
			return c
		}
		return '_'
	}, text)
}

// tres returns what the job has or asks for, in the order of scontrol.
func (r *row) tres() string {
	parts := []string{fmt.Sprintf("cpu=%d", r.cpus())}
	if m := r.memory(); m > 0 {
		parts = append(parts, "mem="+form.FormatMemory(m*int64(r.nodeCount())))
	}
	parts = append(parts, fmt.Sprintf("node=%d", r.nodeCount()), fmt.Sprintf("billing=%d", r.cpus()))
	if n := r.gpus(); n > 0 {
		parts = append(parts, fmt.Sprintf("gres/gpu=%d", n))
		if m := r.model(); m != "" {
			parts = append(parts, fmt.Sprintf("gres/gpu:%s=%d", m, n))
		}
	}
	return strings.Join(parts, ",")
}

// sortedTres returns the same, sorted as sacct does.
func (r *row) sortedTres() string {
	parts := strings.Split(r.tres(), ",")
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// gres returns the GPUs of each node in Slurm's form; empty: none.
func (r *row) gres() string {
	n := r.gpus() / int64(r.nodeCount())
	switch m := r.model(); {
	case n == 0:
		return ""
	case m != "":
		return fmt.Sprintf("gres/gpu:%s:%d", m, n)
	default:
		return fmt.Sprintf("gres/gpu:%d", n)
	}
}
