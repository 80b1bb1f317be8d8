package slurm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// exception is a variable that is not compared.
type exception struct{ variable, reason string }

// exceptions returns the variables that are not compared. docs/slurm.md has the same list.
func exceptions() []exception {
	return []exception{
		{"PATH", "Berth puts its own links ahead"},
		{"HOSTNAME", "set by slurmd"},
		{"SLURM_CLUSTER_NAME", "name of the cluster"},
		{"SLURM_CONF", "file of Slurm"},
		{"SLURM_WORKING_CLUSTER", "address of slurmctld"},
		{"SLURM_TASK_PID", "number of a process"},
		{"SLURM_SRUN_COMM_HOST", "address of srun"},
		{"SLURM_SRUN_COMM_PORT", "port of srun"},
		{"SLURM_STEP_LAUNCHER_PORT", "port of srun"},
	}
}

// racy are messages of srun that depend on what has ended in time.
var racy = regexp.MustCompile(`step creation temporarily disabled|Step created for|Force Terminated StepId|\*\*\* STEP`)

var (
	manyTasks = regexp.MustCompile(`^(srun: error: [^:]+: )tasks ([0-9,-]+)(: .*)$`)
	oneRange  = regexp.MustCompile(`^([0-9]+)-([0-9]+)$`)
)

// messages returns the lines of standard error, sorted, a line for each task.
func messages(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if racy.MatchString(line) {
			continue
		}
		kept = append(kept, eachTask(line)...)
	}
	slices.Sort(kept)
	return strings.Join(kept, "\n")
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
