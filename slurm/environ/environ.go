// Package environ forms the variables that Slurm sets for the batch script of a job and for the tasks of its
// steps, as the manual pages of sbatch and srun list them. All functions are pure.
//
//berth:single
package environ

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/request"
)

// Node is a node of a job.
type Node struct {
	Name    string
	Tasks   int      // of the job
	Cores   int      // that the job has there
	GPUs    []int    // numbers of the job's GPUs on the node
	Devices []string // what CUDA_VISIBLE_DEVICES has for each of them; nil: the numbers
}

// Array describes the array that a job is a task of.
type Array struct {
	Job   uint64 // number of the array
	Task  int    // number of the task
	Count int    // tasks in all; 0: the job is no array
	Min   int
	Max   int
	Step  int // distance of the tasks' numbers
}

// Job describes a running job.
type Job struct {
	ID           uint64
	Name         string
	User         string
	Group        string
	UID          int
	GID          int
	Account      string
	Partition    string
	QOS          string
	Cluster      string
	SubmitDir    string
	SubmitHost   string
	Nodes        []Node // the first one runs the script
	Array        Array
	Asked        request.Asked
	GPUsPerTask  int   // GPUs of each task; 0: a task sees all of its node
	Restarts     int   // how often the job was started again
	Start        int64 // seconds since 1970; 0: unknown
	End          int64 // by the time limit; 0: none
	TmpDir       string
	Umask        string // with which it was submitted, in octal; empty: not known
	RankDir      string // the job's own folder on the node, which sites set as SLURM_TMPDIR
	ScriptNodeIP string // address of the first node, for steps
}

// vars collects variables.
type vars map[string]string

// text sets a variable unless the value is empty.
func (v vars) text(name, value string) {
	if value != "" {
		v[name] = value
	}
}

func (v vars) number(name string, n int) { v[name] = strconv.Itoa(n) }

// positive sets a variable if the number is above 0.
func (v vars) positive(name string, n int64) {
	if n > 0 {
		v[name] = strconv.FormatInt(n, 10)
	}
}

