// Package dependency has the conditions on earlier jobs under which a job starts.
//
//berth:pure
package dependency

import (
	"cmp"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Row is one condition on an earlier job, as the state keeps it.
//
//berth:row
type Row struct {
	Key   Key           `cbor:"1,keyasint,omitempty"`
	State State         `cbor:"2,keyasint,omitempty"`
	Any   bool          `cbor:"3,keyasint,omitempty"` // one of the job's conditions with this mark is enough
	Each  bool          `cbor:"4,keyasint,omitempty"` // decided for each task of the waiting job by itself
	Delay time.Duration `cbor:"5,keyasint,omitempty"` // of AfterBegin: how long after the begin
	Due   model.Time    `cbor:"6,keyasint,omitempty"` // of AfterBegin, once the awaited job has begun: when the condition holds; else 0
}

// Key orders conditions by the waiting job.
type Key struct {
	Job  model.JobID `cbor:"1,keyasint,omitempty"` // that waits
	On   model.JobID `cbor:"2,keyasint,omitempty"` // that it waits for: an earlier one
	Kind Kind        `cbor:"3,keyasint,omitempty"`
}

// Compare orders by the waiting job, then by the awaited one, then by the kind.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Job, o.Job), cmp.Compare(k.On, o.On), cmp.Compare(k.Kind, o.Kind))
}

// After is a condition as it is submitted.
type After struct {
	Job   model.JobID   `cbor:"1,keyasint,omitempty"`
	Kind  Kind          `cbor:"2,keyasint,omitempty"`
	Any   bool          `cbor:"3,keyasint,omitempty"` // one of the conditions with this mark is enough
	Delay time.Duration `cbor:"4,keyasint,omitempty"` // of AfterBegin: how long after the begin, in whole minutes
}

// Compare orders by the awaited job, then by the kind.
func (a After) Compare(o After) int {
	return cmp.Or(cmp.Compare(a.Job, o.Job), cmp.Compare(a.Kind, o.Kind))
}

// Valid reports whether the kind is known, and the delay possible.
func (a After) Valid() bool {
	whole := a.Delay >= 0 && a.Delay <= model.MaxDuration && a.Delay%time.Minute == 0
	return a.Kind.Valid() && whole && (a.Delay == 0 || a.Kind == AfterBegin)
}

// String returns the condition as the API and the command line write it: afterok:12, after:12+5.
func (a After) String() string {
	text := a.Kind.String() + ":" + a.Job.String()
	if a.Delay > 0 {
		text += "+" + strconv.Itoa(int(a.Delay/time.Minute))
	}
	return text
}

// After returns the condition as it was submitted.
func (r *Row) After() After {
	return After{Job: r.Key.On, Kind: r.Key.Kind, Any: r.Any, Delay: r.Delay}
}

// Validate checks that every condition on an awaited job is named once, in rising order.
func Validate(list []After) error {
	if len(list) > model.MaxAfter {
		return &model.Problem{Field: "dependencies", Want: "at most 64 jobs"}
	}
	last := After{}
	for _, a := range list {
		switch {
		case !a.Valid():
			return &model.Problem{Field: "dependencies", Want: "after, afterok, afterany, afternotok or aftercorr of a job, after with whole minutes"}
		case a.Job == 0 || a.Compare(last) <= 0:
			return &model.Problem{Field: "dependencies", Want: "different jobs, each named once, in rising order"}
		}
		last = a
	}
	return nil
}

// Texts returns conditions as a submission has them: those of which one is enough are one text, joined by question marks.
func Texts(list []After) (out []string) {
	anyOf := ""
	for _, a := range list {
		switch {
		case !a.Any:
			out = append(out, a.String())
		case anyOf == "":
			anyOf = a.String()
		default:
			anyOf += "?" + a.String()
		}
	}
	if anyOf != "" {
		out = append(out, anyOf)
	}
	return out
}

// Kind is what must have happened to the awaited job.
type Kind uint8

// The kinds of conditions. Of an array all tasks count.
const (
	AfterOK    Kind = 1 // every task completes
	AfterAny   Kind = 2 // every task ends, however
	AfterNotOK Kind = 3 // every task ends, and at least one failed or was canceled
	AfterBegin Kind = 4 // every task has begun, or ended without; then the delay passes
	AfterCorr  Kind = 5 // the task of the same number completes; if there is none, every task does
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return k >= AfterOK && k <= AfterCorr }

// String returns the kind's name in API and command line.
func (k Kind) String() string {
	return model.NameOf(k, "", "afterok", "afterany", "afternotok", "after", "aftercorr")
}

// Wish returns the awaited event, in a word.
func (k Kind) Wish() string {
	return model.NameOf(k, "", "completed", "ended", "failed", "begun", "completed")
}

// OfSuccess reports whether the kind asks for completed tasks.
func (k Kind) OfSuccess() bool { return k == AfterOK || k == AfterCorr }

// Judge returns the state of a condition on a job in its state, without the delay of AfterBegin. Of AfterCorr the state
// is that of the condition as a whole: tasks of the waiting job may start before.
func (k Kind) Judge(on *model.Job) State {
	failed := on.Failed+on.Canceled > 0
	switch {
	case k == AfterBegin && on.Begun == on.Tasks:
		return Met
	case on.EndIndex == 0:
		return Waits
	case k.OfSuccess() && failed, k == AfterNotOK && !failed:
		return Never
	}
	return Met
}

// State is what has become of a condition.
type State uint8

// The states of a condition.
const (
	Waits   State = 1 // for the awaited job, or for the end of the delay
	Met     State = 2 // the awaited job has done as it should
	Never   State = 3 // it has ended otherwise
	Dropped State = 4 // removed, or not needed any more
)

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s >= Waits && s <= Dropped }

// String returns the state's name.
func (s State) String() string { return model.NameOf(s, "", "waiting", "met", "never", "dropped") }
