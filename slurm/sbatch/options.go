package sbatch

import (
	"time"

	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
)

// Options are the values of all options that a job was submitted with. The zero value of a field stands for an
// option that was not given.
type Options struct {
	JobName     string
	Account     string
	Partition   []string // in order of preference as written; any of them will do
	QOS         string
	Reservation string
	Comment     string
	WCKey       string
	Propagate   *string // as --propagate has it; nil: not given
	Licenses    string
	Priority    string // a number, or TOP
	Nice        Nice
	Hold        bool
	Array       form.Array      // without indices: not given
	Dependency  form.Dependency // without conditions: not given

	Time     time.Duration // whole minutes, or form.Unlimited
	TimeMin  time.Duration
	Begin    form.Moment
	Deadline form.Moment
	Signal   form.Warning // without a signal: not given

	Nodes          form.NodeCount // Min 0: not given
	Tasks          int
	TasksPerNode   int
	TasksPerGPU    int
	CPUsPerTask    int
	CPUsPerGPU     int
	MinCPUs        int
	Sockets        int // of each node
	CoresPerSocket int
	ThreadsPerCore int
	Overcommit     bool
	Distribution   Distribution

	GPUs          GPUs
	GPUsPerNode   GPUs
	GPUsPerTask   GPUs
	GPUsPerSocket GPUs
	Gres          form.Gres // zero: not given
	Exclusive     Exclusive

	Memory       Memory // of each node
	MemoryPerCPU Memory
	MemoryPerGPU Memory

	Nodelist      []string // the job's nodes
	Exclude       []string
	NodeFile      string          // a file with the names of the nodes
	Constraint    form.Constraint // see HasConstraint
	HasConstraint bool

	Output   string // pattern, as of package filename
	Error    string
	Input    string
	OpenMode OpenMode
	Chdir    string

	Export     Export
	ExportFile string // a file, or the number of an open one
	Requeue    Requeue
	KillOnBad  bool // cancel the job when a dependency can no longer hold

	MailType []string // such as END, FAIL
	MailUser string

	Wait     bool
	Parsable bool
	TestOnly bool
	Quiet    bool
	Verbose  int
	Wrap     string
	HasWrap  bool
	Help     bool
	Usage    bool
	Version  bool

	IgnorePBS bool
	Container container.Options
}

// Nice is the value of --nice.
type Nice struct {
	Given bool
	By    int // by how much the priority is lower
}

// GPUs is a number of GPUs, if it was given.
type GPUs struct {
	Given bool
	form.GPUs
}

// Memory is an amount of memory, if it was given.
type Memory struct {
	Given bool
	MiB   int64 // 0: all
}

// Exclusive says with which other jobs the nodes may be shared.
type Exclusive int

// The values of --exclusive.
const (
	Shared        Exclusive = iota // with any job
	WholeNodes                     // with none
	SameUserNodes                  // with jobs of the same user
)

// Requeue says whether a job may run again after its node was lost or it was preempted.
type Requeue int

// The values of Requeue.
const (
	RequeueDefault Requeue = iota // as the cluster is set
	RequeueYes
	RequeueNo
)

// OpenMode says what becomes of an output file that is there already.
type OpenMode int

// The values of OpenMode.
const (
	OpenDefault  OpenMode = iota // it is emptied, and after a requeue appended to
	OpenAppend                   // appended to
	OpenTruncate                 // emptied
)

// Distribution is how the tasks are numbered over the nodes.
type Distribution struct {
	Kind  environ.Kind
	Plane int // tasks of a block, of environ.Plane
}

// ExportMode says which variables of the submission a job gets.
type ExportMode int

// The values of ExportMode.
const (
	ExportAll  ExportMode = iota // all, and those listed
	ExportNone                   // none but those of Slurm
	ExportList                   // only those listed
)

// Variable is a variable that --export names.
type Variable struct {
	Name     string
	Value    string
	HasValue bool // else it has the value that it has at the submission
}

// Export is the value of --export.
type Export struct {
	Given bool
	Mode  ExportMode
	List  []Variable
}
