// Package submit turns jobs in Slurm's language into submissions.
package submit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/filename"
	"github.com/berth-gpu/berth/slurm/request"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

// Place is where a job is submitted, and what has to be looked up there.
type Place struct {
	Folder string            // absolute path of the folder of the submission
	Host   string            // name of this machine
	Script string            // path of the script, as it was given
	Env    map[string]string // the environment of the submission
	Read   func(path string) ([]byte, error)

	Node      func() (gpus, cores int, err error)         // of a node of the cluster: its GPUs, and its cores for jobs without GPUs
	Namesakes func(name string) (ids []uint64, err error) // the user's jobs of that name that have not ended
}

// Request returns the submission of a job in Slurm's language, and notes for its user: what has no effect, and what was
// corrected. The error, a [*sbatch.Error] unless something could not be looked up, names an option that Berth cannot carry out.
func Request(j *sbatch.Job, at *Place) (*wire.Submit, []string, error) {
	layout, err := j.Layout()
	if err != nil {
		return nil, nil, err
	}
	t := &translation{job: j, options: &j.Options, layout: &layout, at: at, out: &wire.Submit{Slurm: &request.Request{}}}
	for _, n := range j.Notes {
		t.notes = append(t.notes, n.String())
	}
	t.notes = append(t.notes, layout.Warnings...)
	for _, step := range []func() error{t.program, t.environment, t.size, t.where, t.when, t.dependencies, t.files, t.unsupported} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	t.keep()
	return t.out, t.notes, nil
}

// translation is a submission in the making.
type translation struct {
	job     *sbatch.Job
	options *sbatch.Options
	layout  *sbatch.Layout
	at      *Place
	out     *wire.Submit
	notes   []string
}

// refuse returns the error of an option, with its place.
func (t *translation) refuse(option, format string, args ...any) error {
	e := &sbatch.Error{Option: "--" + option, Problem: fmt.Sprintf(format, args...)}
	for _, g := range t.job.Given {
		if g.Option == option {
			e.Where = g.Where
		}
	}
	return e
}

// given reports whether an option was given.
func (t *translation) given(option string) bool {
	return slices.ContainsFunc(t.job.Given, func(g sbatch.Given) bool { return g.Option == option })
}

func (t *translation) note(option, format string, args ...any) {
	t.notes = append(t.notes, "--"+option+": "+fmt.Sprintf(format, args...))
}

// program fills in what runs, and in which folder.
func (t *translation) program() error {
	o, r := t.options, t.out
	r.Name, r.Project, r.Script = o.JobName, o.Account, string(t.job.Script)
	if len(t.job.Arguments) > 0 {
		r.Args = t.job.Arguments
	}
	r.WorkDir = t.at.Folder
	if filepath.IsAbs(o.Chdir) {
		r.WorkDir = o.Chdir
	} else if o.Chdir != "" {
		r.WorkDir = filepath.Join(t.at.Folder, o.Chdir)
	}
	return nil
}

// environment fills in the variables that the job gets: all of the submission unless an option says otherwise, without those
// that describe a job in which sbatch was called.
func (t *translation) environment() error {
	export, shell := &t.options.Export, map[string]string{}
	if export.Mode == sbatch.ExportAll {
		for name, value := range t.at.Env { // order-free: into a map
			if !strings.HasPrefix(name, "SLURM_") && !strings.HasPrefix(name, "SLURMD_") {
				shell[name] = value
			}
		}
	}
	for _, v := range export.List {
		value, found := v.Value, v.HasValue
		if !found {
			value, found = t.at.Env[v.Name]
		}
		if found { // a name without a variable is left out, as by Slurm
			shell[v.Name] = value
		}
	}
	t.out.Shell = shell
	return t.exportFile()
}

// exportFile adds the variables of --export-file.
func (t *translation) exportFile() error {
	path := t.options.ExportFile
	if path == "" {
		return nil
	}
	if _, err := strconv.ParseUint(path, 10, 31); err == nil {
		path = "/proc/self/fd/" + path
	}
	data, err := t.at.Read(path)
	if err != nil {
		return t.refuse("export-file", "the file cannot be read: %v", err)
	}
	for line := range strings.SplitSeq(string(data), "\x00") {
		name, value, found := strings.Cut(line, "=")
		switch {
		case line == "":
		case !found || name == "":
			return t.refuse("export-file", "%q is no variable: write NAME=value, each with a zero byte at its end", clip(line))
		case !utf8.ValidString(line):
			return t.refuse("export-file", "%s has a value that is not UTF-8, in which variables are passed on", clip(name))
		default:
			t.out.Shell[name] = value
		}
	}
	return nil
}

