package process

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// kept returns the names of the agent's variables that a job inherits.
func kept() []string { return []string{"HOME", "PATH", "USER", "LANG", "TZ"} }

// inherited returns those variables that are set.
func inherited() (env []string) {
	for _, name := range kept() {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// last returns each variable once, with its last value: of a variable that is given twice some programs take the first value.
func last(env []string) []string {
	seen := make(map[string]bool, len(env))
	out := make([]string, 0, len(env))
	for _, e := range slices.Backward(env) {
		if name, _, _ := strings.Cut(e, "="); !seen[name] {
			seen[name] = true
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

// identity returns the variables that identify a rank:
//
//	BERTH_JOB_ID, BERTH_TASK, BERTH_ARRAY_INDEX   the job; the task's number, twice
//	BERTH_ATTEMPT                                 from 1
//	BERTH_PREEMPTED_COUNT                         attempts before it that were preempted or drained
//	BERTH_NODE, BERTH_USER                        the node and the user
func identity(r *runner.Record) []string {
	return assign(
		"BERTH_JOB_ID", r.Rank.Job.String(),
		"BERTH_TASK", decimal(r.Rank.Task),
		"BERTH_ARRAY_INDEX", decimal(r.Rank.Task),
		"BERTH_ATTEMPT", decimal(r.Rank.N),
		"BERTH_PREEMPTED_COUNT", decimal(r.Job.Preempted),
		"BERTH_NODE", string(r.Job.Node),
		"BERTH_USER", r.Job.Spec.User,
	)
}

// devices returns the variables that select the rank's GPUs: for CUDA by their places in PCI order, as
// programs expect, or parts of GPUs (MIG) by name, since they have no place; and in BERTH_GPU_UUIDS by UUID. A rank
// without GPUs has empty lists, with which CUDA shows no GPU, and asks container runtimes for none.
func devices(gpus []runner.GPU) []string {
	if len(gpus) == 0 {
		return assign("BERTH_GPU_UUIDS", "", "CUDA_DEVICE_ORDER", "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES", "", "NVIDIA_VISIBLE_DEVICES", "void")
	}
	var places, ids []string
	for _, g := range gpus {
		place := decimal(g.Index)
		if strings.HasPrefix(string(g.ID), "MIG-") {
			place = string(g.ID)
		}
		places, ids = append(places, place), append(ids, string(g.ID))
	}
	return assign(
		"BERTH_GPU_UUIDS", strings.Join(ids, ","),
		"CUDA_DEVICE_ORDER", "PCI_BUS_ID",
		"CUDA_VISIBLE_DEVICES", strings.Join(places, ","),
	)
}

// meeting returns the variables by which the ranks of a gang find each other:
//
//	BERTH_NODE_RANK, BERTH_NNODES, BERTH_NODELIST   of how many, and their names
//	NODE_RANK, LOCAL_WORLD_SIZE, NPROC_PER_NODE     the rank, and its GPUs, as launchers call them
//	MASTER_ADDR, MASTER_PORT, WORLD_SIZE            rank 0, at a port that was free there; all GPUs
//	BERTH_GPUS                                      all GPUs, too: a job with min_gpus may have got fewer
//	PET_...                                         the same for torchrun: they are its options'
//	                                                defaults, so that "torchrun train.py" is enough
func meeting(r *runner.Record, gang []model.Mate, port uint16) []string {
	master := model.Mate{Address: "127.0.0.1", Port: port}
	var nodes []string
	for _, m := range gang {
		nodes = append(nodes, string(m.Node))
		if m.Rank == 0 && m.Address != "" {
			master = m
		}
	}
	if len(nodes) == 0 {
		nodes = []string{string(r.Job.Node)}
	}
	rank, count, here := decimal(r.Rank.Rank), strconv.Itoa(len(nodes)), strconv.Itoa(len(r.GPUs))
	return assign(
		"BERTH_NODE_RANK", rank, "NODE_RANK", rank, "PET_NODE_RANK", rank,
		"BERTH_NNODES", count, "PET_NNODES", count,
		"BERTH_NODELIST", strings.Join(nodes, ","),
		"LOCAL_WORLD_SIZE", here, "NPROC_PER_NODE", here, "PET_NPROC_PER_NODE", here,
		"MASTER_ADDR", master.Address, "PET_MASTER_ADDR", master.Address,
		"MASTER_PORT", decimal(uint32(master.Port)), "PET_MASTER_PORT", decimal(uint32(master.Port)),
		"WORLD_SIZE", decimal(r.Job.Spec.GPUs), "BERTH_GPUS", decimal(r.Job.Spec.GPUs),
	)
}

// assign joins alternating names and values to assignments.
func assign(pairs ...string) (env []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, pairs[i]+"="+pairs[i+1])
	}
	return env
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
