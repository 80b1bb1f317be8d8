package sbatch

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/form"
)

// Input is all that sbatch reads.
type Input struct {
	Command Command
	Script  []byte                           // the script; not read with --wrap
	Env     func(name string) (string, bool) // variables of the submission; nil: none
	Now     time.Time                        // for times such as now+1hour, in the user's time zone
}

// Note is something that the user should know and that is no error.
type Note struct {
	Option string // long name, without --; empty: the note is about no option
	Text   string // a sentence, without the option
}

// String returns the note with the full name of its option.
func (n Note) String() string {
	if n.Option == "" {
		return n.Text
	}
	return "--" + n.Option + ": " + n.Text
}

// Job is what has been understood.
type Job struct {
	Options   Options
	Script    []byte
	Arguments []string
	Notes     []Note  // each option without effect once, in the order in which they were given
	Given     []Given // the options that count, each once
}

// Parse reads the options of a job: those of the script first, then the variables, then the command line. What comes
// later overrules what came before. The error, an [*Error], is the first one that is found.
func Parse(in Input) (Job, error) {
	job := Job{Script: in.Script, Arguments: in.Command.Arguments}
	if in.Command.Wrap {
		job.Script = wrapped(in.Command)
	}
	if err := checkScript(job.Script); err != nil {
		return Job{}, err
	}
	x := newIndex()
	given, notes, err := x.fromScript(job.Script)
	if err != nil {
		return Job{}, err
	}
	job.Notes = notes
	vars := dropVariables(x.fromEnv(in.Env), slices.Concat(given, in.Command.Given))
	given = slices.Concat(given, vars, in.Command.Given)
	for _, g := range given {
		if err := apply(&job.Options, x.long[g.Option], g, in.Now); err != nil {
			return Job{}, err
		}
	}
	job.Given = last(given)
	if job.Options.IgnorePBS {
		job.Notes = slices.DeleteFunc(job.Notes, func(n Note) bool { return n.Text == pbsNote })
	}
	job.Notes = append(job.Notes, notesOf(&job.Options, job.Given, x)...)
	if job.Options.JobName == "" {
		job.Options.JobName = usualName(in.Command)
	}
	return job, check(&job.Options, job.Given)
}

const pbsNote = "#PBS and #BSUB lines are not read; write their options as #SBATCH"

// wrapped returns the script of --wrap.
func wrapped(c Command) []byte {
	command := ""
	for _, g := range c.Given {
		if g.Option == "wrap" {
			command = g.Value
		}
	}
	return []byte("#!/bin/sh\n# The command of sbatch --wrap.\n\n" + command + "\n")
}

// usualName returns the name of a job that has been given none.
func usualName(c Command) string {
	switch {
	case c.Wrap:
		return "wrap"
	case c.Script == "":
		return "sbatch"
	}
	return path.Base(c.Script)
}

// fromScript returns the options of a script.
func (x *index) fromScript(script []byte) (all []Given, notes []Note, err error) {
	lines, foreign, err := directives(script)
	if err != nil {
		return nil, nil, err
	}
	if foreign > 0 {
		notes = append(notes, Note{Text: pbsNote})
	}
	for _, d := range lines {
		given, rest, err := x.parse(d.words, d.where())
		if err != nil {
			return nil, nil, err
		}
		if len(rest) > 0 {
			return nil, nil, &Error{Where: d.where(), Problem: fmt.Sprintf(
				"%q is no option: options begin with - or --, and a value with blanks is put in quotes", clip(rest[0]))}
		}
		for _, g := range given {
			if o := x.long[g.Option]; o.Name == "wrap" || o.Name == "help" || o.Name == "usage" || o.Name == "version" {
				return nil, nil, &Error{Where: d.where(), Option: o.Spelling(), Problem: "the option belongs to the command line: remove it from the script"}
			}
		}
		if d.cut && len(given) > 0 {
			notes = append(notes, Note{Option: given[len(given)-1].Option, Text: fmt.Sprintf(
				"in %s the # inside of the word begins a comment; put the value in quotes if it belongs to it", d.where())})
		}
		all = append(all, given...)
	}
	return all, notes, nil
}

// fromEnv returns the options of variables.
func (x *index) fromEnv(env func(string) (string, bool)) []Given {
	if env == nil {
		return nil
	}
	var all []Given
	for i := range x.all {
		o := &x.all[i]
		for _, name := range o.Env {
			value, set := env(name)
			if !set || value == "" && o.Takes == TakesValue || o.Takes == TakesNone && off(value) {
				continue
			}
			if o.Takes == TakesNone && o.Name != "verbose" {
				value = ""
			}
			all = append(all, Given{Option: o.Name, Value: value, Where: "the variable " + name})
			break
		}
	}
	return all
}

// off reports whether the value of a variable turns an option without a value off.
func off(value string) bool {
	return slices.Contains([]string{"0", "no", "false", "off"}, strings.ToLower(value))
}

// apply keeps one option.
func apply(to *Options, o *Option, g Given, now time.Time) error {
	if o.Effect == Refused {
		return &Error{Where: g.Where, Option: o.Spelling(), Problem: "the option is refused: " + o.Text + "; " + o.Remedy}
	}
	var err error
	switch {
	case o.moment != nil:
		*o.moment(to), err = form.ParseMoment(g.Value, now)
	case o.set != nil:
		err = o.set(to, g.Value)
	}
	if err != nil {
		return &Error{Where: g.Where, Option: o.Spelling(), Problem: err.Error()}
	}
	return nil
}

// last returns the last one of each option, in the order in which the options were first given.
func last(given []Given) []Given {
	var all []Given
	for _, g := range given {
		if i := slices.IndexFunc(all, func(other Given) bool { return other.Option == g.Option }); i >= 0 {
			all[i] = g
			continue
		}
		all = append(all, g)
	}
	return all
}

// notesOf returns a note for each option without effect.
func notesOf(o *Options, given []Given, x *index) []Note {
	var notes []Note
	for _, g := range given {
		switch option := x.long[g.Option]; {
		case option.Effect == NoEffect:
			notes = append(notes, Note{Option: g.Option, Text: "no effect: " + option.Text})
		case g.Option == "gres" && len(o.Gres.Others) > 0:
			notes = append(notes, Note{Option: g.Option, Text: "no effect of " + strings.Join(o.Gres.Others, ",") + ": Berth knows no resources but GPUs"})
		case hardware(g.Option) && o.hardwareTasks() == 0 && (g.Option != "sockets-per-node" || !o.GPUsPerSocket.Given):
			notes = append(notes, Note{Option: g.Option, Text: "no effect: Berth limits how many cores a job uses, and chooses none"})
		}
	}
	return notes
}

// hardware reports whether an option is about sockets, cores and threads.
func hardware(option string) bool {
	return slices.ContainsFunc(socketOptions(), func(o Option) bool { return o.Name == option })
}
