package slurm

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exception is a variable that is not compared.
type exception struct{ variable, reason string }

// exceptions returns the variables that are not compared. docs/slurm.md has the same list.
func exceptions() []exception {
	return []exception{
		{"PATH", "Berth puts its own links ahead"},
		{"LANG", "every job of Berth has a locale"},
		{"HOSTNAME", "set by slurmd"},
		{"SLURM_CLUSTER_NAME", "name of the cluster"},
		{"SLURM_CONF", "file of Slurm"},
		{"SLURM_WORKING_CLUSTER", "address of Slurm's controller"},
		{"SLURM_TASK_PID", "number of a process"},
		{"SLURM_SRUN_COMM_HOST", "address of srun, for Slurm's own programs"},
		{"SLURM_SRUN_COMM_PORT", "port of srun, for Slurm's own programs"},
		{"SLURM_STEP_LAUNCHER_PORT", "port of srun, for Slurm's own programs"},
		{"SLURM_JOB_START_TIME", "of newer versions of Slurm"},
		{"SLURM_JOB_END_TIME", "of newer versions of Slurm"},
		{"SLURM_TMPDIR", "not of Slurm, but of many sites"},
		{"SLURM_NODE_ALIASES", "of nodes in a cloud; newer versions of Slurm have removed the variable"},
		{"SLURM_PRIO_PROCESS", "priorities of processes are not passed on to jobs"},
		{"SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0", "of heterogeneous jobs"},
		{"SLURMD_TRES_BIND", "of Slurm's own plug-ins"},
		{"SLURM_GET_USER_ENV", "Berth reads no login files"},
		{"CUDA_DEVICE_ORDER", "Berth numbers GPUs by their bus"},
		{"NVIDIA_VISIBLE_DEVICES", "of containers"},
		{"ROCR_VISIBLE_DEVICES", "the nodes of the test have GPUs of NVIDIA for Berth, and of any maker for Slurm"},
		{"GPU_DEVICE_ORDINAL", "the nodes of the test have GPUs of NVIDIA for Berth, and of any maker for Slurm"},
		{"ZE_AFFINITY_MASK", "the nodes of the test have GPUs of NVIDIA for Berth, and of any maker for Slurm"},
	}
}

// racy are messages of srun and salloc that depend on what has ended in time, that of a daemon about a requeue, which Berth has in the
// timeline, and the one that the job's --ntasks-per-node does not fit a step.
var racy = regexp.MustCompile(`Job allocation [<a-z0-9>]+ has been revoked|step creation temporarily disabled|Step created for|Force Terminated StepId|can't honor --ntasks-per-node|\*\*\* STEP|\*\*\* JOB .* DUE TO JOB REQUEUE`)

var (
	manyTasks = regexp.MustCompile(`^(srun: error: [^:]+: )tasks ([0-9,-]+)(: .*)$`)
	oneRange  = regexp.MustCompile(`^([0-9]+)-([0-9]+)$`)
)

// scriptPath is the path of the script's copy on its node, and stepDaemon begins messages of a daemon with a name, which a Slurm with one
// daemon on each machine does not have.
var (
	scriptPath = regexp.MustCompile(`/\S*/slurm_script`)
	stepDaemon = regexp.MustCompile(`slurmstepd-node[12]:`)
)

// withoutRaces removes messages that depend on what has ended in time.
func withoutRaces(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !racy.MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// messages returns the lines of standard error, sorted, each once, and a line for each task.
func messages(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		kept = append(kept, eachTask(line)...)
	}
	slices.Sort(kept)
	return strings.Join(slices.Compact(kept), "\n")
}

// eachTask returns a message for each task that a message names.
func eachTask(line string) []string {
	m := manyTasks.FindStringSubmatch(line)
	if m == nil {
		return []string{line}
	}
	var out []string
	for part := range strings.SplitSeq(m[2], ",") {
		from, to := part, part
		if r := oneRange.FindStringSubmatch(part); r != nil {
			from, to = r[1], r[2]
		}
		first, _ := strconv.Atoi(from)
		last, _ := strconv.Atoi(to)
		for n := first; n <= last; n++ {
			out = append(out, m[1]+"task "+strconv.Itoa(n)+m[3])
		}
	}
	return out
}

// TestExceptionsAreDocumented checks that docs/slurm.md has each exception with its reason.
func TestExceptionsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/slurm.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exceptions() {
		if row := "| `" + e.variable + "` | " + e.reason + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/slurm.md lacks the row %s", row)
		}
	}
}
