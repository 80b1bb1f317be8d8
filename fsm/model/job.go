package model

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Spec is a user's request: a command, its GPUs, its limits. It is complete: names are resolved and defaults
// filled in before it reaches the log.
type Spec struct {
	Name    string `cbor:"1,keyasint,omitempty"`
	User    string `cbor:"2,keyasint,omitempty"`
	Project string `cbor:"3,keyasint,omitempty"`
	RunID   string `cbor:"4,keyasint,omitempty"` // the user's own name of the run; may repeat

	Class    Class `cbor:"5,keyasint,omitempty"`
	Priority uint8 `cbor:"6,keyasint,omitempty"` // as the user gave it, 1 to 10

	Command string `cbor:"7,keyasint,omitempty"` // a shell command, or with Argv the arguments
	Argv    bool   `cbor:"8,keyasint,omitempty"` // Command holds arguments, separated by NUL
	WorkDir string `cbor:"9,keyasint,omitempty"` // absolute, or empty for the attempt's folder

	GPUs        uint32 `cbor:"10,keyasint,omitempty"` // in all
	Nodes       uint32 `cbor:"11,keyasint,omitempty"` // exactly so many, with GPUs/Nodes on each; 0: as placed
	GPUModel    string `cbor:"12,keyasint,omitempty"` // what [OfModel] finds models by; empty: any
	GPUMemoryMB uint32 `cbor:"13,keyasint,omitempty"` // at least so much on each
	CPUs        uint32 `cbor:"14,keyasint,omitempty"` // limit a node, in cores; 0: none
	MemoryMB    uint32 `cbor:"15,keyasint,omitempty"` // limit a node; 0: none

	TimeLimit time.Duration `cbor:"16,keyasint,omitempty"` // run time; 0: none
	Estimate  time.Duration `cbor:"17,keyasint,omitempty"` // the user's guess of the run time; 0: none

	MaxRetries  uint32 `cbor:"18,keyasint,omitempty"` // further attempts after a failure of its own
	Preemptible bool   `cbor:"19,keyasint,omitempty"`
	Held        bool   `cbor:"20,keyasint,omitempty"` // waits for a release before it may start

	OnLost           OnLost        `cbor:"21,keyasint,omitempty"`
	DisconnectGrace  time.Duration `cbor:"22,keyasint,omitempty"` // T: how long a node may be out of contact
	StopSignal       string        `cbor:"23,keyasint,omitempty"` // "TERM", "USR1"; empty: TERM
	Grace            time.Duration `cbor:"24,keyasint,omitempty"` // from the stop signal to the kill
	CheckpointSignal string        `cbor:"25,keyasint,omitempty"` // sent before StopSignal; empty: none
	CheckpointGrace  time.Duration `cbor:"26,keyasint,omitempty"` // from the checkpoint signal to StopSignal

	RetryOn            string        `cbor:"27,keyasint,omitempty"` // "75,137": exit codes that a retry is for; empty: any but 0
	WarnSignal         string        `cbor:"28,keyasint,omitempty"` // sent WarnBefore ahead of the time limit; empty: none
	WarnBefore         time.Duration `cbor:"29,keyasint,omitempty"`
	CheckpointInterval time.Duration `cbor:"30,keyasint,omitempty"` // CheckpointSignal is sent this often; 0: only before a stop
	CheckpointDir      string        `cbor:"31,keyasint,omitempty"` // absolute; empty: the node's own place
	Attached           time.Duration `cbor:"32,keyasint,omitempty"` // canceled after that long without a sign of life of its client; 0: not attached
	IdleStop           time.Duration `cbor:"40,keyasint,omitempty"` // canceled when all its GPUs were at 0 % for so long; 0: never

	Array    string `cbor:"33,keyasint,omitempty"` // the tasks' numbers as [Indices] write them; empty: 0 and up
	Sweep    string `cbor:"34,keyasint,omitempty"` // what [ParseSweep] reads: task n has the grid's n-th values; empty: none
	Begin    Time   `cbor:"35,keyasint,omitempty"` // not to start before; 0: at once
	Deadline Time   `cbor:"36,keyasint,omitempty"` // to have ended by; 0: none

	ScriptSum uint32 `cbor:"51,keyasint,omitempty"` // start of the script's SHA-256; 0: there is no script. Apply sets it

	Constraint string `cbor:"41,keyasint,omitempty"` // of its nodes' labels, as [Constraint] writes it; empty: none
	Nodelist   string `cbor:"42,keyasint,omitempty"` // only these nodes, as [ParseNodes] lists them; empty: any
	Exclude    string `cbor:"43,keyasint,omitempty"` // none of these nodes, likewise
	Placement  string `cbor:"44,keyasint,omitempty"` // name of the [Strategy] that it is placed by; empty: the cluster's
	MinGPUs    uint32 `cbor:"45,keyasint,omitempty"` // it takes so many where GPUs are not to be had, and whole nodes fewer; 0: all or none

	Notify     NoticeSet `cbor:"49,keyasint,omitempty"` // the notices for WebhookURL
	WebhookURL string    `cbor:"50,keyasint,omitempty"` // the job's own; empty: none
}

