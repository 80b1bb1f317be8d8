package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/form"
)

// Layout is what a job needs, as numbers. What is "of a node" holds for NodesMax nodes; if NodesOpen, for one node,
// which then has all tasks and GPUs.
type Layout struct {
	NodesMin  int  // enough
	NodesMax  int  // wanted; as many as NodesMin unless a range was given
	NodesOpen bool // the number of nodes was not given and follows from none: 1 to NodesMax

	Tasks        int  // in all
	TasksGiven   bool // else TasksPerNode on each node, whatever their number
	TasksPerNode int  // the most on one node
	CoresPerTask int
	CoresPerNode int  // the tasks there times CoresPerTask
	CoresGiven   bool // an option for cores or tasks was given; else CoresPerNode is Slurm's one core for each task

	MemoryMiB int64 // of a node; 0: all of it

	GPUs        int    // in all; 0 with AllGPUs
	GPUsPerNode int    // of a node; 0 with AllGPUs
	GPUsPerTask int    // 0: not given, a task sees all GPUs of its node
	AllGPUs     bool   // all GPUs of each node
	Model       string // of the GPUs, as it was written; empty: any
	Profile     string // of parts of divided GPUs; empty: whole GPUs

	WholeNodes bool // no other job on the nodes
	SameUser   bool // no job of another user on the nodes

	Warnings []string // what was corrected, in words
}

// Words returns the words by which Berth finds the model of the GPUs; empty: any.
func (l Layout) Words() string { return form.GPUs{Model: l.Model, Profile: l.Profile}.Words() }

// maxNodes is the largest number of nodes of a job.
const maxNodes = 65_536

// Layout derives what the job needs, as Slurm does: tasks are one a node unless given, cores of a node are its tasks
// times those of a task, without an option for GPUs there are none, and --exclusive without one means all. Fewer tasks than nodes
// lower the number of nodes, with a warning. An error says which options contradict each other.
func (o *Options) Layout() (Layout, error) {
	d := &derivation{o: o, tasks: o.Tasks, perNode: o.TasksPerNode, perNodeBy: "--ntasks-per-node"}
	if n := o.hardwareTasks(); n > 0 {
		d.perNode = n
		d.Warnings = append(d.Warnings, fmt.Sprintf("each node has %d tasks, by the sockets, cores and threads that are asked for; --ntasks sets another number", n))
	}
	for _, step := range []func() error{
		d.readNodes, d.readGPUs, d.tasksOfGPUs, d.nodesOfTasks, d.countTasks, d.countGPUs, d.countCores,
		d.countMemory,
	} {
		if err := step(); err != nil {
			return Layout{}, err
		}
	}
	d.WholeNodes = o.Exclusive == WholeNodes
	d.SameUser = o.Exclusive == SameUserNodes
	return d.Layout, nil
}

// Layout derives what the job needs (see [Options.Layout]). The error says where the option was given.
func (j *Job) Layout() (Layout, error) {
	l, err := j.Options.Layout()
	var e *Error
	if !errors.As(err, &e) || e.Where != "" {
		return l, err
	}
	placed := *e
	for _, g := range among(j.Given, []string{strings.TrimPrefix(e.Option, "--")}) {
		placed.Where = g.Where
	}
	return l, &placed
}

// hardwareTasks returns the tasks of a node that follow from sockets, cores and threads: with --nodes and without
// a number of tasks. Otherwise it returns 0.
func (o *Options) hardwareTasks() int {
	if o.Nodes.Min == 0 || o.Nodes.Min != o.Nodes.Max || o.Tasks+o.TasksPerNode+o.TasksPerGPU > 0 ||
		o.Sockets+o.CoresPerSocket+o.ThreadsPerCore == 0 {
		return 0
	}
	return times(times(max(o.Sockets, 1), max(o.CoresPerSocket, 1)), max(o.ThreadsPerCore, 1))
}

// derivation is a layout in the making.
type derivation struct {
	Layout
	o *Options

	fixed   bool // the number of nodes is known
	tasks   int  // in all; 0: not given
	perNode int  // tasks of each node; 0: not given

	perNodeBy string // the options that perNode comes from

	gpusGiven  bool // some option for GPUs was given
	gpusNode   int  // -1: not given
	gpusTask   int  // -1: not given
	gpusTotal  int  // -1: not given
	nodeOption string
}

// contradiction returns an error of the options' numbers.
func contradiction(option, format string, args ...any) error {
	return &Error{Option: option, Problem: fmt.Sprintf(format, args...)}
}

// times multiplies counts, up to a number that is refused in the end.
func times(a, b int) int {
	if a > 0 && b > form.MaxCount/a {
		return form.MaxCount + 1
	}
	return a * b
}

func over(a, b int) int { return (a + b - 1) / b }

// readNodes takes the number of nodes from --nodes and --nodelist.
func (d *derivation) readNodes() error {
	d.NodesMin, d.NodesMax = d.o.Nodes.Min, d.o.Nodes.Max
	d.fixed = d.NodesMin > 0
	if d.NodesMax > maxNodes {
		return contradiction("--nodes", "%d nodes are more than a job can have, which is %d", d.NodesMax, maxNodes)
	}
	names := slices.Clone(d.o.Nodelist)
	slices.Sort(names)
	n := len(slices.Compact(names))
	switch {
	case n == 0:
		return nil
	case d.fixed && n > d.NodesMax:
		return contradiction("--nodelist", "%d nodes are named and --nodes allows %d: name fewer, or leave out --nodes", n, d.NodesMax)
	case d.fixed && n < d.NodesMin:
		return contradiction("--nodelist", "%d nodes are named and --nodes asks for %d; a job of Berth runs on the named nodes only: "+
			"name all, or leave out --nodelist", n, d.NodesMin)
	}
	d.NodesMin, d.NodesMax, d.fixed = n, n, true
	return nil
}

