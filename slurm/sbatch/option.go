// Package sbatch understands the scripts and the options of Slurm's sbatch: it reads #SBATCH lines, SBATCH_*
// variables and the words of a command line, and derives what a job needs as Slurm derives it. It runs nothing and
// reads no file. One table holds all options ([Table]); docs/slurm.md lists them.
//
//berth:single
package sbatch

import (
	"slices"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/option"
)

// Takes says whether an option has a value.
type Takes = option.Takes

// What an option takes.
const (
	TakesNone     = option.TakesNone
	TakesValue    = option.TakesValue
	TakesOptional = option.TakesOptional
)

// Effect says what becomes of an option.
type Effect int

// The effects of options.
const (
	Used     Effect = iota
	NoEffect        // accepted; a note says why it has no effect
	Refused         // it would change the meaning of the job, and Berth has no counterpart
)

// String returns the effect in words.
func (e Effect) String() string {
	switch e {
	case NoEffect:
		return "no effect"
	case Refused:
		return "refused"
	case Used:
	}
	return "used"
}

// Option is one option of sbatch.
type Option struct {
	Name   string   // long name, without --
	Others []string // other long names of the same option
	Short  byte     // letter, or 0
	Takes  Takes
	Form   string   // form of its value, such as N or LIST
	Env    []string // input variables; the first that is set counts
	Effect Effect
	Text   string // what it does; or why it has no effect; or why it is refused
	Remedy string // of a refused one: what to do instead

	set    setter                      // nil: nothing to keep
	moment func(*Options) *form.Moment // where a time is kept, in place of set; nil: the value is none
}

// Table returns all options of sbatch, in the order of the documentation.
func Table() []Option {
	return slices.Concat(jobOptions(), sizeOptions(), socketOptions(), gpuOptions(), memoryOptions(), placeOptions(), timeOptions(),
		fileOptions(),
		environmentOptions(), endOptions(), replyOptions(), containerOptions(), silentOptions(), silentHardware(), refusedOptions())
}

// names returns all long names of an option.
func (o *Option) names() []string { return append([]string{o.Name}, o.Others...) }

// Spelling returns the option as users write it, such as --nodes.
func (o *Option) Spelling() string { return "--" + o.Name }

// index finds options by their names.
type index struct {
	all  []Option
	long map[string]*Option
	set  *option.Set
}

func newIndex() *index {
	x := &index{all: Table(), long: map[string]*Option{}}
	set := make([]option.Option, len(x.all))
	for i := range x.all {
		o := &x.all[i]
		for _, name := range o.names() {
			x.long[name] = o
		}
		set[i] = option.Option{Name: o.Name, Others: o.Others, Short: o.Short, Takes: o.Takes, Form: o.Form}
	}
	x.set = option.NewSet("sbatch", set)
	return x
}