// Called returns a job's name in lists: its name, otherwise its run's id, otherwise its command.
func Called(s *Spec) string { return Clip(cmp.Or(s.Name, s.RunID, s.oneLine(), s.scriptName())) }

// RunName returns the name under which run times are learned and predicted: the job's name, otherwise its
// command, so that runs without a name are not taken for runs of the same thing. The run's id comes last,
// since many programs draw another for each run. Empty if nothing is known of what the job runs.
func (s *Spec) RunName() string {
	if s.Name != "" {
		return s.Name
	}
	name := strings.TrimSpace(s.oneLine() + " " + s.scriptName())
	if len(s.Command) > MaxText {
		name += fmt.Sprintf(" #%x", sha256.Sum256([]byte(s.Command)))
	}
	return cmp.Or(name, s.RunID)
}

// oneLine returns the start of the command, at most MaxText bytes, on one line.
func (s *Spec) oneLine() string {
	words := strings.FieldsFunc(s.Command[:min(len(s.Command), MaxText)], func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
	return strings.Join(words, " ")
}

// scriptName returns a name of the script by its content; empty if there is none.
func (s *Spec) scriptName() string {
	if s.ScriptSum == 0 {
		return ""
	}
	return fmt.Sprintf("script %08x", s.ScriptSum)
}

// Least returns how many GPUs the job accepts if it cannot have all that it asks for: whole nodes, if it sets
// the number of nodes.
func (s *Spec) Least() uint32 {
	switch each := max(s.GPUs/max(s.Nodes, 1), 1); {
	case s.MinGPUs == 0:
		return s.GPUs
	case s.Nodes > 1 && each > 0: // else it is no valid spec, as of a damaged snapshot
		return (s.MinGPUs + each - 1) / each * each
	}
	return s.MinGPUs
}

// Fewer returns Least if that is less than all; otherwise 0.
func (s *Spec) Fewer() uint32 {
	if least := s.Least(); least < s.GPUs {
		return least
	}
	return 0
}

// Takes reports whether the job accepts so many GPUs on so many nodes, evenly if it sets the number of nodes.
func (s *Spec) Takes(gpus, nodes uint32) bool {
	if gpus < s.Least() || gpus > s.GPUs || nodes == 0 {
		return false
	}
	switch {
	case s.Nodes > 1:
		return nodes <= s.Nodes && gpus == nodes*(s.GPUs/s.Nodes)
	case s.Nodes == 1:
		return nodes == 1
	}
	return true
}

// Granted returns the spec of a job as it runs with so many GPUs on so many nodes.
func (s *Spec) Granted(gpus, nodes uint32) Spec {
	out := *s
	out.GPUs, out.MinGPUs = gpus, 0
	if s.Nodes > 0 {
		out.Nodes = nodes
	}
	return out
}

// Where returns the nodes on which the job may run.
func (s *Spec) Where() Where {
	return Where{Constraint: s.Constraint, Nodelist: s.Nodelist, Exclude: s.Exclude}
}

// Retries reports whether an end like this one is retried, as far as RetryOn decides. A signal counts as 128
// plus its number, as in shells.
func (s *Spec) Retries(e Exit) bool {
	if s.RetryOn == "" {
		return true
	}
	code := strconv.Itoa(e.ShellCode())
	for v := range strings.SplitSeq(s.RetryOn, ",") {
		if v == code {
			return true
		}
	}
	return false
}

// Shape is the common part of jobs that fit in the same places: two jobs of one shape have one verdict in a
// scheduling pass.
type Shape struct {
	GPUs     uint32
	Nodes    uint32
	MemoryMB uint32 // at least, on each GPU
	Model    string // GPU model; empty: any
	Where    Where  // on which nodes
	Strategy string // by which they are chosen; empty: the cluster's
	MinGPUs  uint32 // it takes so many if it must; 0: all or none
}

// Shape returns the spec's shape.
func (s *Spec) Shape() Shape {
	return Shape{GPUs: s.GPUs, Nodes: s.Nodes, MemoryMB: s.GPUMemoryMB, Model: s.GPUModel, Where: s.Where(), Strategy: s.Placement, MinGPUs: s.Fewer()}
}

// Job is a submission: one task, or an array of them.
//
//berth:row
type Job struct {
	ID        JobID  `cbor:"1,keyasint,omitempty"`
	Spec      Spec   `cbor:"2,keyasint,omitempty"`
	Script    Hash   `cbor:"3,keyasint,omitempty"` // content in the blobs table; zero: none
	Env       Hash   `cbor:"4,keyasint,omitempty"` // content in the blobs table; zero: none
	Tasks     uint32 `cbor:"5,keyasint,omitempty"` // how many: 1 unless it is an array
	Throttle  uint32 `cbor:"6,keyasint,omitempty"` // at most so many tasks live at once; 0: no limit
	Submitted Time   `cbor:"7,keyasint,omitempty"`
	Index     uint64 `cbor:"8,keyasint,omitempty"` // the log entry that brought it

	Open     uint32 `cbor:"9,keyasint,omitempty"`  // tasks that are not terminal
	Live     uint32 `cbor:"10,keyasint,omitempty"` // tasks with a live attempt
	Failed   uint32 `cbor:"11,keyasint,omitempty"` // tasks that failed
	Canceled uint32 `cbor:"12,keyasint,omitempty"` // tasks that were canceled
	Ended    Time   `cbor:"13,keyasint,omitempty"` // when the last task ended; 0 while one is open
	EndIndex uint64 `cbor:"14,keyasint,omitempty"` // the log entry of that end

	Waits uint32 `cbor:"30,keyasint,omitempty"` // dependencies that are not met yet: no task is queued before they are

	Stdin Hash `cbor:"31,keyasint,omitempty"` // base64 in the blobs table, for rank 0 of each attempt; zero: none

	Bytes uint32 `cbor:"32,keyasint,omitempty"` // about the memory that it takes: its texts, such as script and environment, and its rows
}

// Array reports whether the job was submitted as an array.
func (j *Job) Array() bool { return j.Tasks > 1 || j.Spec.Array != "" }

// Task is one unit of a job that waits, runs and ends.
//
//berth:row
type Task struct {
	Key   TaskKey   `cbor:"1,keyasint,omitempty"`
	State TaskState `cbor:"2,keyasint,omitempty"`
	Class Class     `cbor:"3,keyasint,omitempty"`
	Held  bool      `cbor:"4,keyasint,omitempty"` // not to be placed until it is released

	Attempts  uint32 `cbor:"5,keyasint,omitempty"` // number of the newest attempt; 0: none yet
	Retries   uint32 `cbor:"6,keyasint,omitempty"` // attempts charged to MaxRetries
	Lost      uint32 `cbor:"7,keyasint,omitempty"` // attempts that broken machines ended
	Preempted uint32 `cbor:"8,keyasint,omitempty"` // attempts that were preempted or drained
	NotBefore Time   `cbor:"9,keyasint,omitempty"` // the spec's begin, or a retry's backoff; 0: at once

	Executed time.Duration `cbor:"10,keyasint,omitempty"` // run time of all attempts, by the supervisors' clocks
	Reason   Reason        `cbor:"11,keyasint,omitempty"` // of the newest attempt's end
	ExitCode int32         `cbor:"12,keyasint,omitempty"` // of the newest attempt's first failing rank
	Signal   uint8         `cbor:"13,keyasint,omitempty"` // that ended it; 0: none
	Started  Time          `cbor:"14,keyasint,omitempty"` // when it first ran
	Ended    Time          `cbor:"15,keyasint,omitempty"` // when it became terminal

	Events uint32 `cbor:"16,keyasint,omitempty"` // how many its timeline has had
	Folded uint32 `cbor:"17,keyasint,omitempty"` // how many of them were folded away

	Avoid  uint32        `cbor:"18,keyasint,omitempty"` // attempt whose first failing rank's GPUs the next one avoids; 0: none
	Wasted time.Duration `cbor:"19,keyasint,omitempty"` // GPU time of attempts that did not complete, after their last checkpoint

	Expected time.Duration `cbor:"20,keyasint,omitempty"` // run time that it was thought to need yet when it last began to wait, or was placed
}

// Newest returns the key of the newest attempt; its N is 0 when there is none.
func (t *Task) Newest() AttemptKey { return t.Key.Attempt(t.Attempts) }

// Event is one line of a task's timeline.
//
//berth:row
type Event struct {
	Key    EventKey  `cbor:"1,keyasint,omitempty"`
	At     Time      `cbor:"2,keyasint,omitempty"`
	Actor  string    `cbor:"3,keyasint,omitempty"`
	What   EventKind `cbor:"4,keyasint,omitempty"`
	N      uint32    `cbor:"5,keyasint,omitempty"` // the attempt; 0: none
	Reason Reason    `cbor:"6,keyasint,omitempty"`
	Detail string    `cbor:"7,keyasint,omitempty"`
}

// EventKey orders a task's timeline.
type EventKey struct {
	Job  JobID  `cbor:"1,keyasint,omitempty"`
	Task uint32 `cbor:"2,keyasint,omitempty"`
	Seq  uint32 `cbor:"3,keyasint,omitempty"`
}

// Compare orders by task, then sequence.
func (k EventKey) Compare(o EventKey) int {
	return AttemptKey{k.Job, k.Task, k.Seq}.Compare(AttemptKey{o.Job, o.Task, o.Seq})
}

// EventKind is the kind of a task's event.
type EventKind uint8

// The kinds of events of a timeline.
const (
	EventSubmitted  EventKind = 1
	EventScheduled  EventKind = 2
	EventAllocating EventKind = 3
	EventRunning    EventKind = 4
	EventStopping   EventKind = 5
	EventRankLost   EventKind = 6
	EventRequeued   EventKind = 7
	EventCompleted  EventKind = 8
	EventFailed     EventKind = 9
	EventCanceled   EventKind = 10
	EventPriority   EventKind = 11
	EventHeld       EventKind = 12
	EventReleased   EventKind = 13
	EventLateExit   EventKind = 14 // the true end of an attempt that had been given up
	EventRefused    EventKind = 15 // a node reported that it would never start its rank
	EventExtended   EventKind = 16 // its time limit was raised
	EventMet        EventKind = 17 // the jobs that it waited for have ended as they should
	EventUnbound    EventKind = 18 // its dependencies on other jobs were removed
	EventNearLimit  EventKind = 21 // an attempt has used most of its time limit
)

// String returns the event's name.
func (k EventKind) String() string {
	return name(k, "", "submitted", "scheduled", "allocating", "running", "stopping", "rank_lost", "requeued",
		"completed", "failed", "canceled", "priority", "held", "released", "late_exit", "refused",
		"extended", "dependencies_met", "dependencies_dropped", "", "", "near_limit")
}

// Blob is content that jobs share: a script or an environment.
//
//berth:row
type Blob struct {
	Hash Hash   `cbor:"1,keyasint,omitempty"`
	Refs uint32 `cbor:"2,keyasint,omitempty"` // jobs that name it
	Data string `cbor:"3,keyasint,omitempty"`
}

// Sketch is what a user's runs of one name and size have taken: the scheduler's memory for predicting the
// next.
//
//berth:row
type Sketch struct {
	Key     SketchKey     `cbor:"1,keyasint,omitempty"`
	Count   uint32        `cbor:"2,keyasint,omitempty"`
	Sum     time.Duration `cbor:"3,keyasint,omitempty"`
	Log2    [24]uint16    `cbor:"4,keyasint,omitempty"` // runs of 2^i to 2^(i+1) seconds; saturates
	Updated uint64        `cbor:"5,keyasint,omitempty"` // log index of the last run

	// PeakMB is the most memory, in MiB, that runs have used on any one of their GPUs: a run that uses less
	// lowers it by an eighth of the difference. Peaks counts the runs with a known use.
	PeakMB uint32 `cbor:"6,keyasint,omitempty"`
	Peaks  uint32 `cbor:"7,keyasint,omitempty"`
}

// SketchKey groups runs with similar expected run times.
type SketchKey struct {
	User string `cbor:"1,keyasint,omitempty"`
	Name string `cbor:"2,keyasint,omitempty"`
	GPUs uint32 `cbor:"3,keyasint,omitempty"`
}

// Compare orders by user, name, size.
func (k SketchKey) Compare(o SketchKey) int {
	return compareAll(k.User, o.User, k.Name, o.Name, uint64(k.GPUs), uint64(o.GPUs))
}
