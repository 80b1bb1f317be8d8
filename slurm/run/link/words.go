package link

import (
	"encoding/binary"

	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/srun"
)

// Role is what a connection between nodes is for.
type Role string

// The roles.
const (
	RoleNode Role = "node" // a node's server, which gets KindDial
	RoleStep Role = "step" // the tasks of a step on a node
	RoleSrun Role = "srun" // an srun on another node than the first one
)

// Hello begins a connection between nodes.
type Hello struct {
	Role    Role
	Rank    int    // of a node
	GPUs    int    // that the job has on the node
	Session uint64 // of a step: the number that came with KindDial
}

// Ask asks for a step.
type Ask struct {
	Size      srun.Size
	Command   []string
	Env       []string
	Dir       string
	Umask     int    // of the tasks
	Limits    string `json:",omitempty"` // soft ones of the tasks, as package inherit writes them; empty: those of the node
	Name      string // of the step
	Parent    int    // the step that this srun is a part of, or -1
	Stdout    Stream
	Stderr    Stream
	Stdin     Stream
	Append    bool              // files of tasks are not emptied
	Lines     bool              // output is passed on in whole lines
	Immediate int64             // nanoseconds that the step may wait for its resources; 0: for ever; below 0: not at all
	Programs  []srun.Program    // of --multi-prog, in place of Command, whose words after the first follow those of each program
	Container container.Options `json:",omitzero"`  // the image that the tasks run in
	Terminal  *Screen           `json:",omitempty"` // the first task has a terminal of this size, and others have no streams; nil: no task has one
}

// Arguments returns the program of a task with its arguments. None: there is no program for the task.
func (a *Ask) Arguments(rank int) []string {
	if len(a.Programs) == 0 {
		return a.Command
	}
	argv := srun.Arguments(a.Programs, rank)
	if len(argv) == 0 {
		return nil
	}
	return append(argv, a.Command[1:]...)
}

// Signal is a signal for processes of a job.
type Signal struct {
	Number int
	Script bool // the process of the script
	Group  bool // with Script: the script's process group, too
	Steps  bool // the tasks of steps
	Step   int  // with Steps: of this step only; below 0: of all
	End    bool // with Steps: the tasks are to end, in place of Number
}

// Screen is the size of a terminal, in characters.
type Screen struct{ Rows, Columns uint16 }

// Stream is one of the standard streams of tasks.
type Stream struct {
	Pattern string // of files that the node opens; empty: srun has the stream
	None    bool   // nothing is read or kept
	One     bool   // of the task Task only
	Task    int
}

// Created describes the place of a step.
type Created struct {
	Step  int
	Tasks int
	Nodes []Place
	Notes []string
}

// Place is a node of a step.
type Place struct {
	Name  string
	Ranks []int
}

// Launch asks a node to start the tasks of a step there.
type Launch struct {
	Ask    Ask
	Step   environ.Step
	Index  int    // of the node in the step
	GPUs   []int  // places among the node's GPUs; nil: all
	TmpDir string // value of TMPDIR that the job began with on the first node
}

// Lost says that a node cannot be reached any more.
type Lost struct {
	Node  string
	Ranks []int // of the tasks whose end is not known
}

// Of output.
const (
	Stdout = 1
	Stderr = 2
)

// taskHeader is the length of what is ahead of output.
const taskHeader = 5

// Output returns the beginning of the body of KindOutput.
func Output(task, stream int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(task)), byte(stream))
}

// ReadOutput divides the body of KindOutput.
func ReadOutput(body []byte) (task, stream int, data []byte, ok bool) {
	if len(body) < taskHeader || body[4] != Stdout && body[4] != Stderr {
		return 0, 0, nil, false
	}
	return int(binary.BigEndian.Uint32(body)), int(body[4]), body[taskHeader:], true
}

// Exit returns the body of KindExit; status is that of wait(2).
func Exit(task int, status uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(task)), status)
}

// ReadExit divides the body of KindExit.
func ReadExit(body []byte) (task int, status uint32, ok bool) {
	if len(body) != 8 {
		return 0, 0, false
	}
	return int(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]), true
}
