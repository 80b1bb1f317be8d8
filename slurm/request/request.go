// Package request is what a job in Slurm's language asks for beyond the fields that all jobs of Berth have: it is stored with the
// job, shown by Slurm's commands, and given to the job in Slurm's variables. Nothing of it decides where or when the job runs.
//
//berth:single
package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/berth-gpu/berth/slurm/container"
)

// MaxBytes is the largest encoded request.
const MaxBytes = 8 << 10

// Request is a job's request in Slurm's words. A zero field was not given.
type Request struct {
	Partition  string `json:"partition,omitempty" doc:"name of the partition, an entry of the cluster's settings"`
	QOS        string `json:"qos,omitempty" doc:"name of the QOS, an entry of the cluster's settings"`
	Comment    string `json:"comment,omitempty"`
	SubmitHost string `json:"submit_host,omitempty" doc:"name of the machine that it was submitted from"`
	SubmitDir  string `json:"submit_dir,omitempty" doc:"folder that it was submitted from"`
	ScriptName string `json:"script_name,omitempty" doc:"path of the script, as it was given"`

	Array string `json:"array,omitempty" doc:"numbers of the tasks of an array, as written without their bound, such as 1-10:2"`

	Tasks        int `json:"tasks,omitempty" doc:"tasks of all nodes; 0: tasks_per_node on each"`
	TasksPerNode int `json:"tasks_per_node" doc:"the most tasks on one node"`
	CPUsPerTask  int `json:"cpus_per_task,omitempty" doc:"cores of each task"`
	GPUsPerTask  int `json:"gpus_per_task,omitempty" doc:"GPUs that each task sees; 0: all of its node"`

	Stdout   string `json:"stdout,omitempty" doc:"pattern of the file for standard output; empty: slurm-%j.out, of an array slurm-%A_%a.out"`
	Stderr   string `json:"stderr,omitempty" doc:"pattern of the file for standard error; empty: that of standard output"`
	Stdin    string `json:"stdin,omitempty" doc:"pattern of the file for standard input; empty: there is none"`
	Truncate bool   `json:"truncate,omitempty" doc:"output files are emptied when the job starts; otherwise only those of its first attempt are"`
	Append   bool   `json:"append,omitempty" doc:"output files are never emptied"`

	Unlimited bool `json:"unlimited,omitempty" doc:"it asks for no time limit, so that it gets none of its partition; one that allows only some time refuses it"`

	Allocation bool `json:"allocation,omitempty" doc:"it runs steps of srun only, until salloc gives it back; its script is not started"`

	Container *container.Options `json:"container,omitempty" doc:"the image that the script runs in; none: the files of the node"`

	Limits string `json:"limits,omitempty" doc:"soft limits of resources that the script begins with, such as core=unlimited,nofile=65536, each at most the hard limit of the node"`

	SignalSteps bool `json:"signal_steps,omitempty" doc:"the warning ahead of the time limit goes to the tasks of srun, and not to the script"`

	Asked Asked `json:"asked,omitzero" doc:"options as they were written, for variables that exist only with them"`
}

// Asked holds what was asked for, for variables that exist only then. A zero field was not given.
type Asked struct {
	Tasks        int    `json:"ntasks,omitempty" doc:"--ntasks, or what follows from --ntasks-per-node"`
	TasksPerNode int    `json:"ntasks_per_node,omitempty" doc:"--ntasks-per-node"`
	TasksPerGPU  int    `json:"ntasks_per_gpu,omitempty" doc:"--ntasks-per-gpu"`
	CPUsPerTask  int    `json:"cpus_per_task,omitempty" doc:"--cpus-per-task"`
	CPUsPerGPU   int    `json:"cpus_per_gpu,omitempty" doc:"--cpus-per-gpu"`
	GPUs         string `json:"gpus,omitempty" doc:"--gpus, such as a100:4"`
	GPUsPerNode  string `json:"gpus_per_node,omitempty" doc:"--gpus-per-node"`
	GPUsPerTask  string `json:"gpus_per_task,omitempty" doc:"--gpus-per-task"`
	MemPerNode   int64  `json:"mem_per_node,omitempty" doc:"--mem, in MiB"`
	MemPerCPU    int64  `json:"mem_per_cpu,omitempty" doc:"--mem-per-cpu, in MiB"`
	MemPerGPU    int64  `json:"mem_per_gpu,omitempty" doc:"--mem-per-gpu, in MiB"`
	Constraint   string `json:"constraint,omitempty" doc:"--constraint"`
	Dependency   string `json:"dependency,omitempty" doc:"--dependency"`
	Reservation  string `json:"reservation,omitempty" doc:"--reservation"`
	Licenses     string `json:"licenses,omitempty" doc:"--licenses"`
	Distribution string `json:"distribution,omitempty" doc:"--distribution: block, cyclic or plane"`
	Plane        int    `json:"plane,omitempty" doc:"of --distribution=plane=N"`
	Export       string `json:"export,omitempty" doc:"--export"`
	Overcommit   bool   `json:"overcommit,omitempty" doc:"--overcommit"`
}

