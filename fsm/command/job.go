package command

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Submit queues a job, or an array of Tasks jobs as one. Its script, its input and each of its environments may be sealed
// (package fsm/sealing); an environment is one text then.
type Submit struct {
	Spec     model.Spec `cbor:"1,keyasint,omitempty"`
	Script   string     `cbor:"2,keyasint,omitempty"`
	Env      []string   `cbor:"3,keyasint,omitempty"` // "NAME=value", sorted by name
	Tasks    uint32     `cbor:"4,keyasint,omitempty"` // 1 unless it is an array
	Throttle uint32     `cbor:"5,keyasint,omitempty"` // at most so many tasks live at once; 0: no limit

	After []dependency.After `cbor:"33,keyasint,omitempty"` // jobs that it waits for, in rising order
	Stdin string             `cbor:"34,keyasint,omitempty"` // standard input of rank 0, as base64; empty: none

	// SubmitEnv is the environment of the submission, as Env: what Berth and Env set comes after it. Names of exported shell
	// functions are allowed.
	SubmitEnv []string `cbor:"36,keyasint,omitempty"`

	Capped bool `cbor:"35,keyasint,omitempty"` // the caller is no operator: what is kept for operators is closed to it
}

// Kind returns KindSubmit.
func (*Submit) Kind() Kind { return KindSubmit }

// Validate checks the spec, the script, the environment and the array.
func (b *Submit) Validate() error {
	switch {
	case b.Tasks < 1 || b.Tasks > model.MaxTasks:
		return invalid("array", fmt.Sprintf("1 to %d tasks", model.MaxTasks))
	case b.Spec.Command == "" && b.Script == "":
		return invalid("command", "given, or a script")
	case sealedWithin(b.Script, model.MaxScript):
	case len(b.Script) > model.MaxScript || !utf8.ValidString(b.Script) || strings.ContainsRune(b.Script, 0):
		return invalid("script", fmt.Sprintf("at most %d bytes of UTF-8 without NUL", model.MaxScript))
	}
	return validFirstOf(b.Spec.Validate(), b.validArray(), validEnv(b.Env), validSubmitEnv(b.SubmitEnv), dependency.Validate(b.After),
		validStdin(b.Stdin))
}

func (b *Submit) tasks() int { return int(b.Tasks) }

// Bytes returns about how much memory a job takes at each peer, in bytes: the texts of its user, and the rows
// of its tasks and dependencies.
func (b *Submit) Bytes() uint32 {
	const ( // about what rows take, with the keys of their indexes and, of a task, the first line of its timeline
		jobSize   = 1024
		taskSize  = 512
		afterSize = 64
	)
	n := len(b.Script) + len(b.Stdin) + b.Spec.TextBytes()
	for _, kv := range b.Env {
		n += len(kv) + 1
	}
	for _, kv := range b.SubmitEnv {
		n += len(kv) + 1
	}
	return uint32(n + jobSize + taskSize*int(b.Tasks) + afterSize*len(b.After))
}

func (b *Submit) validArray() error { return validArray(&b.Spec, b.Tasks) }

// Cancel ends tasks: those that wait at once, those that run by signal, grace
// and kill.
type Cancel struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"`
	Task int64       `cbor:"2,keyasint,omitempty"` // or AllTasks
	Note string      `cbor:"3,keyasint,omitempty"`

	Tasks string `cbor:"33,keyasint,omitempty"` // with AllTasks: only these, as model.Indices writes them
}

// Kind returns KindCancel.
func (*Cancel) Kind() Kind { return KindCancel }

// Validate checks the target.
func (b *Cancel) Validate() error {
	return validFirstOf(validTarget(b.Job, b.Task), validTasks(b.Task, b.Tasks), validNote(b.Note))
}

