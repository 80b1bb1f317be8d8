// Package option reads the command lines of Slurm's programs by a table of their options: long names and unique beginnings of them,
// letters, several letters in one word, and values in the forms --name=value, --name value, -nvalue and -n value.
//
//berth:single
package option

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-gpu/berth/slurm/nearest"
)

// Takes says whether an option has a value.
type Takes int

// What an option takes.
const (
	TakesNone     Takes = iota
	TakesValue          // --name=value, --name value, -nvalue, -n value
	TakesOptional       // --name, --name=value, -n, -nvalue
)

// Option is one option of a program.
type Option struct {
	Name   string   // long name, without --; of an option that has only a letter: the letter
	Others []string // other long names of the same option
	Short  byte     // letter, or 0
	Takes  Takes
	Form   string // form of its value, such as N or LIST
}

// names returns the long names of an option.
func (o *Option) names() []string {
	if len(o.Name) == 1 {
		return o.Others
	}
	return append([]string{o.Name}, o.Others...)
}

// Spelling returns the option as users write it: --nodes, or -r.
func (o *Option) Spelling() string {
	if len(o.Name) == 1 {
		return "-" + o.Name
	}
	return "--" + o.Name
}

// Given is one option as it was given.
type Given struct {
	Option string // Name of the option
	Value  string
}

// Error is a fault of a command line.
type Error struct {
	Option  string // as users write it, such as --nodes
	Problem string // what is wrong, and the remedy
}

// Error returns the option and the problem.
func (e *Error) Error() string { return e.Option + ": " + e.Problem }

// Set is the options of a program. It may be used by several goroutines.
type Set struct {
	program string
	all     []Option
	short   map[byte]*Option
	long    map[string]*Option
}

// NewSet returns the options of a program, whose name is part of errors. It keeps the list.
func NewSet(program string, all []Option) *Set {
	s := &Set{program: program, all: all, short: make(map[byte]*Option, len(all)), long: make(map[string]*Option, len(all))}
	for i := range all {
		o := &all[i]
		for _, name := range o.names() {
			s.long[name] = o
		}
		if o.Short != 0 {
			s.short[o.Short] = o
		}
	}
	return s
}

// Line is a command line.
type Line struct {
	Given []Given  // in their order
	Words []string // the other words
}

// Last returns the value of an option, the last one if it was given several times, and reports whether it was given.
func (l *Line) Last(name string) (string, bool) {
	for _, g := range slices.Backward(l.Given) {
		if g.Option == name {
			return g.Value, true
		}
	}
	return "", false
}

// Has reports whether an option was given.
func (l *Line) Has(name string) bool {
	_, given := l.Last(name)
	return given
}

// All returns the values of an option in the order in which they were given.
func (l *Line) All(name string) (values []string) {
	for _, g := range l.Given {
		if g.Option == name {
			values = append(values, g.Value)
		}
	}
	return values
}

// Parse reads the words of a command line after the program's name. Options and other words may be mixed; after the word -- all
// words are others. The error, an [*Error], is the first one.
func (s *Set) Parse(words []string) (Line, error) {
	var line Line
	for len(words) > 0 {
		given, rest, ended, err := s.leading(words)
		if err != nil {
			return Line{}, err
		}
		line.Given = append(line.Given, given...)
		if ended {
			line.Words = append(line.Words, rest...)
			break
		}
		if words = rest; len(words) > 0 {
			line.Words = append(line.Words, words[0])
			words = words[1:]
		}
	}
	return line, nil
}

// Leading reads options up to the first other word, such as a script or a command with options of its own, and returns the rest. The
// word -- ends the options and is left out. The error, an [*Error], is the first one.
func (s *Set) Leading(words []string) (given []Given, rest []string, err error) {
	given, rest, _, err = s.leading(words)
	return given, rest, err
}

// leading is Leading; ended reports whether the word -- ended the options.
func (s *Set) leading(words []string) (given []Given, rest []string, ended bool, err error) {
	for len(words) > 0 {
		word := words[0]
		var list []Given
		switch {
		case word == "--":
			return given, words[1:], true, nil
		case strings.HasPrefix(word, "--"):
			list, words, err = s.parseLong(words)
		case len(word) > 1 && word[0] == '-':
			list, words, err = s.parseShort(words)
		default:
			return given, words, false, nil
		}
		if err != nil {
			return nil, nil, false, err
		}
		given = append(given, list...)
	}
	return given, nil, false, nil
}

// Find returns the option with a long name, or the only one that has a name with this beginning. Otherwise it returns nil and the
// names with this beginning, in order.
func (s *Set) Find(name string) (*Option, []string) {
	if o := s.long[name]; o != nil {
		return o, nil
	}
	var found *Option
	var names []string
	one := true
	for i := range s.all {
		for _, full := range s.all[i].names() {
			if strings.HasPrefix(full, name) {
				one = one && (found == nil || found == &s.all[i])
				found = &s.all[i]
				names = append(names, "--"+full)
			}
		}
	}
	slices.Sort(names)
	if one && found != nil {
		return found, nil
	}
	return nil, names
}

// parseLong reads --name, --name=value or --name value.
func (s *Set) parseLong(words []string) ([]Given, []string, error) {
	name, value, joined := strings.Cut(words[0][2:], "=")
	words = words[1:]
	o, names := s.Find(name)
	switch {
	case o == nil && len(names) > 1:
		return nil, nil, &Error{Option: "--" + clip(name), Problem: "the name is ambiguous; it may be " + strings.Join(names, ", ")}
	case o == nil:
		return nil, nil, s.unknown(name)
	case o.Takes == TakesNone && joined:
		return nil, nil, &Error{o.Spelling(), fmt.Sprintf("the option has no value, and %q is given: write %s alone", clip(value), o.Spelling())}
	case o.Takes == TakesValue && !joined && len(words) == 0:
		return nil, nil, noValue(o)
	case o.Takes == TakesValue && !joined:
		value, words = words[0], words[1:]
	}
	return []Given{{Option: o.Name, Value: value}}, words, nil
}

func noValue(o *Option) error {
	how := o.Spelling() + "=" + o.Form
	if len(o.Name) == 1 {
		how = o.Spelling() + " " + o.Form
	}
	return &Error{o.Spelling(), "the value is missing: write " + how}
}

func (s *Set) unknown(name string) error {
	problem := "there is no such option of " + s.program
	if near := s.near(name); near != "" {
		problem += "; perhaps --" + near + " is meant"
	} else {
		problem += "; " + s.program + " --help lists all"
	}
	return &Error{"--" + clip(name), problem}
}

// near returns the name that differs least from a wrong one, if it differs little.
func (s *Set) near(name string) string {
	var known []string
	for i := range s.all {
		known = append(known, s.all[i].names()...)
	}
	const most = 8 // letters of a name that may be wrong
	return nearest.Word(name, known, min(max(len(name)/3, 1), most))
}

// parseShort reads -n, -nvalue, -n value, and several letters without values in one word.
func (s *Set) parseShort(words []string) ([]Given, []string, error) {
	letters := words[0][1:]
	words = words[1:]
	var given []Given
	for letters != "" {
		o := s.short[letters[0]]
		if o == nil {
			return nil, nil, &Error{"-" + firstLetter(letters), "there is no such option of " + s.program + "; " + s.program + " --help lists all"}
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

// firstLetter returns the first character of a text.
func firstLetter(text string) string {
	_, n := utf8.DecodeRuneInString(text)
	return text[:n]
}

// longest is the part of a wrong value that errors quote, in bytes.
const longest = 100

// clip shortens a text for an error.
func clip(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
