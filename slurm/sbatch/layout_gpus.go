package sbatch

import (
	"fmt"
	"strconv"

	"github.com/berth-gpu/berth/slurm/form"
)

// readGPUs takes what the options say of GPUs, and their model, which must be one.
func (d *derivation) readGPUs() error {
	o := d.o
	d.gpusNode, d.gpusTask, d.gpusTotal = -1, -1, -1
	d.gpusGiven = o.Gres.None || o.Gres.HasGPU
	if o.GPUsPerSocket.Given && o.Sockets == 0 {
		return contradiction("--gpus-per-socket", "the number of sockets is missing: add --sockets-per-node, or write --gpus-per-node")
	}
	socket := o.GPUsPerSocket
	socket.Count = times(socket.Count, o.Sockets)
	for _, ask := range []struct {
		option string
		gpus   GPUs
		to     *int
	}{
		{"--gres", GPUs{Given: o.Gres.HasGPU, GPUs: o.Gres.GPUs}, &d.gpusNode},
		{"--gpus-per-node", o.GPUsPerNode, &d.gpusNode},
		{"--gpus-per-socket", socket, &d.gpusNode},
		{"--gpus-per-task", o.GPUsPerTask, &d.gpusTask},
		{"--gpus", o.GPUs, &d.gpusTotal},
	} {
		if !ask.gpus.Given {
			continue
		}
		d.gpusGiven = true
		if *ask.to >= 0 && *ask.to != ask.gpus.Count {
			return contradiction(ask.option, "%d GPUs of each node are asked for, and %d by %s: keep one of them", ask.gpus.Count, *ask.to, d.nodeOption)
		}
		if err := d.readModel(ask.option, ask.gpus.GPUs); err != nil {
			return err
		}
		if *ask.to = ask.gpus.Count; ask.to == &d.gpusNode {
			d.nodeOption = ask.option
		}
	}
	return nil
}

// readModel keeps the model of a request.
func (d *derivation) readModel(option string, g form.GPUs) error {
	if g.Model == "" && g.Profile == "" {
		return nil
	}
	if (d.Model != "" || d.Profile != "") && (g.Model != d.Model || g.Profile != d.Profile) {
		return contradiction(option, "GPUs %q are asked for, and %q by another option; a job has one model", form.GPUs{Model: g.Model, Profile: g.Profile, Count: g.Count},
			form.GPUs{Model: d.Model, Profile: d.Profile, Count: g.Count})
	}
	d.Model, d.Profile = g.Model, g.Profile
	return nil
}

// tasksOfGPUs derives tasks from GPUs where their ratio is given.
func (d *derivation) tasksOfGPUs() error {
	if n := d.o.TasksPerGPU; n > 0 {
		return d.tasksPerGPU(n)
	}
	n := d.gpusTask
	if n < 0 {
		return nil
	}
	d.GPUsPerTask = n
	if n == 0 {
		return nil
	}
	if d.gpusTotal >= 0 {
		if d.gpusTotal%n != 0 {
			return contradiction("--gpus-per-task", "%d GPUs (--gpus) are no multiple of %d", d.gpusTotal, n)
		}
		if d.tasks > 0 && d.tasks != d.gpusTotal/n {
			return contradiction("--gpus-per-task", "%d tasks (--ntasks) with %d GPUs each are not the %d of --gpus: leave out one of the three", d.tasks, n, d.gpusTotal)
		}
		d.tasks = d.gpusTotal / n
	}
	if d.gpusNode >= 0 {
		if d.gpusNode%n != 0 {
			return contradiction("--gpus-per-task", "%d GPUs of a node (%s) are no multiple of %d", d.gpusNode, d.nodeOption, n)
		}
		if d.perNode == 0 {
			d.perNode, d.perNodeBy = d.gpusNode/n, d.nodeOption+", --gpus-per-task"
		}
	}
	if d.tasks == 0 && d.perNode == 0 && !d.fixed {
		return contradiction("--gpus-per-task", "the number of tasks is missing: add --ntasks, or --nodes with --ntasks-per-node")
	}
	return nil
}

