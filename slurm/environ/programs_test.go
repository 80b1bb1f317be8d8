package environ

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/hostlist"
)

// found is what a program reads of the variables of its task.
type found struct {
	size, rank, local, node int
	first                   string // host of the coordinator
	port                    int
}

// integers reads variables that must be there as integers.
func integers(env map[string]string, names ...string) (numbers []int, err error) {
	for _, name := range names {
		n, err := strconv.Atoi(env[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// firstHost returns the first host of a list.
func firstHost(list string) (string, error) {
	hosts, err := hostlist.Expand(list)
	if err != nil || len(hosts) == 0 {
		return "", fmt.Errorf("the list of nodes %q: %w", list, err)
	}
	return hosts[0], nil
}

// jaxRule is the detection of jax.distributed.initialize: the class SlurmCluster of jax/_src/clusters/slurm_cluster.py.
func jaxRule(env map[string]string) (f found, err error) {
	n, err := integers(env, "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
	if err != nil {
		return f, err
	}
	list := env["SLURM_STEP_NODELIST"]
	if list == "" {
		list = env["SLURM_JOB_NODELIST"]
	}
	f = found{size: n[1], rank: n[2], local: n[3], port: n[0]%4096 + 65535 - 4096 + 1}
	f.first, err = firstHost(list)
	return f, err
}

// lightningRule is the detection of PyTorch Lightning: the class SLURMEnvironment of
// lightning/fabric/plugins/environments/slurm.py, for so many tasks on each node and so many nodes.
func lightningRule(env map[string]string, devices, nodes int) (f found, err error) {
	if name := env["SLURM_JOB_NAME"]; env["SLURM_NTASKS"] == "" || name == "bash" || name == "interactive" {
		return f, fmt.Errorf("job %q is not taken for one of Slurm", name)
	}
	n, err := integers(env, "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_ID")
	if err != nil {
		return f, err
	}
	if perNode, given := env["SLURM_NTASKS_PER_NODE"]; given && perNode != strconv.Itoa(devices) {
		return f, fmt.Errorf("SLURM_NTASKS_PER_NODE is %s of %d", perNode, devices)
	}
	if env["SLURM_NNODES"] != strconv.Itoa(nodes) {
		return f, fmt.Errorf("SLURM_NNODES is %s of %d", env["SLURM_NNODES"], nodes)
	}
	f = found{size: n[0], rank: n[1], local: n[2], node: n[3], port: n[4]%1000 + 15000}
	f.first, err = firstHost(env["SLURM_NODELIST"])
	return f, err
}

// Programs find the size, the ranks and the first host of a step by its variables.
func TestDetection(t *testing.T) {
	t.Parallel()
	step := Step{Nodes: []int{0, 1}, Ranks: Distribute([]int{2, 2}, Block, 0), TasksPerNode: 2}
	for rank := range 4 {
		node, local := rank/2, rank%2
		all, err := Task(twoNodes(), step, node, local, 0)
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{}
		for _, v := range all {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		want := found{size: 4, rank: rank, local: local, first: "node1", port: 61568}
		if got, err := jaxRule(env); err != nil || got != want {
			t.Errorf("jax finds %+v, %v; want %+v", got, err, want)
		}
		want.node, want.port = node, 15128
		if got, err := lightningRule(env, 2, 2); err != nil || got != want {
			t.Errorf("Lightning finds %+v, %v; want %+v", got, err, want)
		}
	}
}
