package simulate

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Job is one line of a trace.
type Job struct {
	ID       string
	User     string
	Submit   time.Duration // since the first of the trace
	GPUs     uint32
	Duration time.Duration // on the GPUs that it asks for, without waiting

	line int // of the trace that was read; 0: none

	// Of a job that a cluster has run; zero in a trace from a file.
	Nodes uint32 // on exactly this many; 0: on any number
	Told  Told
	Ended time.Duration // when it really ended, since the first of the trace
}

// Told is what the user of a job declared.
type Told struct {
	Name, Project       string
	Class               model.Class
	Estimate, TimeLimit time.Duration // 0: none
	Preemptible         bool
	Model               string // of GPU; empty: any
	MemoryMB            uint32 // of each GPU, at least
	Where               model.Where
	Placement           string // name of the [model.Strategy] for its placement; empty: the cluster's
}

// maxJobs bounds a trace.
const maxJobs = 2_000_000

// Read reads a trace: comma-separated lines with a header that names at least the columns job_id,
// submit_s, gpus and duration_s. Optional columns are user and other fields of a submission:
// project, priority (1 to 10, or a class by its name), nodes, gpu_type, gpu_memory_gb and
// constraint; an empty cell counts as not given. Times are in seconds. The result is the jobs in
// order of submission, which counts from the first, and the columns that are not read. An error
// names the line.
func Read(r io.Reader) (jobs []Job, unread []string, err error) {
	text := bufio.NewReader(r)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark))
	}
	in := csv.NewReader(text)
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("the trace is empty: it begins with a header line, such as %s", strings.Join(needed(), ","))
	} else if err != nil {
		return nil, nil, brokenLine(err, 0, 0)
	}
	columns, unread, err := columnsOf(head)
	if err != nil {
		return nil, nil, err
	}
	if jobs, err = jobsOf(in, columns, len(head)); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	first := jobs[0].Submit // it may be in seconds since 1970
	for i := range jobs {
		jobs[i].Submit -= first
	}
	return jobs, unread, nil
}

// jobsOf reads the lines below a header of width columns; there is at least one.
func jobsOf(in *csv.Reader, columns map[string]int, width int) (jobs []Job, err error) {
	lines := map[string]int{} // of each job
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, brokenLine(err, len(record), width)
		}
		line, _ := in.FieldPos(0)
		job, err := jobOf(record, columns)
		if err != nil {
			return nil, fmt.Errorf("line %d of the trace: %w", line, err)
		}
		if other, known := lines[job.ID]; known {
			return nil, fmt.Errorf("line %d of the trace: job_id %q is a duplicate of line %d: give each job its own", line, job.ID, other)
		}
		lines[job.ID], job.line = line, line
		if jobs = append(jobs, job); len(jobs) > maxJobs {
			return nil, fmt.Errorf("the trace has more than %d jobs", maxJobs)
		}
	}
	if len(jobs) == 0 {
		return nil, errors.New("the trace has no jobs")
	}
	return jobs, nil
}

