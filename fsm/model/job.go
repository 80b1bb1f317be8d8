package model

import (
	"cmp"
	"time"
)

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

	Waits uint32 `cbor:"30,keyasint,omitempty"` // dependencies that are not decided yet
	Each  uint32 `cbor:"34,keyasint,omitempty"` // of those, how many are decided for each task by itself ([Task.Waits])
	Begun uint32 `cbor:"35,keyasint,omitempty"` // tasks that have run, or ended without

	SubmitEnv Hash `cbor:"33,keyasint,omitempty"` // environment of the submission, in the blobs table: what [Job.Env] and Berth set comes after it; zero: none

	Stdin Hash `cbor:"31,keyasint,omitempty"` // base64 in the blobs table, for rank 0 of each attempt; zero: none

	Bytes uint32 `cbor:"32,keyasint,omitempty"` // about the memory that it takes: its texts, such as script and environment, and its rows

	Purged Time `cbor:"37,keyasint,omitempty"` // when its script, its input and its environments were removed; 0: they were not

	Place Place `cbor:"36,keyasint,omitempty"` // where an operator has moved it in the order of the queue
}

// Place is the place in the order of the queue to which an operator has moved a job: that of another job, as it was
// then. The order goes by these values in place of the job's own, and puts the job ahead of the other one.
type Place struct {
	Before JobID  `cbor:"1,keyasint,omitempty"` // the other job; 0: the job was not moved
	Turn   uint32 `cbor:"2,keyasint,omitempty"` // among jobs that were moved to the same place: the greatest goes first; at least 1

	// What an order may go by, of the task whose place it is.
	Task     TaskKey       `cbor:"3,keyasint,omitempty"`
	Class    Class         `cbor:"4,keyasint,omitempty"`
	Since    Time          `cbor:"5,keyasint,omitempty"` // since when it could run
	Executed time.Duration `cbor:"6,keyasint,omitempty"` // run time that it had ceded
	Project  string        `cbor:"7,keyasint,omitempty"`
	User     string        `cbor:"8,keyasint,omitempty"`
	GPUs     uint32        `cbor:"9,keyasint,omitempty"`
	Expected Step          `cbor:"10,keyasint,omitempty"` // run time that it was thought to need yet
}

// Moved reports whether the job was moved.
func (p *Place) Moved() bool { return p.Before != 0 }

// With returns the place with another turn, which compares equal for all jobs that were moved to one place.
func (p Place) With(before JobID, turn uint32) Place {
	p.Before, p.Turn = before, turn
	return p
}

// Compare orders by what the places are of, then by turn. It is no order of the queue.
func (p *Place) Compare(o *Place) int {
	return cmp.Or(p.Task.Compare(o.Task), cmp.Compare(o.Turn, p.Turn), cmp.Compare(p.Before, o.Before), cmp.Compare(p.Class, o.Class),
		cmp.Compare(p.Since, o.Since), cmp.Compare(p.Executed, o.Executed), cmp.Compare(p.Project, o.Project), cmp.Compare(p.User, o.User),
		cmp.Compare(p.GPUs, o.GPUs), cmp.Compare(p.Expected, o.Expected))
}

// Blocked reports whether the job waits for others as a whole: none of its tasks is queued before.
func (j *Job) Blocked() bool { return j.Waits > j.Each }

// Hinders reports whether a task of the job waits for other jobs.
func (j *Job) Hinders(t *Task) bool { return j.Blocked() || t.Waits }

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

	Waits bool `cbor:"21,keyasint,omitempty"` // for dependencies of its job that are decided for each task by itself

	Since  Time          `cbor:"22,keyasint,omitempty"` // since when it could run, later by the time for which it was held; see WaitedAt
	Paused Time          `cbor:"23,keyasint,omitempty"` // since when it is held and does not grow older; 0: it is not
	Waited time.Duration `cbor:"24,keyasint,omitempty"` // until it first started
	Ceded  time.Duration `cbor:"25,keyasint,omitempty"` // run time of the attempts that were stopped for other jobs: no wait
}

// WaitedAt returns for how long the task has waited at an instant: from when it could have run, so from its submission,
// its begin or the end of what it waited for, without the time for which it was held. What it has run since is included.
func (t *Task) WaitedAt(now Time) time.Duration {
	if t.Paused > 0 {
		now = min(now, t.Paused)
	}
	return max(now.Sub(t.Since), 0)
}

// AgeAt returns how long a wait counts in the order of the queue at an instant: WaitedAt without the run time that the task
// has ceded to other jobs. Run time that ended otherwise counts: a task that is sent back has its old place.
func (t *Task) AgeAt(now Time) time.Duration { return max(t.WaitedAt(now)-t.Ceded, 0) }

// NotRunAt returns for how long the task has waited at an instant, without the time in which it has run: the wait that
// answers, events and series show.
func (t *Task) NotRunAt(now Time) time.Duration { return max(t.WaitedAt(now)-t.Executed, 0) }

// Eligible returns since when the task could run before it first started.
func (t *Task) Eligible() Time {
	if t.Started > 0 {
		return t.Started.Add(-t.Waited)
	}
	return t.Since
}

// Pause notes that the task is held from an instant on.
func (t *Task) Pause(now Time) {
	if t.Paused == 0 {
		t.Paused = now
	}
}

// Resume notes that the task is held no longer.
func (t *Task) Resume(now Time) {
	switch {
	case t.Paused == 0:
		return
	case t.Since > t.Paused:
		t.Since = max(t.Since, now)
	default:
		t.Since = t.Since.Add(now.Sub(t.Paused))
	}
	t.Paused = 0
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
	return NameOf(k, "", "submitted", "scheduled", "allocating", "running", "stopping", "rank_lost", "requeued",
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

// Sketch is what a user's runs of one name and size have taken: the scheduler's memory for predicting the next.
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
