package jobs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/filename"
)

// size prints what a job needs: GPUs, cores and memory of each node, and the tasks of a job in Slurm's language.
func (s *details) size(j *wire.Job) {
	s.Line("GPUs", "%s", wants(j))
	if j.CPUs > 0 && j.GPUs > 0 { // else GPUs says so
		s.Line("Cores", "%d on each node", j.CPUs)
	}
	if j.HostMemory > 0 && j.GPUs > 0 {
		s.Line("Memory", "%g GB on each node", j.HostMemory)
	}
	r := j.Slurm
	if r == nil {
		return
	}
	tasks := fmt.Sprintf("%d on each node", max(r.TasksPerNode, 1))
	if r.Tasks > 0 {
		tasks = fmt.Sprintf("%d in all", r.Tasks)
	}
	if r.CPUsPerTask > 0 {
		tasks += fmt.Sprintf(", with %d cores each", r.CPUsPerTask)
	}
	if r.GPUsPerTask > 0 {
		tasks += fmt.Sprintf(", with %d GPUs each", r.GPUsPerTask)
	}
	s.Line("Tasks", "%s", tasks)
	s.Line("Partition", "%s", r.Partition)
	s.Line("QOS", "%s", r.QOS)
}

// files prints the files that a job in Slurm's language writes and reads.
func (s *details) files(j *wire.Job) {
	r := j.Slurm
	if r == nil {
		return
	}
	usual := filename.Default
	if r.Array != "" {
		usual = filename.DefaultArray
	}
	out := cmp.Or(r.Stdout, usual)
	if !strings.HasPrefix(out, "/") {
		out += " in that folder"
	}
	s.Line("Output", "%s", out)
	if c := r.Container; c.Given() {
		s.Line("Image", "%s", cmp.Or(c.Image, "of the container "+c.Name))
	}
	s.Line("Errors", "%s", r.Stderr)
	s.Line("Input", "%s", r.Stdin)
	s.Line("Comment", "%s", r.Comment)
}
