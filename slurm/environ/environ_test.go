package environ

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/request"
)

// twoNodes is a job on two nodes with four tasks and a model of its GPUs.
func twoNodes() Job {
	return Job{
		ID: 128, Name: "train", User: "ada", Group: "nlp", UID: 1001, GID: 1002, Account: "nlp", Partition: "main", QOS: "normal", Cluster: "north",
		SubmitDir: "/data/run", SubmitHost: "login1", TmpDir: "/tmp", RankDir: "/scratch/128", Start: 1000, End: 4600, ScriptNodeIP: "192.0.2.1",
		Nodes: []Node{
			{Name: "node1", Tasks: 2, Cores: 16, GPUs: []int{0, 1, 2, 3}},
			{Name: "node2", Tasks: 2, Cores: 16, GPUs: []int{4, 5, 6, 7}, Devices: []string{"GPU-a", "GPU-b", "GPU-c", "GPU-d"}},
		},
		Asked: request.Asked{Tasks: 4, TasksPerNode: 2, CPUsPerTask: 8, GPUsPerNode: "a100:4", MemPerNode: 64000},
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	want := `CUDA_VISIBLE_DEVICES=0,1,2,3
ENVIRONMENT=BATCH
SLURMD_NODENAME=node1
SLURM_CLUSTER_NAME=north
SLURM_CPUS_ON_NODE=16
SLURM_CPUS_PER_TASK=8
SLURM_GPUS_ON_NODE=4
SLURM_GPUS_PER_NODE=a100:4
SLURM_GTIDS=0
SLURM_JOBID=128
SLURM_JOB_ACCOUNT=nlp
SLURM_JOB_CPUS_PER_NODE=16(x2)
SLURM_JOB_END_TIME=4600
SLURM_JOB_GID=1002
SLURM_JOB_GPUS=0,1,2,3
SLURM_JOB_GROUP=nlp
SLURM_JOB_ID=128
SLURM_JOB_NAME=train
SLURM_JOB_NODELIST=node[1-2]
SLURM_JOB_NUM_NODES=2
SLURM_JOB_PARTITION=main
SLURM_JOB_QOS=normal
SLURM_JOB_START_TIME=1000
SLURM_JOB_UID=1001
SLURM_JOB_USER=ada
SLURM_LOCALID=0
SLURM_MEM_PER_NODE=64000
SLURM_NNODES=2
SLURM_NODEID=0
SLURM_NODELIST=node[1-2]
SLURM_NPROCS=4
SLURM_NTASKS=4
SLURM_NTASKS_PER_NODE=2
SLURM_PROCID=0
SLURM_SUBMIT_DIR=/data/run
SLURM_SUBMIT_HOST=login1
SLURM_TASKS_PER_NODE=2(x2)
SLURM_TASK_PID=77
SLURM_TMPDIR=/scratch/128
SLURM_TOPOLOGY_ADDR=node1
SLURM_TOPOLOGY_ADDR_PATTERN=node
TMPDIR=/tmp`
	if got := strings.Join(Batch(twoNodes(), 77), "\n"); got != want {
		t.Errorf("the variables are\n%s\nwant\n%s", got, want)
	}
	if got := Batch(Job{ID: 1}, 0); got != nil {
		t.Errorf("a job without nodes has %q", got)
	}
}

func TestBatchOnlyIfAsked(t *testing.T) {
	t.Parallel()
	j := Job{ID: 9, Nodes: []Node{{Name: "cpu1", Tasks: 1, Cores: 1}}}
	for _, v := range Batch(j, 0) {
		name, value, _ := strings.Cut(v, "=")
		if value == "" || strings.Contains(name, "GPU") || strings.Contains(name, "ARRAY") || strings.Contains(name, "MEM") || strings.Contains(name, "RESTART") ||
			strings.Contains(name, "NTASKS") || name == "CUDA_VISIBLE_DEVICES" || name == "SLURM_CPUS_PER_TASK" || name == "SLURM_TASK_PID" || name == "MASTER_ADDR" {
			t.Errorf("%s is set, and nothing like it was asked for", v)
		}
	}
	j.Restarts = 2
	j.Array = Array{Job: 8, Task: 5, Count: 3, Min: 1, Max: 9, Step: 4}
	j.Asked = request.Asked{
		GPUs: "8", GPUsPerTask: "2", TasksPerGPU: 1, CPUsPerGPU: 6, MemPerCPU: 2000, MemPerGPU: 60000, Constraint: "a100", Dependency: "afterok:3",
		Reservation: "course", Licenses: "m:1", Distribution: "plane", Plane: 2, Export: "NONE", Overcommit: true,
	}
	all := Batch(j, 0)
	for _, want := range []string{
		"SLURM_RESTART_COUNT=2", "SLURM_ARRAY_JOB_ID=8", "SLURM_ARRAY_TASK_ID=5", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN=1",
		"SLURM_ARRAY_TASK_MAX=9", "SLURM_ARRAY_TASK_STEP=4", "SLURM_GPUS=8", "SLURM_GPUS_PER_TASK=2", "SLURM_NTASKS_PER_GPU=1", "SLURM_CPUS_PER_GPU=6",
		"SLURM_MEM_PER_CPU=2000", "SLURM_MEM_PER_GPU=60000", "SLURM_JOB_CONSTRAINTS=a100", "SLURM_JOB_DEPENDENCY=afterok:3",
		"SLURM_JOB_RESERVATION=course", "SLURM_JOB_LICENSES=m:1", "SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=2", "SLURM_EXPORT_ENV=NONE", "SLURM_OVERCOMMIT=1",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is missing in %q", want, all)
		}
	}
	if !slices.IsSorted(all) {
		t.Error("the variables are not sorted")
	}
}

