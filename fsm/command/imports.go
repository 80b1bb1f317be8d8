package command

import (
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// BeginImport opens an empty cluster for jobs from state files: until EndImport nothing is placed and nothing
// else is submitted. An import that was begun already continues.
type BeginImport struct {
	ID    model.Hash `cbor:"1,keyasint,omitempty"` // of what is imported
	Parts uint32     `cbor:"2,keyasint,omitempty"` // how many commands bring its jobs; 0 to model.MaxImportParts
}

// Kind returns KindBeginImport.
func (*BeginImport) Kind() Kind { return KindBeginImport }

// Validate requires an id and bounds the parts.
func (b *BeginImport) Validate() error {
	if b.Parts > model.MaxImportParts {
		return invalid("parts", "at most 1048576")
	}
	return validImport(b.ID)
}

// ImportJobs contains one part of an import's jobs, in the order of their numbers; it may be empty. A
// repeated part changes nothing.
type ImportJobs struct {
	ID    model.Hash    `cbor:"1,keyasint,omitempty"` // of the import
	Part  uint32        `cbor:"2,keyasint,omitempty"` // from 0
	Texts []string      `cbor:"3,keyasint,omitempty"` // scripts and environments, which jobs share
	Jobs  []ImportedJob `cbor:"4,keyasint,omitempty"`
}

// ImportedJob is a job as it waited, or ran, on another cluster. It is queued under its own number, without
// regard to limits: it was admitted once.
type ImportedJob struct {
	ID        model.JobID        `cbor:"1,keyasint,omitempty"`
	Spec      model.Spec         `cbor:"2,keyasint,omitempty"`
	Script    uint32             `cbor:"3,keyasint,omitempty"` // its place in Texts, from 1; 0: none
	Env       uint32             `cbor:"4,keyasint,omitempty"` // likewise; "NAME=value", sorted by name, NUL between two
	Tasks     uint32             `cbor:"5,keyasint,omitempty"` // those that had not ended
	Throttle  uint32             `cbor:"6,keyasint,omitempty"` // at most so many tasks live at once; 0: no limit
	After     []dependency.After `cbor:"7,keyasint,omitempty"` // jobs of the same import that it waits for, in rising order
	Submitted model.Time         `cbor:"8,keyasint,omitempty"` // when, at first; 0: now
	Held      string             `cbor:"9,keyasint,omitempty"` // which tasks of an array are held, as model.Indices writes them; empty: as the spec has it
	Note      string             `cbor:"10,keyasint,omitempty"`
	Stdin     uint32             `cbor:"11,keyasint,omitempty"` // its place in Texts, as Script; base64
	SubmitEnv uint32             `cbor:"12,keyasint,omitempty"` // likewise; as Env
}

// Kind returns KindImportJobs.
func (*ImportJobs) Kind() Kind { return KindImportJobs }

func (b *ImportJobs) tasks() (n int) {
	for i := range b.Jobs {
		n += int(b.Jobs[i].Tasks)
	}
	return n
}

// Validate checks the texts, and each job like a submission.
func (b *ImportJobs) Validate() error {
	const maxImportedID = 1 << 53 // leaves enough numbers for all future jobs
	if err := validFirstOf(validImport(b.ID), validCount("jobs", len(b.Jobs), 0, model.MaxImportJobs)); err != nil {
		return err
	}
	if b.tasks() > LaneUser.Room()/taskWeight {
		return invalid("jobs", "fewer in a part: their tasks are more than one log entry may bring")
	}
	for _, text := range b.Texts {
		if text == "" || len(text) > MaxSubmitEnv && !sealedWithin(text, MaxSubmitEnv) || !utf8.ValidString(text) {
			return invalid("texts", "1 byte to 1 MiB of UTF-8 each")
		}
	}
	last := model.JobID(0)
	for i := range b.Jobs {
		j := &b.Jobs[i]
		if j.ID <= last || j.ID > maxImportedID {
			return invalid("id", "a number from 1 to 2^53, and greater than that of the job before")
		}
		last = j.ID
		if err := b.validJob(j); err != nil {
			return err
		}
	}
	return nil
}

func (b *ImportJobs) validJob(j *ImportedJob) error {
	if int(max(j.Script, j.Env, j.Stdin, j.SubmitEnv)) > len(b.Texts) {
		return invalid("texts", "as many as jobs name")
	}
	for _, a := range j.After {
		if a.Job >= j.ID {
			return invalid("dependencies", "earlier jobs")
		}
	}
	return validFirstOf(validSavedJob(&j.Spec, j.Tasks, j.Submitted, j.Held),
		validSavedTexts(&j.Spec, b.Text(j.Script), b.Text(j.Env), b.Text(j.Stdin), b.Text(j.SubmitEnv)),
		dependency.Validate(j.After), validNote(j.Note))
}

// Text returns the n-th of the texts, from 1; 0: none.
func (b *ImportJobs) Text(n uint32) string {
	if n == 0 {
		return ""
	}
	return b.Texts[n-1]
}

// EndImport allows placements of the imported jobs.
type EndImport struct {
	ID model.Hash `cbor:"1,keyasint,omitempty"` // of the import
	// Short ends an import whose missing parts will never come.
	Short bool `cbor:"2,keyasint,omitempty"`
}

// Kind returns KindEndImport.
func (*EndImport) Kind() Kind { return KindEndImport }

// Validate requires an id.
func (b *EndImport) Validate() error { return validImport(b.ID) }

// Target returns the import.
func (b *BeginImport) Target() string { return targetImport(b.ID) }

// Target returns the import.
func (b *ImportJobs) Target() string { return targetImport(b.ID) }

// Target returns the import.
func (b *EndImport) Target() string { return targetImport(b.ID) }
