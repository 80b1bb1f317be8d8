package watch

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/form"
)

// nodes returns the nodes that the job is on, or was on last, in the order of its ranks.
func (r *row) nodes() (names []string) {
	if r.job.Last != nil {
		return r.job.Last.Nodes
	}
	for _, g := range r.job.AllocatedGPUs {
		names = append(names, g.NodeID)
	}
	return words.Unique(append(names, r.job.OnNodes...))
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
	return int64(math.Round(r.job.HostMemory * submit.MiBOfGB))
}

// model returns the model of GPUs as a word of Slurm's; empty: any.
func (r *row) model() string { return words.Model(r.job.GPUType) }

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
