package intake

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Field is a value of a submission: its names, bounds and meaning, the options of the command line that set it,
// and how it is converted to the specification of a job and back.
type Field struct {
	Name    string   // in requests
	Aliases []string // other names of it in requests
	Doc     string   // its meaning, for the API's description and docs/api.md
	Flags   []Flag

	Kind        string // form of its values, in words
	Bounds      string // allowed values, in words; empty: Doc has them, or any is allowed
	Least, Most int64  // bounds of a number; Most 0: it has none

	read  func(*wire.Submit, *command.Submit, model.Time) error // from a request; nil: another field or a check of several reads it
	write func(*model.Job, *wire.Submit)                        // into a request; nil: other fields bring it back
	usual func(*wire.Submit, *model.Spec, *model.Settings)      // the cluster's value where the request has none; nil: there is none
}

// Flag is an option of the command line, and of the #BERTH lines of a script.
type Flag struct {
	Name, Short, Help string
	Usual             string // value without the option

	Form FlagForm
	// Set copies the value into a request; nil: the command does, since the value needs the user's environment,
	// clock or cluster.
	Set func(*wire.Submit, *FlagValue) error
}

// FlagForm is the form of an option's value.
type FlagForm uint8

// The forms.
const (
	FormText   FlagForm = iota
	FormNumber          // a whole number
	FormSwitch          // true or false; true without a value
	FormList            // texts, separated by commas
	FormRepeat          // texts, one each time that the option is given
	FormCodes           // whole numbers, separated by commas
)

// FlagValue is the value of an option, in the member of its form.
type FlagValue struct {
	Text   string
	Number int64
	On     bool
	List   []string
	Codes  []int64
}

// fields is the table of all fields of a submission.
var fields = allFields()

// Fields returns the fields of a submission, in the order in which they are described and read.
func Fields() []Field { return fields }

// Parser returns the strict parser of submissions.
func Parser() strict.Parser[wire.Submit] {
	table := map[string]strict.Field{}
	for _, f := range fields {
		table[f.Name] = strict.Field{Doc: f.Doc, Least: f.Least, Most: f.Most}
		for _, other := range f.Aliases {
			table[other] = strict.Field{Doc: "another name of " + f.Name}
		}
	}
	return strict.New[wire.Submit]().With(table)
}

// Request converts a job to the submission that would give the same specification: the inverse of [submission],
// without the script, the standard input, the environment and the dependencies.
func Request(j *model.Job) *wire.Submit {
	r := &wire.Submit{}
	for _, f := range fields {
		if f.write != nil {
			f.write(j, r)
		}
	}
	return r
}

// complete fills in the cluster's values of fields that a request leaves out. A job without GPUs has no idle_stop.
func complete(r *wire.Submit, s *model.Spec, set *model.Settings) {
	for _, f := range fields {
		if f.usual != nil {
			f.usual(r, s, set)
		}
	}
	if s.WithoutGPUs() {
		s.IdleStop = 0
	}
}

// readAll reads all fields of a request, each by itself.
func readAll(r *wire.Submit, c *command.Submit, now model.Time) error {
	for _, f := range fields {
		if f.read == nil {
			continue
		}
		if err := f.read(r, c, now); err != nil {
			return err
		}
	}
	return nil
}

// same returns the one value that is given under two names.
func same[T comparable](name, other string, a, b *T) (*T, error) {
	switch {
	case a == nil:
		return b, nil
	case b != nil && *a != *b:
		return nil, problem.Invalid(other, "is another name of "+name+", and the values differ")
	}
	return a, nil
}
