package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// NonceVariable is in the environment of all processes of a rank, and identifies them.
const NonceVariable = "BERTH_NONCE"

// NoncePrefix returns the common prefix of the nonces of all ranks that an agent with that data folder
// starts. It identifies their processes even when nothing is left of the ranks' records.
func NoncePrefix(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8]) + "-"
}

// Record is rank.json: what a rank runs, fixed when its folder is made. Only the incarnation may change
// later, when a restored cluster takes the rank over.
type Record struct {
	Rank        model.RankKey
	Incarnation Incarnation // that it was last desired under
	Placed      uint64      // log index of its placement
	Boot        string      // of the kernel under which the folder was made
	Nonce       string      // random; every process of the rank has it in its environment
	Run         string      // the node's run folder
	Frozen      model.Frozen
	Start       time.Duration // CLOCK_BOOTTIME at the start of the lease that it begins under
	GPUs        []GPU         // in PCI order
	Job         Job
	Orders      Orders // those that it begins with
}

// Job is what a rank executes.
type Job struct {
	Spec   model.Spec
	Script bool // the file "script" is run, with Spec.Command as its arguments
	Stdin  bool `json:",omitempty"` // the file "stdin" is its standard input
	// Environ means that the run folder, which is in memory, has the environment of the job: see [Environment].
	Environ bool `json:",omitempty"`
	Node    model.NodeID
	Address string // where the gang reaches this rank

	Preempted uint32 `json:",omitempty"` // attempts of the task that were preempted or drained before
}

// Environment is the environment of a job, as "NAME=value" texts joined by NUL. It is in no file on a disk: it may hold secrets.
type Environment struct {
	Job    []byte // set for the job
	Submit []byte // of the submission
}

// Empty reports whether there are no variables.
func (e *Environment) Empty() bool { return len(e.Job)+len(e.Submit) == 0 }

// GPU is a GPU of the rank.
type GPU struct {
	ID    model.GPUID
	Index uint32 // in PCI order, on its node
}

// IDs lists the GPUs' ids.
func (r *Record) IDs() []model.GPUID {
	out := make([]model.GPUID, 0, len(r.GPUs))
	for _, g := range r.GPUs {
		out = append(out, g.ID)
	}
	return out
}

// Incarnation is written as hexadecimal digits.
type Incarnation model.Incarnation

// MarshalText writes the digits.
func (i Incarnation) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, i[:]), nil }

// UnmarshalText reads them.
func (i *Incarnation) UnmarshalText(text []byte) error {
	if len(text) != 2*len(i) {
		return hex.ErrLength
	}
	_, err := hex.Decode(i[:], text)
	return err
}

// Orders are the agent's orders for a supervisor, as a whole: later orders replace earlier ones.
type Orders struct {
	Run    bool          `json:",omitempty"` // start the processes
	Gang   []model.Mate  `json:",omitempty"` // with Run: all ranks of the attempt
	Secret []byte        `json:",omitempty"` // with Gang, of several ranks: by which they recognize each other
	Stop   model.Reason  `json:",omitempty"` // signal, grace, kill
	Kill   bool          `json:",omitempty"` // end all processes at once
	Refuse bool          `json:",omitempty"` // never start
	Freeze time.Duration `json:",omitempty"` // CLOCK_BOOTTIME from which all processes are frozen; 0: no order
	Thaw   time.Duration `json:",omitempty"` // processes frozen since then or earlier thaw

	TimeLimit time.Duration `json:",omitempty"` // replaces the record's when it is greater than 0
}

// Status is a supervisor's progress.
type Status struct {
	Boot      string
	PID       int             // the supervisor's
	Born      uint64          // its start time, as in /proc/PID/stat
	Nonce     string          // the record's
	Phase     model.RankPhase // taken, ready, running, exited or never
	Port      uint16          `json:",omitempty"` // reserved, with ready
	Session   int             `json:",omitempty"` // of the job: also its first process and its group
	Begun     uint64          `json:",omitempty"` // start time of that process
	Frozen    time.Duration   `json:",omitempty"` // since then; 0: it runs
	Thawed    time.Duration   `json:",omitempty"` // what stood still since then or earlier goes on
	Stopping  model.Reason    `json:",omitempty"` // of the strongest stop that has begun, written before its signal is sent
	Fenced    bool            `json:",omitempty"` // its fence has begun, written before the signal of that
	Delivered model.Reason    `json:",omitempty"` // of the strongest stop whose signal reached a process

	// how the job's first process ended, while others of the rank still run, written before these get a signal; nil: it has not
	Ended *model.Exit `json:",omitempty"`
	// Exit is how the rank ended, with phase exited: the agent takes the end from here when the rank's folder
	// cannot be used.
	Exit *model.Exit `json:",omitempty"`

	Saved time.Duration `json:",omitempty"` // how long the rank had run at the last checkpoint that it announced; 0: none
	Group string        `json:",omitempty"` // path of its cgroup; empty: it has none

	Agent Started `json:",omitzero"`  // without a group: what started the supervisor, and takes in its orphans as long as it lives
	Place uint64  `json:",omitempty"` // without a group: a hash of the cgroups that the supervisor is in; 0: not known

	NoAccount bool `json:",omitempty"` // with phase never: there is no account for the job's user

	// with phase never, or if the node did not start its process: the reason; otherwise a failure outside the job, such as of an epilog
	Note string `json:",omitempty"`
}

// Started names the agent that has started a supervisor.
type Started struct {
	PID    int
	Born   uint64 // its start time, as in /proc/PID/stat
	Reaper int    // process that takes in its orphans, and the supervisor when it ends; 0: not known
}