func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// files fills in the files of standard input and output.
func (t *translation) files() error {
	o, s := t.options, t.out.Slurm
	s.Stdout, s.Stderr, s.Stdin = o.Output, o.Error, o.Input
	s.Append, s.Truncate = o.OpenMode == sbatch.OpenAppend, o.OpenMode == sbatch.OpenTruncate
	for _, v := range []struct{ option, pattern string }{{"output", o.Output}, {"error", o.Error}, {"input", o.Input}} {
		if filename.Known(v.pattern) >= filename.OfTask {
			t.note(v.option, "%%t is 0 in the file of the script; the tasks of srun have files of their own by its own options")
		}
	}
	return nil
}

// keep fills in what Slurm's commands and variables show.
func (t *translation) keep() {
	o, l, s := t.options, t.layout, t.out.Slurm
	s.Partition, s.QOS, s.Comment = strings.Join(o.Partition, ","), o.QOS, o.Comment
	if len(o.Array.Indices) > 0 {
		s.Array = o.Array.Berth()
	}
	s.SubmitHost, s.SubmitDir, s.ScriptName = t.at.Host, t.at.Folder, t.at.Script
	if o.Container.Given() {
		s.Container = o.Container.Copy()
	}
	if l.TasksGiven {
		s.Tasks = l.Tasks
	}
	s.TasksPerNode, s.CPUsPerTask, s.GPUsPerTask = l.TasksPerNode, max(l.CoresPerTask, 1), l.GPUsPerTask
	a := &s.Asked
	a.Tasks, a.TasksPerNode, a.TasksPerGPU = o.Tasks, o.TasksPerNode, o.TasksPerGPU
	if a.Tasks == 0 && o.TasksPerNode > 0 && !l.NodesOpen && l.NodesMin == l.NodesMax {
		a.Tasks = o.TasksPerNode * l.NodesMax
	}
	a.CPUsPerTask, a.CPUsPerGPU, a.Plane, a.Overcommit = o.CPUsPerTask, o.CPUsPerGPU, o.Distribution.Plane, o.Overcommit
	for _, v := range []struct {
		to   *string
		from sbatch.GPUs
	}{{&a.GPUs, o.GPUs}, {&a.GPUsPerNode, o.GPUsPerNode}, {&a.GPUsPerTask, o.GPUsPerTask}} {
		if v.from.Given {
			*v.to = v.from.String()
		}
	}
	for _, v := range []struct {
		to   *int64
		from sbatch.Memory
	}{{&a.MemPerNode, o.Memory}, {&a.MemPerCPU, o.MemoryPerCPU}, {&a.MemPerGPU, o.MemoryPerGPU}} {
		if v.from.Given {
			*v.to = v.from.MiB
		}
	}
	for _, g := range t.job.Given {
		switch g.Option {
		case "constraint":
			a.Constraint = g.Value
		case "dependency":
			a.Dependency = g.Value
		case "distribution":
			a.Distribution, _, _ = strings.Cut(strings.ToLower(g.Value), "=")
		case "export":
			a.Export = g.Value
		}
	}
	a.Reservation, a.Licenses = o.Reservation, o.Licenses
}

// unsupported notes or refuses what Berth does not carry out.
func (t *translation) unsupported() error {
	o := t.options
	if !o.Container.Given() {
		for _, g := range t.job.Given {
			if strings.HasPrefix(strings.TrimPrefix(g.Option, "no-"), "container-") {
				t.note(g.Option, "has no effect without --container-image")
			}
		}
	}
	if o.Dependency.Conditions != nil && !o.KillOnBad && t.given("kill-on-invalid-dep") {
		t.note("kill-on-invalid-dep", "no has no effect: a job whose dependency can no longer hold is canceled")
	}
	if o.Reservation != "" {
		t.note("reservation", "has no effect: the jobs of a reservation's owner run in the reservation")
	}
	return nil
}
