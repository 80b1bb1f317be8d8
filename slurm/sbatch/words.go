package sbatch

import (
	"errors"
	"fmt"
	"strings"
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
	for len(words) > 0 {
		word := words[0]
		switch {
		case word == "--":
			return given, words[1:], nil
		case strings.HasPrefix(word, "--"):
			var g Given
			if g, words, err = x.parseLong(words); err != nil {
				return nil, nil, at(where, err)
			}
			g.Where = where
			given = append(given, g)
		case len(word) > 1 && word[0] == '-':
			var list []Given
			if list, words, err = x.parseShort(words); err != nil {
				return nil, nil, at(where, err)
			}
			for _, g := range list {
				g.Where = where
				given = append(given, g)
			}
		default:
			return given, words, nil
		}
	}
	return given, nil, nil
}

// at adds the place to an error.
func at(where string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		placed := *e
		placed.Where = where
		return &placed
	}
	return &Error{Where: where, Problem: err.Error()}
}

// parseLong reads --name, --name=value or --name value.
func (x *index) parseLong(words []string) (Given, []string, error) {
	name, value, joined := strings.Cut(words[0][2:], "=")
	words = words[1:]
	o, names := x.find(name)
	switch {
	case o == nil && len(names) > 1:
		return Given{}, nil, &Error{Option: "--" + name, Problem: "the name is ambiguous; it may be " + strings.Join(names, ", ")}
	case o == nil:
		return Given{}, nil, x.unknown("--"+name, name)
	case o.Takes == TakesNone && joined:
		return Given{}, nil, &Error{Option: o.Spelling(), Problem: fmt.Sprintf("the option has no value, and %q is given: write %s alone", clip(value), o.Spelling())}
	case o.Takes == TakesValue && !joined && len(words) == 0:
		return Given{}, nil, noValue(o)
	case o.Takes == TakesValue && !joined:
		value, words = words[0], words[1:]
	}
	return Given{Option: o.Name, Value: value}, words, nil
}

func noValue(o *Option) error {
	return &Error{Option: o.Spelling(), Problem: "the value is missing: write " + o.Spelling() + "=" + o.Form}
}

func (x *index) unknown(spelling, name string) error {
	problem := "there is no such option of sbatch"
	if near := x.near(name); near != "" {
		problem += "; perhaps --" + near + " is meant"
	} else {
		problem += "; sbatch --help lists all"
	}
	return &Error{Option: spelling, Problem: problem}
}

// parseShort reads -n, -nvalue, -n value, and several letters without values in one word.
func (x *index) parseShort(words []string) ([]Given, []string, error) {
	letters := words[0][1:]
	words = words[1:]
	var given []Given
	for letters != "" {
		o := x.short[letters[0]]
		if o == nil {
			return nil, nil, &Error{Option: "-" + letters[:1], Problem: "there is no such option of sbatch; sbatch --help lists all"}
		}
		letters = letters[1:]
		g := Given{Option: o.Name}
		switch {
		case o.Takes == TakesNone:
			given = append(given, g)
			continue
		case letters != "":
			g.Value = letters
		case o.Takes == TakesValue && len(words) == 0:
			return nil, nil, noValue(o)
		case o.Takes == TakesValue:
			g.Value, words = words[0], words[1:]
		}
		return append(given, g), words, nil
	}
	return given, words, nil
}
