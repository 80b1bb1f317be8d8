package environ

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
)

// Step describes a step of a job: one call of srun.
type Step struct {
	ID           int
	Nodes        []int   // places of its nodes in Job.Nodes, in rising order
	Ranks        [][]int // the ranks on each of its nodes, as [Distribute] returns them
	TasksPerNode int     // --ntasks-per-node of srun, or of the job if srun runs all of it; 0: not given
	CPUsPerTask  int     // --cpus-per-task of srun, or of the job; 0: not given
	GPUsPerTask  int     // GPUs of each task; 0: a task sees all of its node
	Name         string  // --job-name of srun; empty: not given
	Distribution string  // SLURM_DISTRIBUTION; empty: cyclic for at most one task on each node, else block
}

// Kind is a way to number tasks over nodes.
type Kind int

// The ways.
const (
	Block  Kind = iota // node by node
	Cyclic             // in turn
	Plane              // in turn, in blocks
)

// ParseDistribution reads block, cyclic or plane=N; what follows a colon or a comma is about sockets, and * is block. bare accepts plane
// without its size, which is 0 then.
func ParseDistribution(value string, bare bool) (kind Kind, plane int, err error) {
	word, _, _ := strings.Cut(value, ":")
	word, _, _ = strings.Cut(word, ",")
	if size, found := strings.CutPrefix(word, "plane="); found {
		plane, err = form.ParseCount(size, 1)
		return Plane, plane, err
	}
	switch {
	case word == "*" || word == "block":
		return Block, 0, nil
	case word == "cyclic":
		return Cyclic, 0, nil
	case word == "plane" && bare:
		return Plane, 0, nil
	}
	return Block, 0, fmt.Errorf("%q is not one of: block, cyclic, plane=N", value)
}

// Distribute returns the ranks of the tasks on each node, if so many tasks run on each. plane is the size of the
// blocks of Plane, at least 1. Each node's ranks are in rising order.
func Distribute(counts []int, kind Kind, plane int) [][]int {
	ranks := make([][]int, len(counts))
	left, total := make([]int, len(counts)), 0
	for i, n := range counts {
		left[i] = max(n, 0)
		total += left[i]
	}
	block := 1
	switch kind {
	case Block:
		block = total
	case Plane:
		block = max(plane, 1)
	case Cyclic:
	}
	for rank := 0; rank < total; {
		for i := range left {
			n := min(left[i], block)
			for range n {
				ranks[i] = append(ranks[i], rank)
				rank++
			}
			left[i] -= n
		}
	}
	return ranks
}

// Tasks returns the number of tasks of the step.
func (s *Step) Tasks() int {
	n := 0
	for _, ranks := range s.Ranks {
		n += len(ranks)
	}
	return n
}

// Task returns the variables of one task of a step, sorted, each as NAME=value: node is the place of its node in the
// step, local its place among the tasks there, pid its process or 0. The error says which of them the step
// does not have.
func Task(j Job, s Step, node, local, pid int) ([]string, error) {
	if node < 0 || node >= len(s.Nodes) || len(s.Ranks) != len(s.Nodes) {
		return nil, fmt.Errorf("step %d has %d nodes and ranks of %d; there is no node %d", s.ID, len(s.Nodes), len(s.Ranks), node)
	}
	if local < 0 || local >= len(s.Ranks[node]) {
		return nil, fmt.Errorf("step %d has %d tasks on its node %d; there is no task %d", s.ID, len(s.Ranks[node]), node, local)
	}
	place := s.Nodes[node]
	if place < 0 || place >= len(j.Nodes) {
		return nil, fmt.Errorf("job %d has %d nodes; there is no node %d for step %d", j.ID, len(j.Nodes), place, s.ID)
	}
	v := vars{}
	j.job(v)
	j.here(v, place)
	s.set(&j, v)
	v.number("SLURM_NODEID", node)
	v.number("SLURM_PROCID", s.Ranks[node][local])
	v.number("SLURM_LOCALID", local)
	v["SLURM_GTIDS"] = numbers(s.Ranks[node])
	v.positive("SLURM_TASK_PID", int64(pid))
	v.text("SLURM_LAUNCH_NODE_IPADDR", j.ScriptNodeIP)
	gpus := j.Nodes[place].GPUs
	from, to := 0, len(gpus)
	if n := s.GPUsPerTask; n > 0 {
		from, to = min(local*n, len(gpus)), min((local+1)*n, len(gpus))
		if v["SLURM_GPUS_PER_TASK"] == "" {
			v.number("SLURM_GPUS_PER_TASK", n)
		}
	}
	if len(gpus) > 0 {
		v["SLURM_STEP_GPUS"] = numbers(gpus[from:to])
		v["CUDA_VISIBLE_DEVICES"] = j.Nodes[place].visible(from, to)
	}
	return v.list(), nil
}

// set sets what all tasks of a step have alike. It replaces the job's numbers of tasks and nodes.
func (s *Step) set(j *Job, v vars) {
	counts := make([]int, len(s.Ranks))
	names := make([]string, 0, len(s.Nodes))
	for i, ranks := range s.Ranks {
		counts[i] = len(ranks)
	}
	for _, place := range s.Nodes {
		if place >= 0 && place < len(j.Nodes) {
			names = append(names, j.Nodes[place].Name)
		}
	}
	perNode := hostlist.CompressCounts(counts)
	for _, name := range []string{"SLURM_STEP_ID", "SLURM_STEPID"} {
		v[name] = strconv.Itoa(s.ID)
	}
	v.text("SLURM_STEP_NODELIST", hostlist.Compress(names))
	v.number("SLURM_STEP_NUM_NODES", len(s.Nodes))
	v.number("SLURM_STEP_NUM_TASKS", s.Tasks())
	v.text("SLURM_STEP_TASKS_PER_NODE", perNode)
	v.text("SLURM_TASKS_PER_NODE", perNode)
	v.number("SLURM_NNODES", len(s.Nodes))
	v.number("SLURM_NTASKS", s.Tasks())
	v.number("SLURM_NPROCS", s.Tasks())
	v.text("SLURM_JOB_NAME", s.Name)
	v["SLURM_DISTRIBUTION"] = cmp.Or(s.Distribution, j.Asked.Distribution, "block")
	if s.Distribution == "" && j.Asked.Distribution == "" && s.Tasks() <= len(s.Nodes) {
		v["SLURM_DISTRIBUTION"] = "cyclic"
	}
	delete(v, "SLURM_NTASKS_PER_NODE") // that of the script stays, unless the step has one
	v.positive("SLURM_NTASKS_PER_NODE", int64(s.TasksPerNode))
	v.positive("SLURM_CPUS_PER_TASK", int64(s.CPUsPerTask))
}