// UnmarshalJSON reads a request, in which no name may be unknown.
func (r *Request) UnmarshalJSON(data []byte) error {
	type plain Request // without this method
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(r))
}

// Counts returns the tasks of each of so many nodes: as even as can be, the first nodes have one more.
func (r *Request) Counts(nodes int) []int {
	counts := make([]int, max(nodes, 0))
	for i := range counts {
		counts[i] = max(r.TasksPerNode, 1)
		if r.Tasks > 0 {
			counts[i] = r.Tasks / nodes
			if i < r.Tasks%nodes {
				counts[i]++
			}
		}
	}
	return counts
}

// Encode returns the request as text that [Decode] reads. The error says what is invalid.
func (r *Request) Encode() (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	data, err := json.Marshal(r)
	switch {
	case err != nil:
		return "", err
	case len(data) > MaxBytes:
		return "", fmt.Errorf("is of %d bytes; it may have %d", len(data), MaxBytes)
	}
	return string(data), nil
}

// Decode reads what Encode has written. A field that this version does not know is an error.
func Decode(text string) (*Request, error) {
	r := &Request{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// maxNumber bounds the numbers of a request.
const maxNumber = 1 << 20

// Validate returns what is invalid; nil: nothing.
func (r *Request) Validate() error {
	for name, n := range map[string]int{ // order-free: any of several faults will do
		"tasks": r.Tasks, "tasks_per_node": r.TasksPerNode, "cpus_per_task": r.CPUsPerTask, "gpus_per_task": r.GPUsPerTask,
		"asked.ntasks": r.Asked.Tasks, "asked.ntasks_per_node": r.Asked.TasksPerNode, "asked.ntasks_per_gpu": r.Asked.TasksPerGPU,
		"asked.cpus_per_task": r.Asked.CPUsPerTask, "asked.cpus_per_gpu": r.Asked.CPUsPerGPU, "asked.plane": r.Asked.Plane,
	} {
		if n < 0 || n > maxNumber {
			return fmt.Errorf("%s is %d; it may be 0 to %d", name, n, maxNumber)
		}
	}
	for name, text := range map[string]string{ // order-free: any of several faults will do
		"partition": r.Partition, "qos": r.QOS, "comment": r.Comment, "array": r.Array, "submit_host": r.SubmitHost, "submit_dir": r.SubmitDir,
		"script_name": r.ScriptName, "stdout": r.Stdout, "stderr": r.Stderr, "stdin": r.Stdin,
		"asked.gpus": r.Asked.GPUs, "asked.gpus_per_node": r.Asked.GPUsPerNode, "asked.gpus_per_task": r.Asked.GPUsPerTask,
		"asked.constraint": r.Asked.Constraint, "asked.dependency": r.Asked.Dependency, "asked.reservation": r.Asked.Reservation,
		"asked.licenses": r.Asked.Licenses, "asked.distribution": r.Asked.Distribution, "asked.export": r.Asked.Export,
	} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%s must be UTF-8 without NUL", name)
		}
	}
	if r.Container != nil {
		if err := r.Container.Check(); err != nil {
			return fmt.Errorf("container: %w", err)
		}
	}
	return nil
}