// SetPriority moves the tasks of a job that have not ended to another class, or the job to the place of another one in
// the order of the queue. A class ends such a place.
type SetPriority struct {
	Job      model.JobID `cbor:"1,keyasint,omitempty"`
	Class    model.Class `cbor:"2,keyasint,omitempty"`
	Priority uint8       `cbor:"3,keyasint,omitempty"` // as given, 1 to 10

	Before model.JobID `cbor:"4,keyasint,omitempty"` // in place of a class: the job that waits and ahead of which this one goes
}

// Kind returns KindSetPriority.
func (*SetPriority) Kind() Kind { return KindSetPriority }

// Validate checks the class, or the other job.
func (b *SetPriority) Validate() error {
	switch {
	case b.Before == 0:
	case b.Class != 0 || b.Priority != 0:
		return invalid("before", "given without a class")
	case b.Before == b.Job:
		return invalid("before", "another job than the one that is moved")
	default:
		return validFirstOf(validTarget(b.Job, model.AllTasks), validTarget(b.Before, model.AllTasks))
	}
	if !b.Class.Valid() || b.Priority > model.MaxPriority {
		return invalid("priority", "a class from 1 (low) to 4 (critical)")
	}
	return validTarget(b.Job, model.AllTasks)
}

// Hold keeps waiting tasks from starting.
type Hold struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"`
	Task int64       `cbor:"2,keyasint,omitempty"` // or AllTasks
	Note string      `cbor:"3,keyasint,omitempty"`

	Tasks string `cbor:"33,keyasint,omitempty"` // with AllTasks: only these, as model.Indices writes them
}

// Kind returns KindHold.
func (*Hold) Kind() Kind { return KindHold }

// Validate checks the target.
func (b *Hold) Validate() error {
	return validFirstOf(validTarget(b.Job, b.Task), validTasks(b.Task, b.Tasks), validNote(b.Note))
}

// Release lets held tasks start again. It ends a retry's backoff and lets the task have the GPUs that failed
// it; of a task that was not held it ends the wait for the begin.
type Release struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"`
	Task int64       `cbor:"2,keyasint,omitempty"` // or AllTasks

	Tasks string `cbor:"33,keyasint,omitempty"` // with AllTasks: only these, as model.Indices writes them
}

// Kind returns KindRelease.
func (*Release) Kind() Kind { return KindRelease }

// Validate checks the target.
func (b *Release) Validate() error {
	return validFirstOf(validTarget(b.Job, b.Task), validTasks(b.Task, b.Tasks))
}

// Requeue stops running tasks and moves them back to the queue, uncharged. With Hold they come back held, and tasks that
// wait are held at once.
type Requeue struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"`
	Task int64       `cbor:"2,keyasint,omitempty"` // or AllTasks
	Note string      `cbor:"3,keyasint,omitempty"`

	Tasks string `cbor:"33,keyasint,omitempty"` // with AllTasks: only these, as model.Indices writes them
	Hold  bool   `cbor:"34,keyasint,omitempty"`
}

// Kind returns KindRequeue.
func (*Requeue) Kind() Kind { return KindRequeue }

// Validate checks the target.
func (b *Requeue) Validate() error {
	return validFirstOf(validTarget(b.Job, b.Task), validTasks(b.Task, b.Tasks), validNote(b.Note))
}

// Extend raises a job's time limit, also for running tasks.
type Extend struct {
	Job       model.JobID   `cbor:"1,keyasint,omitempty"`
	TimeLimit time.Duration `cbor:"2,keyasint,omitempty"` // the new one, from the start of an attempt; or
	By        time.Duration `cbor:"3,keyasint,omitempty"` // so much more than it is
}

// Kind returns KindExtend.
func (*Extend) Kind() Kind { return KindExtend }

// Validate checks that one of the two is given.
func (b *Extend) Validate() error {
	if b.TimeLimit < 0 || b.By < 0 || (b.TimeLimit == 0) == (b.By == 0) || max(b.TimeLimit, b.By) > model.MaxDuration {
		return invalid("time_limit", "more than 0 and at most 366 days, or by, and not both")
	}
	return validTarget(b.Job, model.AllTasks)
}

