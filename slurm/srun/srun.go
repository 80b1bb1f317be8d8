// Package srun understands the command line of Slurm's srun inside of a job, with its variables, and derives which tasks of a step
// run on which nodes of the job. It runs nothing and reads no file.
//
//berth:single
package srun

import (
	"time"

	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
)

// Options are the options of a step. A zero field was not given.
type Options struct {
	Size      Size
	Files     Files
	Container container.Options

	Job       form.JobRef // --jobid
	JobGiven  bool
	Name      string  // of the step
	Chdir     string  // folder of the tasks
	Export    string  // as --export has it; empty: ALL
	Propagate *string // as --propagate has it; nil: not given
	Wait      time.Duration
	KillOnBad bool // the first task that fails ends the step
	Terminal  bool // the first task has a terminal
	Quiet     bool
	Verbose   int           // how often --verbose was given
	Interrupt bool          // the first Ctrl-C goes to the tasks
	Immediate time.Duration // how long the step waits for its resources; 0: for ever; below 0: not at all
	Multi     bool          // the command is the file of --multi-prog, which names the program of each task, and arguments of all
	Help      string        // "help", "usage" or "version": srun prints that and ends
}

// LogLevel returns the level of messages that SRUN_DEBUG has: 3, more with --verbose, and less with --quiet.
func (o *Options) LogLevel() int {
	level := 3 + o.Verbose
	if o.Quiet {
		level--
	}
	return level
}

// Files are the files of a step's tasks.
type Files struct {
	Stdout, Stderr, Stdin string // patterns, or all, none, or the number of a task; empty: all
	Append                bool
	Label                 bool // lines begin with the number of their task
	Unbuffered            bool // parts of lines are passed on at once
}

// Size is what a step asks of its job.
type Size struct {
	Tasks        int
	FromJob      int            // tasks by the job's variable, which count if Tasks is 0 and the step has all nodes of the job
	Nodes        form.NodeCount // zero: not given
	TasksPerNode int
	CPUsPerTask  int
	NodeList     []string // the step runs on these nodes
	Exclude      []string
	Relative     int // the step's nodes begin with this one of the job
	Kind         environ.Kind
	Plane        int
	Distributed  bool // a distribution was given

	GPUs        int // in all
	GPUsPerNode int
	GPUsPerTask int
	NoGPUs      bool // the tasks see none
	HoldsGPUs   bool // the number of GPUs was given with the step, not with the job

	Exact   bool // the step holds what it asks for, and not its nodes
	Overlap bool // the step holds nothing
}

// Result is a command line that was understood.
type Result struct {
	Options Options
	Command []string // the program with its arguments
	Notes   []string // what has no effect, each once
}

// Distribution returns the name of the distribution that was given; empty: none.
func (s *Size) Distribution() string {
	switch {
	case !s.Distributed:
		return ""
	case s.Kind == environ.Cyclic:
		return "cyclic"
	case s.Kind == environ.Plane:
		return "plane"
	}
	return "block"
}