// values returns some variables of a task.
func values(t *testing.T, j Job, s Step, node, local int, names ...string) string {
	t.Helper()
	all, err := Task(j, s, node, local, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		for _, v := range all {
			if value, is := strings.CutPrefix(v, name+"="); is {
				found = append(found, value)
			}
		}
	}
	return strings.Join(found, " ")
}

func TestTask(t *testing.T) {
	t.Parallel()
	j := twoNodes()
	whole := Step{ID: 0, Nodes: []int{0, 1}, Ranks: Distribute([]int{2, 2}, Block, 0), TasksPerNode: 2, CPUsPerTask: 8}
	ids := []string{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS", "SLURMD_NODENAME", "SLURM_STEP_ID", "SLURM_STEPID"}
	if got := values(t, j, whole, 1, 1, ids...); got != "3 1 1 2,3 node2 0 0" {
		t.Errorf("the last task is %q", got)
	}
	counts := []string{
		"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE",
		"SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_NODELIST", "SLURM_LAUNCH_NODE_IPADDR",
	}
	if got := values(t, j, whole, 0, 0, counts...); got != "4 4 2 2 2 2(x2) node[1-2] 2 4 2(x2) node[1-2] 192.0.2.1" {
		t.Errorf("the step of all tasks has %q", got)
	}
	one := Step{ID: 3, Nodes: []int{1}, Ranks: [][]int{{0}}}
	if got := values(t, j, one, 0, 0, counts...); got != "1 1 1 2 1 node2 1 1 1 node[1-2] 192.0.2.1" {
		t.Errorf("a step of one task has %q", got)
	}
	gpus := []string{"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK"}
	if got := values(t, j, whole, 1, 1, gpus...); got != "GPU-a,GPU-b,GPU-c,GPU-d 4,5,6,7 4" {
		t.Errorf("a task sees the GPUs %q", got)
	}
	whole.GPUsPerTask = 2
	if got := values(t, j, whole, 1, 1, gpus...); got != "GPU-c,GPU-d 6,7 4 2" {
		t.Errorf("a task with GPUs of its own sees %q", got)
	}
	if got := values(t, j, whole, 0, 1, gpus...); got != "2,3 2,3 4 2" {
		t.Errorf("a task with GPUs of its own sees %q", got)
	}
	j.Asked.GPUsPerTask = "a100:2"
	if got := values(t, j, whole, 0, 1, "SLURM_GPUS_PER_TASK"); got != "a100:2" {
		t.Errorf("GPUs of a task as they were written: %q", got)
	}
}

func TestTaskDistribution(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ranks       [][]int
		given, asks string
		want        string
	}{
		"one on each node":   {[][]int{{0}, {1}}, "", "", "cyclic"},
		"more than nodes":    {[][]int{{0, 1}, {2}}, "", "", "block"},
		"given to the job":   {[][]int{{0, 2}, {1}}, "", "cyclic", "cyclic"},
		"given to the step":  {[][]int{{0}, {1}}, "plane", "cyclic", "plane"},
		"given, and smaller": {[][]int{{0}, {1}}, "block", "", "block"},
	} {
		j := twoNodes()
		j.Asked.Distribution = c.asks
		s := Step{Nodes: []int{0, 1}, Ranks: c.ranks, Distribution: c.given, Name: "eval"}
		if got := values(t, j, s, 0, 0, "SLURM_DISTRIBUTION", "SLURM_JOB_NAME"); got != c.want+" eval" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTaskErrors(t *testing.T) {
	t.Parallel()
	j := twoNodes()
	s := Step{ID: 1, Nodes: []int{0, 5}, Ranks: [][]int{{0}, {1}}}
	for _, c := range []struct {
		node, local int
		want        string
	}{
		{2, 0, "step 1 has 2 nodes and ranks of 2; there is no node 2"},
		{-1, 0, "step 1 has 2 nodes and ranks of 2; there is no node -1"},
		{0, 1, "step 1 has 1 tasks on its node 0; there is no task 1"},
		{1, 0, "job 128 has 2 nodes; there is no node 5 for step 1"},
	} {
		if _, err := Task(j, s, c.node, c.local, 0); err == nil || err.Error() != c.want {
			t.Errorf("task %d of node %d: %v, want %s", c.local, c.node, err, c.want)
		}
	}
}

func TestDistribute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counts []int
		kind   Kind
		plane  int
		want   string
	}{
		{[]int{2, 2}, Block, 0, "[[0 1] [2 3]]"},
		{[]int{2, 2}, Cyclic, 0, "[[0 2] [1 3]]"},
		{[]int{3, 1}, Cyclic, 0, "[[0 2 3] [1]]"},
		{[]int{4, 4}, Plane, 2, "[[0 1 4 5] [2 3 6 7]]"},
		{[]int{3, 2}, Plane, 2, "[[0 1 4] [2 3]]"},
		{[]int{1, 1}, Plane, 0, "[[0] [1]]"},
		{[]int{0, 2}, Block, 0, "[[] [0 1]]"},
		{nil, Cyclic, 0, "[]"},
	} {
		if got := fmt.Sprint(Distribute(c.counts, c.kind, c.plane)); got != c.want {
			t.Errorf("%v by %d is %s, want %s", c.counts, c.kind, got, c.want)
		}
	}
}
