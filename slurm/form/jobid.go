package form

import (
	"strconv"
	"strings"
)

// JobRef names a job, tasks of an array, or a step, as users write it: 12, 12_3, 12_[1-4], 12_*, 12.0, 12.batch.
type JobRef struct {
	Job   uint64 // from 1 on
	Tasks []int  // of an array, in rising order; nil: the job as a whole
	All   bool   // 12_*: every task
	Step  string // batch, extern, interactive, or a number; empty: no step
}

// ParseJob parses a job id. Parts of heterogeneous jobs, such as 12+0, are refused, because Berth has none.
func ParseJob(text string) (JobRef, error) {
	const forms = "is no job id: write a number such as 12, a task such as 12_3, or tasks such as 12_[1-4]"
	if strings.Contains(text, "+") {
		return JobRef{}, bad(text, "names a part of a heterogeneous job, which Berth does not have: name the job itself")
	}
	id, step, stepped := strings.Cut(text, ".")
	id, task, isTask := strings.Cut(id, "_")
	var ref JobRef
	var err error
	if ref.Job, err = jobNumber(id); err != nil {
		return JobRef{}, bad(text, forms)
	}
	if ref.Job >= taskBase {
		job, n := taskOf(ref.Job)
		if isTask || job == 0 {
			return JobRef{}, bad(text, forms)
		}
		ref.Job, ref.Tasks = job, []int{n}
	}
	switch {
	case !isTask:
	case task == "*":
		ref.All = true
	case strings.HasPrefix(task, "[") && strings.HasSuffix(task, "]"):
		list, _, _ := strings.Cut(task, "%") // squeue shows the bound of the array, too
		a, err := ParseArray(strings.TrimSuffix(list, "]") + "]")
		if err != nil {
			return JobRef{}, bad(text, forms)
		}
		ref.Tasks = a.Indices
	default:
		n, err := digits(task)
		if err != nil || n > MaxIndex {
			return JobRef{}, bad(text, forms)
		}
		ref.Tasks = []int{n}
	}
	if stepped {
		if _, err := digits(step); err != nil && step != "batch" && step != "extern" && step != "interactive" {
			return JobRef{}, bad(text, "names no step: write JOB.NUMBER, JOB.batch or JOB.extern")
		}
		ref.Step = step
	}
	return ref, nil
}

func jobNumber(text string) (uint64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, errCount
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, errCount
	}
	return n, nil
}

// String returns the reference as [ParseJob] reads it.
func (r JobRef) String() string {
	text := strconv.FormatUint(r.Job, 10)
	switch {
	case r.All:
		text += "_*"
	case len(r.Tasks) == 1:
		text += "_" + strconv.Itoa(r.Tasks[0])
	case len(r.Tasks) > 1:
		text += "_[" + Array{Indices: r.Tasks}.Berth() + "]"
	}
	if r.Step != "" {
		text += "." + r.Step
	}
	return text
}

// ParseJobs parses job ids that commas join, outside of brackets.
func ParseJobs(text string) ([]JobRef, error) {
	var all []JobRef
	for _, part := range splitOutside(text, ',') {
		ref, err := ParseJob(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	return all, nil
}

// splitOutside divides a text at a character outside of brackets.
func splitOutside(text string, at byte) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c == at && depth <= 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

// taskBase is above all numbers of jobs that a cluster reaches.
const taskBase = 1_000_000_000_000

// TaskNumber returns the number by which programs know one task of an array, where Slurm gives each task a number of its own
// (SLURM_JOB_ID, %j): it differs from those of all jobs and of all other tasks. Task 3 of job 12 is 1000012000003. [ParseJob] reads the
// number as that task.
func TaskNumber(job uint64, task int) uint64 {
	return taskBase + job*(MaxIndex+1) + uint64(max(task, 0))
}

// taskOf returns the job and the task of a number that TaskNumber returned.
func taskOf(n uint64) (job uint64, task int) {
	return (n - taskBase) / (MaxIndex + 1), int((n - taskBase) % (MaxIndex + 1))
}