// nodesOfTasks derives the number of nodes if it was not given.
func (d *derivation) nodesOfTasks() error {
	switch {
	case d.fixed:
		return nil
	case d.tasks > 0 && d.perNode > 0:
		d.NodesMin = over(d.tasks, d.perNode)
	case d.gpusTotal > 0 && d.gpusNode > 0:
		if d.gpusTotal%d.gpusNode != 0 {
			return contradiction("--gpus", "%d GPUs are no multiple of the %d of each node (%s)", d.gpusTotal, d.gpusNode, d.nodeOption)
		}
		d.NodesMin = d.gpusTotal / d.gpusNode
	case d.tasks > 1 || d.gpusTotal > 1 && d.perNode == 0:
		d.NodesMin, d.NodesMax, d.NodesOpen = 1, min(max(d.tasks, d.gpusTotal), maxNodes), true
		if d.tasks > 0 {
			d.NodesMax = min(d.tasks, maxNodes)
		}
		return nil
	default:
		d.NodesMin = 1
	}
	if d.NodesMax = d.NodesMin; d.NodesMax > maxNodes {
		return contradiction("--ntasks", "%d tasks with --ntasks-per-node=%d need %d nodes, more than the %d that a job can have",
			d.tasks, d.perNode, d.NodesMax, maxNodes)
	}
	return nil
}

// countTasks derives the tasks in all and of a node.
func (d *derivation) countTasks() error {
	d.TasksGiven = d.tasks > 0
	if !d.TasksGiven {
		d.TasksPerNode = max(d.perNode, 1)
		d.Tasks = d.TasksPerNode
		if !d.NodesOpen {
			d.Tasks = times(d.TasksPerNode, d.NodesMax)
		}
		return bounded("--ntasks-per-node", "tasks", d.Tasks)
	}
	d.Tasks = d.tasks
	if d.tasks < d.NodesMin {
		if len(d.o.Nodelist) > 0 {
			return contradiction("--ntasks", "%d tasks cannot run on %d nodes (--nodelist): name fewer nodes, or ask for more tasks", d.tasks, d.NodesMin)
		}
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d tasks cannot run on %d nodes (--ntasks, --nodes): the job has %s", d.tasks, d.NodesMin, nodes(d.tasks)))
		d.NodesMin = d.tasks
	}
	d.NodesMax = min(d.NodesMax, d.tasks)
	if !d.NodesOpen && d.perNode > 0 && d.tasks > times(d.perNode, d.NodesMax) {
		return contradiction("--ntasks", "%d tasks do not fit on %s with %d on each (%s): ask for %s, or for more tasks on each",
			d.tasks, nodes(d.NodesMax), d.perNode, d.perNodeBy, nodes(over(d.tasks, d.perNode)))
	}
	d.TasksPerNode = d.tasks
	if !d.NodesOpen {
		d.TasksPerNode = over(d.tasks, d.NodesMax)
	}
	return nil
}

// nodes writes a number of nodes.
func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return strconv.Itoa(n) + " nodes"
}

// bounded refuses a product that is too large.
func bounded(option, what string, n int) error {
	if n > form.MaxCount {
		return contradiction(option, "these are more than %d %s", form.MaxCount, what)
	}
	return nil
}

// countCores derives the cores of a task and of a node.
func (d *derivation) countCores() error {
	o := d.o
	d.CoresGiven = o.CPUsPerTask+o.CPUsPerGPU+o.MinCPUs+o.Tasks+o.TasksPerNode+o.TasksPerGPU > 0
	d.CoresPerTask = max(o.CPUsPerTask, 1)
	d.CoresPerNode = times(d.TasksPerNode, d.CoresPerTask)
	if o.CPUsPerGPU > 0 {
		if d.GPUsPerNode == 0 {
			return contradiction("--cpus-per-gpu", "the job has no number of GPUs that the cores follow from: add --gpus or --gpus-per-node")
		}
		d.CoresPerNode = times(d.GPUsPerNode, o.CPUsPerGPU)
		d.CoresPerTask = max(d.CoresPerNode/d.TasksPerNode, 1)
	}
	d.CoresPerNode = max(d.CoresPerNode, o.MinCPUs)
	return bounded("--cpus-per-task", "cores of a node", d.CoresPerNode)
}

// countMemory derives the memory of a node.
func (d *derivation) countMemory() error {
	o, each, n := d.o, int64(0), 0
	switch {
	case o.Memory.Given:
		d.MemoryMiB = o.Memory.MiB
		return nil
	case o.MemoryPerCPU.Given && o.Exclusive != WholeNodes:
		each, n = o.MemoryPerCPU.MiB, d.CoresPerNode
	case o.MemoryPerGPU.Given && !d.AllGPUs:
		if d.GPUsPerNode == 0 {
			return contradiction("--mem-per-gpu", "the job has no GPU that the memory follows from: add --gpus or --gpus-per-node")
		}
		each, n = o.MemoryPerGPU.MiB, d.GPUsPerNode
	}
	if n > 0 && each > form.MaxMemory/int64(n) {
		return contradiction("--mem", "these are more than %d TiB of memory for a node", form.MaxMemory>>20)
	}
	d.MemoryMiB = each * int64(n)
	return nil
}