// list returns NAME=value, sorted.
func (v vars) list() []string {
	all := make([]string, 0, len(v))
	for name, value := range v { // order-free: sorted below
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

func (j *Job) names() []string {
	names := make([]string, len(j.Nodes))
	for i, n := range j.Nodes {
		names[i] = n.Name
	}
	return names
}

// counts returns a number of each node, compressed as 2(x2),1.
func (j *Job) counts(of func(Node) int) string {
	counts := make([]int, len(j.Nodes))
	for i, n := range j.Nodes {
		counts[i] = of(n)
	}
	return hostlist.CompressCounts(counts)
}

// Tasks returns the number of tasks of all nodes.
func (j *Job) Tasks() int {
	n := 0
	for _, node := range j.Nodes {
		n += node.Tasks
	}
	return n
}

// job sets what the batch script and all tasks have alike.
func (j *Job) job(v vars) {
	id := strconv.FormatUint(j.ID, 10)
	list := hostlist.Compress(j.names())
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_JOBID"} {
		v[name] = id
	}
	v.number("SLURM_JOB_UID", j.UID)
	v.number("SLURM_JOB_GID", j.GID)
	v.number("SLURM_JOB_NUM_NODES", len(j.Nodes))
	v.number("SLURM_NNODES", len(j.Nodes))
	for name, value := range map[string]string{ // order-free: into a map
		"SLURM_JOB_NAME": j.Name, "SLURM_JOB_USER": j.User, "SLURM_JOB_GROUP": j.Group, "SLURM_JOB_ACCOUNT": j.Account,
		"SLURM_JOB_PARTITION": j.Partition, "SLURM_JOB_QOS": j.QOS, "SLURM_CLUSTER_NAME": j.Cluster,
		"SLURM_SUBMIT_DIR": j.SubmitDir, "SLURM_SUBMIT_HOST": j.SubmitHost, "SLURM_JOB_NODELIST": list, "SLURM_NODELIST": list,
		"SLURM_JOB_CPUS_PER_NODE": j.counts(func(n Node) int { return n.Cores }),
		"SLURM_TASKS_PER_NODE":    j.counts(func(n Node) int { return n.Tasks }),
		"TMPDIR":                  j.TmpDir, "SLURM_TMPDIR": j.RankDir, "SLURM_UMASK": j.Umask,
	} {
		v.text(name, value)
	}
	v.positive("SLURM_JOB_START_TIME", j.Start)
	v.positive("SLURM_JOB_END_TIME", j.End)
	v.positive("SLURM_RESTART_COUNT", int64(j.Restarts))
	j.Array.set(v)
	asked(v, &j.Asked)
}

func (a Array) set(v vars) {
	if a.Count == 0 {
		return
	}
	v["SLURM_ARRAY_JOB_ID"] = strconv.FormatUint(a.Job, 10)
	v.number("SLURM_ARRAY_TASK_ID", a.Task)
	v.number("SLURM_ARRAY_TASK_COUNT", a.Count)
	v.number("SLURM_ARRAY_TASK_MIN", a.Min)
	v.number("SLURM_ARRAY_TASK_MAX", a.Max)
	v.number("SLURM_ARRAY_TASK_STEP", max(a.Step, 1))
}

// asked sets what exists only if the submission asked for it.
func asked(v vars, a *request.Asked) {
	for name, n := range map[string]int64{ // order-free: into a map
		"SLURM_NTASKS": int64(a.Tasks), "SLURM_NPROCS": int64(a.Tasks), "SLURM_NTASKS_PER_NODE": int64(a.TasksPerNode),
		"SLURM_NTASKS_PER_GPU": int64(a.TasksPerGPU), "SLURM_CPUS_PER_TASK": int64(a.CPUsPerTask), "SLURM_CPUS_PER_GPU": int64(a.CPUsPerGPU),
		"SLURM_MEM_PER_NODE": a.MemPerNode, "SLURM_MEM_PER_CPU": a.MemPerCPU, "SLURM_MEM_PER_GPU": a.MemPerGPU,
	} {
		v.positive(name, n)
	}
	for name, value := range map[string]string{ // order-free: into a map
		"SLURM_GPUS": a.GPUs, "SLURM_GPUS_PER_NODE": a.GPUsPerNode, "SLURM_GPUS_PER_TASK": a.GPUsPerTask,
		"SLURM_JOB_CONSTRAINTS": a.Constraint, "SLURM_JOB_DEPENDENCY": a.Dependency, "SLURM_JOB_RESERVATION": a.Reservation,
		"SLURM_JOB_LICENSES": a.Licenses, "SLURM_DISTRIBUTION": a.Distribution, "SLURM_EXPORT_ENV": a.Export,
	} {
		v.text(name, value)
	}
	v.positive("SLURM_DIST_PLANESIZE", int64(a.Plane))
	if a.Overcommit {
		v["SLURM_OVERCOMMIT"] = "1"
	}
}

// here sets what belongs to one node of the job.
func (j *Job) here(v vars, node int) {
	n := j.Nodes[node]
	v["SLURMD_NODENAME"] = n.Name
	v["SLURM_TOPOLOGY_ADDR"] = n.Name
	v["SLURM_TOPOLOGY_ADDR_PATTERN"] = "node"
	v.number("SLURM_CPUS_ON_NODE", n.Cores)
	if len(n.GPUs) > 0 {
		v["SLURM_JOB_GPUS"] = numbers(n.GPUs)
		v.number("SLURM_GPUS_ON_NODE", len(n.GPUs))
	}
}

// visible returns CUDA_VISIBLE_DEVICES for some of a node's GPUs.
func (n Node) visible(from, to int) string {
	if len(n.Devices) == len(n.GPUs) {
		return strings.Join(n.Devices[from:to], ",")
	}
	return numbers(n.GPUs[from:to])
}

func numbers(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// Allocation returns the variables of the program that salloc runs outside of the nodes, sorted, each as NAME=value.
func Allocation(j Job) []string {
	v := vars{}
	j.job(v)
	for _, name := range []string{"TMPDIR", "SLURM_TMPDIR", "SLURM_JOB_UID", "SLURM_JOB_GID", "SLURM_JOB_USER", "SLURM_JOB_GROUP", "SLURM_EXPORT_ENV"} {
		delete(v, name) // of the nodes
	}
	return v.list()
}

// Batch returns the variables of the batch script, sorted, each as NAME=value. pid is that of the script's process; 0
// leaves SLURM_TASK_PID out. A job without nodes has none.
func Batch(j Job, pid int) []string {
	if len(j.Nodes) == 0 {
		return nil
	}
	v := vars{"ENVIRONMENT": "BATCH", "SLURM_GTIDS": "0"}
	j.job(v)
	j.here(v, 0)
	for _, name := range []string{"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"} {
		v[name] = "0"
	}
	v.positive("SLURM_TASK_PID", int64(pid))
	v.text("CUDA_VISIBLE_DEVICES", j.Nodes[0].visible(0, len(j.Nodes[0].GPUs)))
	return v.list()
}