// Purge removes what an ended job ran with: its script, its input and its environments.
type Purge struct {
	Job model.JobID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindPurge.
func (*Purge) Kind() Kind { return KindPurge }

// Validate requires a job.
func (b *Purge) Validate() error { return validTarget(b.Job, model.AllTasks) }

// Place gives a queued task its GPUs, or of a job without GPUs its cores and memory, and makes its next attempt. It names the state that it
// was decided on; Apply checks every part again.
type Place struct {
	Attempt model.AttemptKey `cbor:"1,keyasint,omitempty"`
	Decided uint64           `cbor:"2,keyasint,omitempty"` // log index of the state it was decided on
	Ranks   []Placement      `cbor:"3,keyasint,omitempty"` // rank by rank
	Secret  model.Hash       `cbor:"4,keyasint,omitempty"` // random, for several ranks; see model.Attempt
}

// Placement is one rank's node and slots.
type Placement struct {
	Node  model.NodeID    `cbor:"1,keyasint,omitempty"`
	Epoch uint64          `cbor:"2,keyasint,omitempty"`
	Slots []model.SlotKey `cbor:"3,keyasint,omitempty"` // in order of place; none for a job without GPUs
}

// Kind returns KindPlace.
func (*Place) Kind() Kind { return KindPlace }

// Validate checks the sizes, that no node and no slot comes twice, and that all ranks have slots or none has.
func (b *Place) Validate() error {
	if b.Attempt.Job == 0 || b.Attempt.N == 0 {
		return invalid("attempt", "a job and an attempt's number")
	}
	return validPlacements(len(b.Ranks), model.MaxRanks,
		func(i int) (model.NodeID, []model.SlotKey) { return b.Ranks[i].Node, b.Ranks[i].Slots })
}

// Preempt claims GPUs for a waiting task or service, and stops the attempts that hold them.
type Preempt struct {
	Victims     []model.AttemptKey `cbor:"1,keyasint,omitempty"`
	Beneficiary model.TaskKey      `cbor:"2,keyasint,omitempty"`
	Until       model.Time         `cbor:"3,keyasint,omitempty"`
	// Slots are claimed: the victims', or others that are free or soon will be. Empty: all of the victims'.
	Slots   []model.SlotKey `cbor:"4,keyasint,omitempty"`
	Decided uint64          `cbor:"5,keyasint,omitempty"` // log index of the state it was decided on
}

// Kind returns KindPreempt.
func (*Preempt) Kind() Kind { return KindPreempt }

// Validate bounds the lists, at least one of which must not be empty.
func (b *Preempt) Validate() error {
	if b.Beneficiary.Job == 0 && !b.Beneficiary.IsTurn() {
		return invalid("beneficiary", "a task")
	}
	slots := slices.Clone(b.Slots)
	slices.SortFunc(slots, model.SlotKey.Compare)
	if len(slots) > model.MaxGPUs || len(slices.Compact(slots)) != len(b.Slots) {
		return invalid("slots", "different, and at most 8192")
	}
	if len(b.Slots) > 0 {
		return validCount("victims", len(b.Victims), 0, 1024)
	}
	return validCount("victims", len(b.Victims), 1, 1024)
}

// ExpireClaims removes claims whose time has come.
type ExpireClaims struct {
	Slots []model.SlotKey `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindExpireClaims.
func (*ExpireClaims) Kind() Kind { return KindExpireClaims }

// Validate bounds the list.
func (b *ExpireClaims) Validate() error { return validCount("slots", len(b.Slots), 1, 4096) }

// StartOverdue stops an attempt whose ranks did not all start in time, uncharged.
type StartOverdue struct {
	Attempt model.AttemptKey `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindStartOverdue.
func (*StartOverdue) Kind() Kind { return KindStartOverdue }

// Validate requires an attempt.
func (b *StartOverdue) Validate() error {
	if b.Attempt.Job == 0 || b.Attempt.N == 0 {
		return invalid("attempt", "a job and an attempt's number")
	}
	return nil
}
