package srun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/option"
)

// Error is a fault of a command line or of a variable.
type Error struct {
	Where   string // such as --nodes or the variable SLURM_NTASKS
	Problem string // what is wrong, and the remedy
}

// Error returns the place and the problem.
func (e *Error) Error() string { return e.Where + ": " + e.Problem }

// Misspelled reports whether an error of [Parse] is about an option that does not exist, is short for several, or lacks its value.
func Misspelled(err error) bool {
	_, is := errors.AsType[*option.Error](err)
	return is
}

// Parse reads the words after the program's name, and the variables of the environment, which options overrule. The error, an
// [*Error] or an [*option.Error], is the first that is found.
func Parse(words []string, env func(name string) (string, bool)) (Result, error) {
	entries := table()
	byName := make(map[string]*entry, len(entries))
	list := make([]option.Option, len(entries))
	for i := range entries {
		byName[entries[i].Name] = &entries[i]
		list[i] = entries[i].Option
	}
	given, command, err := option.NewSet("srun", list).Leading(words)
	if err != nil {
		return Result{}, err
	}
	r := Result{Command: command}
	if err := r.Options.variables(entries, given, env); err != nil {
		return Result{}, err
	}
	for _, g := range given {
		e := byName[g.Option]
		switch {
		case e.refused != "":
			return Result{}, &Error{e.Spelling(), "the option is refused: " + e.refused}
		case e.silent && g.Option == "mpi" && !slices.Contains([]string{"none", "list"}, g.Value):
			r.Notes = append(r.Notes, "--mpi="+g.Value+" has no effect: Berth starts the tasks, and MPI has to connect them by itself")
		case e.set == nil:
		default:
			if err := e.set(&r.Options, g.Value); err != nil {
				return Result{}, &Error{e.Spelling(), err.Error()}
			}
		}
	}
	return r, check(&r)
}

// variables keeps what variables say, unless the command line has the option.
func (o *Options) variables(entries []entry, given []option.Given, env func(string) (string, bool)) error {
	has := func(name string) bool {
		return slices.ContainsFunc(given, func(g option.Given) bool { return g.Option == name })
	}
	sized := has("ntasks") || has("nodes") || has("nodelist")
	for i := range entries {
		e := &entries[i]
		if has(e.Name) || e.Name == "ntasks-per-node" && sized {
			continue
		}
		for _, name := range e.env {
			value, set := env(name)
			if !set || value == "" {
				continue
			}
			if e.Takes == option.TakesNone && (value == "0" || strings.EqualFold(value, "no")) {
				break
			}
			read := e.set
			if e.fromEnv != nil {
				read = e.fromEnv
			}
			if read == nil {
				break
			}
			if err := read(o, value); err != nil {
				return &Error{"the variable " + name, err.Error()}
			}
			break
		}
	}
	if size, _ := env("SLURM_DIST_PLANESIZE"); size != "" && o.Size.Kind == environ.Plane && o.Size.Plane == 0 {
		n, err := form.ParseCount(size, 1)
		if err != nil {
			return &Error{"the variable SLURM_DIST_PLANESIZE", err.Error()}
		}
		o.Size.Plane = n
	}
	return nil
}

// check refuses options that exclude each other, and a command line without a program.
func check(r *Result) error {
	o := &r.Options
	size := &o.Size
	switch {
	case o.Help != "":
		return nil
	case len(r.Command) == 0:
		return &Error{"srun", "there is no program: write srun [OPTIONS] PROGRAM [ARGUMENTS]"}
	case slices.Contains(r.Command, ":") && slices.Index(r.Command, ":") < len(r.Command)-1 &&
		strings.HasPrefix(r.Command[slices.Index(r.Command, ":")+1], "-"):
		return &Error{"srun", "the word : divides the parts of a heterogeneous job, which Berth does not have; start one srun for each part"}
	case size.Relative > 0 && (len(size.NodeList) > 0 || len(size.Exclude) > 0):
		return &Error{"--relative", "the option excludes --nodelist and --exclude: name the nodes with one of them"}
	case size.Nodes.Max > 0 && size.Nodes.Max < len(size.NodeList):
		return &Error{"--nodelist", fmt.Sprintf("it names %d nodes, and --nodes asks for at most %d: correct one of them", len(size.NodeList), size.Nodes.Max)}
	}
	for _, name := range size.NodeList {
		if slices.Contains(size.Exclude, name) {
			return &Error{"--exclude", fmt.Sprintf("node %s is in --nodelist, too: remove it from one of them", name)}
		}
	}
	if size.Overlap {
		size.Exact = false
	}
	return nil
}

// Usage returns the text of --usage.
func Usage() string {
	return "Usage: srun [OPTIONS...] program [arguments...]\n"
}

// Help returns the text of --help: all options, in order.
func Help() string {
	var lines []string
	for _, e := range table() {
		if e.refused != "" {
			continue
		}
		line := "      --" + e.Name
		if e.Short != 0 {
			line = "  -" + string(e.Short) + ", --" + e.Name
		}
		switch e.Takes {
		case option.TakesValue:
			line += "=" + e.Form
		case option.TakesOptional:
			line += "[=" + e.Form + "]"
		case option.TakesNone:
		}
		if e.silent {
			line += "  (no effect inside of a job)"
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a[5:], " ,-"), strings.TrimLeft(b[5:], " ,-"))
	})
	return Usage() + "docs/slurm.md describes the steps of a job.\n" + strings.Join(lines, "\n") + "\n"
}
