package sbatch

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/slurm/option"
)

// Given is one option as it was given.
type Given struct {
	Option string // long name, without --
	Value  string
	Where  string // such as "line 4 of the script", "the variable SBATCH_QOS" or "the command line"
}

// commandLine is Given.Where of the command line.
const commandLine = "the command line"

// Command is a command line of sbatch.
type Command struct {
	Given     []Given
	Script    string   // name of the script's file; empty: none was given
	Arguments []string // of the script
	Wrap      bool     // --wrap is given: there is no file to read
}

// ParseCommand reads the words of a command line after the program's name. The script's file has to be read next: standard
// input if Script is empty and Wrap is false.
func ParseCommand(args []string) (Command, error) {
	x := newIndex()
	given, rest, err := x.parse(args, commandLine)
	if err != nil {
		return Command{}, err
	}
	c := Command{Given: given}
	for _, g := range given {
		c.Wrap = c.Wrap || g.Option == "wrap"
	}
	if len(rest) == 0 {
		return c, nil
	}
	if rest[0] == ":" {
		return Command{}, &Error{Where: commandLine, Problem: heterogeneous(rest[0])}
	}
	if c.Wrap {
		return Command{}, &Error{Where: commandLine, Option: "--wrap", Problem: fmt.Sprintf(
			"the command of --wrap is the script, so %q must not follow: put all words of the command in quotes", clip(rest[0]))}
	}
	c.Script, c.Arguments = rest[0], rest[1:]
	return c, nil
}

// parse reads options up to the first other word.
func (x *index) parse(words []string, where string) (given []Given, rest []string, err error) {
	list, rest, err := x.set.Leading(words)
	if err != nil {
		e := &Error{Where: where, Problem: err.Error()}
		if wrong, is := errors.AsType[*option.Error](err); is {
			e.Option, e.Problem = wrong.Option, wrong.Problem
		}
		return nil, nil, e
	}
	for _, g := range list {
		given = append(given, Given{Option: g.Option, Value: g.Value, Where: where})
	}
	return given, rest, nil
}

// Has reports whether sbatch has an option of a long name, whatever becomes of the option.
func Has(name string) bool {
	_, found := newIndex().long[name]
	return found
}