// brokenLine returns the error of a line whose number of fields differs from the header's.
func brokenLine(err error, fields, width int) error {
	at, is := errors.AsType[*csv.ParseError](err)
	switch {
	case !is:
		return fmt.Errorf("the trace cannot be read: %w", err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d of the trace has %d fields, and the header has %d: give every line the same number", at.Line, fields, width)
	}
	return fmt.Errorf("line %d of the trace: misplaced quotation mark in column %d: put a field with commas or quotation marks "+
		"between quotation marks, and double each mark within it", at.Line, at.Column)
}

// byteOrderMark begins UTF-8 files of some programs.
const byteOrderMark = "\ufeff"

// needed returns the columns that a trace must have.
func needed() []string { return []string{"job_id", "submit_s", "gpus", "duration_s"} }

// Columns returns the columns that a trace may have.
func Columns() []string {
	return append(needed(), "user", "project", "priority", "nodes", "gpu_type", "gpu_memory_gb", "constraint")
}

// beside returns columns of public traces that do not affect a simulation: the memory of hosts, and
// how jobs ended.
func beside() []string { return []string{"memory_gb", "status"} }

// columnsOf returns the columns of a header, and the unknown ones.
func columnsOf(head []string) (columns map[string]int, unread []string, err error) {
	columns = map[string]int{}
	for i, name := range head {
		name = strings.TrimSpace(name)
		if _, twice := columns[name]; twice {
			return nil, nil, fmt.Errorf("the trace's header has the column %q twice: leave one", name)
		}
		if columns[name] = i; !slices.Contains(Columns(), name) && !slices.Contains(beside(), name) {
			unread = append(unread, strings.Clone(name))
		}
	}
	for _, name := range needed() {
		if _, found := columns[name]; !found {
			return nil, nil, fmt.Errorf("the trace's header lacks the column %s: it has %s", name, strings.Join(head, ", "))
		}
	}
	return columns, unread, nil
}

func jobOf(record []string, columns map[string]int) (Job, error) {
	field := func(name string) string {
		if i, found := columns[name]; found {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	j := Job{ID: strings.Clone(field("job_id")), User: strings.Clone(field("user"))}
	if j.User == "" {
		j.User = "everybody"
	}
	gpus, err := strconv.ParseUint(field("gpus"), 10, 32)
	switch {
	case !model.Text(j.ID, model.MaxName) || j.ID == "":
		return j, fmt.Errorf("job_id %q must be 1 to %d bytes of text on one line", j.ID, model.MaxName)
	case !model.Name(j.User):
		return j, fmt.Errorf("user %q must be a name without spaces, of at most %d bytes", j.User, model.MaxName)
	case err != nil || gpus < 1 || gpus > model.MaxGPUs:
		return j, fmt.Errorf("gpus %q must be a number from 1 to %d", field("gpus"), model.MaxGPUs)
	}
	j.GPUs = uint32(gpus)
	if j.Submit, err = seconds(field("submit_s"), 0, century); err != nil {
		return j, fmt.Errorf("submit_s: %w", err)
	}
	if j.Duration, err = seconds(field("duration_s"), time.Millisecond, model.MaxDuration); err != nil {
		return j, fmt.Errorf("duration_s: %w", err)
	}
	return j, j.told(field)
}

// told reads the declared fields of a job.
func (j *Job) told(field func(name string) string) error {
	t := &j.Told
	t.Project, t.Model, t.Where.Constraint = strings.Clone(field("project")), strings.Clone(field("gpu_type")), strings.Clone(field("constraint"))
	number := func(name string, most uint64) (uint64, error) {
		text := field(name)
		if text == "" {
			return 0, nil
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%s %q must be 1 to %d, or be left empty", name, text, most)
		}
		return n, nil
	}
	class, err := classOf(field("priority"))
	if err != nil {
		return err
	}
	nodes, err := number("nodes", model.MaxRanks)
	if err != nil {
		return err
	}
	memory, err := number("gpu_memory_gb", 1_000_000)
	if err != nil {
		return err
	}
	t.Class, j.Nodes, t.MemoryMB = class, uint32(nodes), uint32(memory*1000)
	return nil
}

// classOf parses a priority as in a submission: a class by its name, or a number; empty: none.
func classOf(text string) (model.Class, error) {
	for c := model.ClassLow; c <= model.ClassCritical; c++ {
		if strings.EqualFold(text, c.String()) {
			return c, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case text == "":
		return 0, nil
	case err != nil || n < 1 || n > model.MaxPriority:
		return 0, fmt.Errorf("priority %q must be 1 to %d, or low, normal, high or critical, or be left empty", text, model.MaxPriority)
	}
	return model.JobClass(uint8(n)), nil
}

// century bounds the times of submission, and the length of a simulation.
const century = 100 * 366 * 24 * time.Hour

func seconds(text string, least, most time.Duration) (time.Duration, error) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(s) || s < 0 || s > most.Seconds() {
		return 0, fmt.Errorf("%q must be 0 to %.0f seconds", text, most.Seconds())
	}
	return max(time.Duration(s*float64(time.Second)), least), nil
}