// tasksPerGPU derives tasks from GPUs, or GPUs from tasks.
func (d *derivation) tasksPerGPU(n int) error {
	const option = "--ntasks-per-gpu"
	switch {
	case d.gpusTotal >= 0:
		tasks := times(d.gpusTotal, n)
		if d.tasks > 0 && d.tasks != tasks {
			return contradiction(option, "%d GPUs (--gpus) with %d tasks each are %d tasks, not %d (--ntasks): leave out one of the three", d.gpusTotal, n, tasks, d.tasks)
		}
		d.tasks = tasks
	case d.gpusNode >= 0:
		d.perNode, d.perNodeBy = times(d.gpusNode, n), d.nodeOption+", "+option
	case d.tasks > 0:
		if d.tasks%n != 0 {
			return contradiction(option, "%d tasks (--ntasks) are no multiple of %d", d.tasks, n)
		}
		d.gpusTotal, d.gpusGiven = d.tasks/n, true
	default:
		return contradiction(option, "the number of GPUs is missing: add --gpus, --gpus-per-node or --ntasks")
	}
	return bounded(option, "tasks", max(d.tasks, d.perNode))
}

// countGPUs derives the GPUs in all and of a node.
func (d *derivation) countGPUs() error {
	if !d.gpusGiven {
		d.AllGPUs = d.o.Exclusive == WholeNodes
		return nil
	}
	switch {
	case d.gpusNode >= 0:
		return d.gpusOfNodes()
	case d.gpusTotal >= 0:
		return d.divide()
	case d.gpusTask > 0:
		return d.gpusOfTasks()
	}
	return nil // none, in words
}

// gpusOfNodes multiplies the GPUs of a node.
func (d *derivation) gpusOfNodes() error {
	d.GPUsPerNode = d.gpusNode
	if d.GPUsPerTask > 0 && times(d.TasksPerNode, d.GPUsPerTask) > d.gpusNode {
		return contradiction("--gpus-per-task", "%d tasks of a node with %d GPUs each need more than its %d (%s)", d.TasksPerNode, d.GPUsPerTask, d.gpusNode, d.nodeOption)
	}
	if d.NodesOpen {
		d.fix(1)
	}
	d.GPUs = times(d.gpusNode, d.NodesMax)
	if d.gpusTotal >= 0 && d.gpusTotal != d.GPUs {
		return contradiction("--gpus", "%d GPUs are not the %d of %d nodes with %d each (%s): leave out one of the three",
			d.gpusTotal, d.GPUs, d.NodesMax, d.gpusNode, d.nodeOption)
	}
	return bounded("--gpus", "GPUs", d.GPUs)
}

// fix sets the number of nodes.
func (d *derivation) fix(nodes int) {
	d.NodesMin, d.NodesMax, d.NodesOpen = nodes, nodes, false
	if d.TasksGiven {
		d.TasksPerNode = over(d.Tasks, nodes)
		return
	}
	d.Tasks = times(d.TasksPerNode, nodes)
}

// divide divides all GPUs evenly among the nodes.
func (d *derivation) divide() error {
	d.GPUs = d.gpusTotal
	if d.NodesOpen {
		d.GPUsPerNode = d.GPUs
		return nil
	}
	for nodes := d.NodesMax; nodes >= d.NodesMin; nodes-- {
		if d.GPUs%nodes != 0 || d.GPUsPerTask > 0 && d.TasksGiven && d.Tasks%nodes != 0 {
			continue
		}
		if nodes != d.NodesMax || d.NodesMin != d.NodesMax {
			d.fix(nodes)
		}
		d.GPUsPerNode = d.GPUs / nodes
		return nil
	}
	return contradiction("--gpus", "%d GPUs cannot be divided evenly among %s nodes; each node of a job has as many: ask for a multiple, or write --gpus-per-node",
		d.GPUs, between(d.NodesMin, d.NodesMax))
}

// between writes a range of numbers.
func between(least, most int) string {
	if least == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// gpusOfTasks multiplies the GPUs of a task.
func (d *derivation) gpusOfTasks() error {
	if !d.NodesOpen && d.TasksGiven && d.Tasks%d.NodesMax != 0 {
		return contradiction("--gpus-per-task", "%d tasks cannot be divided evenly among %d nodes, so that some would have more GPUs than others: "+
			"ask for a multiple of tasks, or leave out --nodes", d.Tasks, d.NodesMax)
	}
	d.GPUs = times(d.Tasks, d.GPUsPerTask)
	d.GPUsPerNode = times(d.TasksPerNode, d.GPUsPerTask)
	return bounded("--gpus-per-task", "GPUs", d.GPUs)
}
