package command

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of one command.
const (
	MaxSettled = 256 // jobs of a Settle
	MaxOverdue = 64  // jobs of an Overdue
)

// Settle checks what jobs wait for: one whose awaited jobs have all ended as they should joins the queue, one
// that waits in vain is canceled. The leader proposes it for jobs of which an awaited one has ended.
type Settle struct {
	Jobs []model.JobID `cbor:"1,keyasint,omitempty"` // that wait
}

// Kind returns KindSettle.
func (*Settle) Kind() Kind { return KindSettle }

// Validate bounds the list.
func (b *Settle) Validate() error { return validCount("jobs", len(b.Jobs), 1, MaxSettled) }

// DropDependencies removes a job's dependencies on other jobs.
type DropDependencies struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"`
	Note string      `cbor:"2,keyasint,omitempty"`
}

// Kind returns KindDropDependencies.
func (*DropDependencies) Kind() Kind { return KindDropDependencies }

// Validate checks the target.
func (b *DropDependencies) Validate() error {
	return validFirstOf(validTarget(b.Job, model.AllTasks), validNote(b.Note))
}

// Overdue fails the tasks of jobs whose deadline has come: those that wait at once, those that run by signal,
// grace and kill. The leader proposes it.
type Overdue struct {
	Jobs []model.JobID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindOverdue.
func (*Overdue) Kind() Kind { return KindOverdue }

// Validate bounds the list.
func (b *Overdue) Validate() error { return validCount("jobs", len(b.Jobs), 1, MaxOverdue) }
