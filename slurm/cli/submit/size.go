package submit

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
)

// size fills in GPUs, nodes, cores and memory.
func (t *translation) size() error {
	if err := t.open(); err != nil {
		return err
	}
	l, r := t.layout, t.out
	r.GPUs, r.GPUType, r.Lead = new(int64(l.GPUs)), l.Words(), new(true)
	if !l.NodesOpen {
		r.Nodes = new(int64(l.NodesMax))
	}
	if l.NodesMin < l.NodesMax && !l.NodesOpen && l.GPUs > 0 {
		r.MinGPUs = new(int64(l.NodesMin * l.GPUsPerNode))
	}
	if l.CoresGiven || l.GPUs == 0 {
		r.CPUs = new(int64(l.CoresPerNode))
	}
	switch {
	case l.MemoryMiB > 0:
		r.HostMemory = new(float64(l.MemoryMiB) / MiBOfGB)
	case l.GPUs == 0 && t.given("mem"):
		t.note("mem", "0 does not stand for all memory of a node in a job without GPUs, which gets the cluster's usual memory for each core")
	}
	if l.WholeNodes {
		t.note("exclusive", "has no effect on other jobs: they may run on the other GPUs and cores of its nodes")
	}
	return nil
}

// MiBOfGB is how many MiB of a job's main memory Berth counts as 1 GB.
const MiBOfGB = 1000

// allGPUs asks for as many GPUs as a node of the cluster has. That is known only here: the number is part of the submission.
func (t *translation) allGPUs() error {
	n, _, err := t.at.Node()
	if err != nil {
		return err
	}
	if n == 0 {
		return t.refuse("exclusive", "asks for all GPUs of each node, and no node of the cluster has GPUs now: add --gpus-per-node=N")
	}
	l := t.layout
	if l.NodesOpen {
		l.NodesOpen, l.NodesMin, l.NodesMax = false, 1, 1
	}
	l.GPUsPerNode, l.GPUs, l.AllGPUs = n, n*l.NodesMax, false
	t.note("exclusive", "asks for %d GPUs of each node, as many as a node of this cluster has", n)
	return nil
}

// open settles what a submission cannot leave open: the GPUs of whole nodes, and the number of nodes of a job without GPUs.
func (t *translation) open() error {
	l := t.layout
	switch {
	case l.AllGPUs:
		return t.allGPUs()
	case l.GPUs > 0:
		return nil
	case l.NodesOpen && l.Tasks > 1:
		_, cores, err := t.at.Node()
		if err != nil {
			return err
		}
		if cores == 0 || l.CoresPerNode <= cores {
			return nil
		}
		perNode := max(cores/max(l.CoresPerTask, 1), 1)
		n := (l.Tasks + perNode - 1) / perNode
		t.note("ntasks", "takes %d nodes, because a node of this cluster has %d cores for jobs without GPUs", n, cores)
		return t.onNodes(n)
	case !l.NodesOpen && l.NodesMin < l.NodesMax:
		t.note("nodes", "a job without GPUs takes the smaller number, %d", l.NodesMin)
		return t.onNodes(l.NodesMin)
	}
	return nil
}

// onNodes derives what the job needs of each node if there are so many.
func (t *translation) onNodes(n int) error {
	o := *t.options
	o.Nodes.Min, o.Nodes.Max = n, n
	l, err := o.Layout()
	t.layout = &l
	return err
}

// where fills in the nodes.
func (t *translation) where() error {
	o := t.options
	t.out.Exclude = o.Exclude
	if err := t.nodelist(); err != nil {
		return err
	}
	if !o.HasConstraint {
		return nil
	}
	words, err := o.Constraint.Berth()
	if err != nil {
		return t.refuse("constraint", "%v", err)
	}
	t.out.Constraint = words
	return nil
}

// nodelist fills in the nodes that the job runs on, also from a file.
func (t *translation) nodelist() error {
	o := t.options
	t.out.Nodelist = o.Nodelist
	if o.NodeFile == "" {
		return nil
	}
	data, err := t.at.Read(o.NodeFile)
	if err != nil {
		return t.refuse("nodefile", "the file cannot be read: %v", err)
	}
	names := slices.Clone(o.Nodelist)
	for word := range strings.FieldsSeq(string(data)) {
		list, err := hostlist.Expand(word)
		if err != nil {
			return t.refuse("nodefile", "%v", err)
		}
		names = append(names, list...)
	}
	t.out.Nodelist = names
	return nil
}

// dependencies fills in the jobs that the job waits for.
func (t *translation) dependencies() error {
	d := &t.options.Dependency
	var list []string
	for _, c := range d.Conditions {
		found, err := t.condition(&c)
		if err != nil {
			return err
		}
		if d.Any && len(found) == 0 {
			return nil // a singleton without earlier jobs of its name holds already
		}
		if d.Any && len(found) > 1 {
			return t.refuse("dependency", "singleton stands for %d jobs, all of which must end: use it with commas in place of ?", len(found))
		}
		list = append(list, found...)
	}
	if d.Any && len(list) > 0 {
		list = []string{strings.Join(list, "?")}
	}
	t.out.Dependencies = append(t.out.Dependencies, list...)
	return nil
}

// condition returns what a condition is in the API.
func (t *translation) condition(c *form.Condition) (list []string, err error) {
	switch {
	case c.Kind == form.Singleton:
		ids, err := t.at.Namesakes(t.out.Name)
		for _, id := range ids {
			list = append(list, (form.Condition{Kind: form.AfterAny, Job: form.JobRef{Job: id}}).String())
		}
		return list, err
	case c.Job.Tasks != nil || c.Job.All || c.Job.Step != "":
		return nil, t.refuse("dependency", "Berth waits for whole jobs: write the number of the job in place of %s", c.Job)
	}
	return []string{c.String()}, nil
}
