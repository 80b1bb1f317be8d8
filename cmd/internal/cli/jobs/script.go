package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// program reads what to run from the arguments: a command after --, or a script.
func (s *submission) program(cmd *cobra.Command, args []string, r *wire.Submit) error {
	if len(args) == 0 {
		return cmdline.Usage("nothing to run: name a script, - for one on standard input, or a command after --; see %s --help", cmd.CommandPath())
	}
	if cmd.ArgsLenAtDash() == 0 {
		r.Args = args
		return nil
	}
	path := args[0]
	if fromStdin(cmd, args) {
		path = "/dev/stdin"
	}
	script, err := readScript(cmd, path)
	if err != nil {
		return err
	}
	if inSlurm(script) {
		return s.slurmProgram(cmd, args, script, r)
	}
	given := changedFlags(cmd)
	if err := applyDirectives(cmd, script, given); err != nil {
		return err
	}
	r.Script = script
	if len(args) > 1 {
		r.Args = args[1:] // no shell may come between: some drop exported functions
	}
	r.Name = filepath.Base(path) // unless an option sets it
	return nil
}

// fromStdin reports whether the script is read from standard input.
func fromStdin(cmd *cobra.Command, args []string) bool {
	return args[0] == "-" && cmd.ArgsLenAtDash() != 0
}

func readScript(cmd *cobra.Command, path string) (string, error) {
	data, err := cmdline.ReadInput(cmd.Context(), path, model.MaxScript, cmd.ErrOrStderr())
	switch {
	case os.IsNotExist(err):
		return "", cmdline.Usage("there is no script %s; a command is given after --, as in: berth submit -g 1 -- %s", path, path)
	case err != nil:
		return "", fmt.Errorf("cannot read the script: %w", err)
	case len(data) > model.MaxScript:
		return "", cmdline.Usage("%s is larger than %d bytes, which a script may have: call a larger program from it", path, model.MaxScript)
	}
	if fault := model.ProgramFault(string(data)); fault != "" {
		return "", cmdline.Usage("%s %s", path, fault)
	}
	return string(data), nil
}

// warnOfPlaces warns on standard error of paths in a job that this machine lacks. That is no error:
// the job's nodes may have them.
func warnOfPlaces(w io.Writer, r *wire.Submit) {
	first, _, _ := strings.Cut(r.Script, "\n")
	if line, is := strings.CutPrefix(first, "#!"); is {
		words := strings.Fields(line)
		if len(words) > 0 && lacks(words[0]) {
			fmt.Fprintf(w, "Warning: the script is run by %s, which does not exist on this machine: the job cannot start on a node without that program\n", words[0])
		}
	}
	if r.WorkDir != "" && lacks(r.WorkDir) && !lacks(filepath.Dir(r.WorkDir)) { // without shared storage the parent is missing, too
		fmt.Fprintf(w, "Warning: --workdir %s: there is no such folder in %s on this machine; the job fails unless its node has it\n",
			r.WorkDir, filepath.Dir(r.WorkDir))
	}
}

// lacks reports whether nothing exists at an absolute path.
func lacks(path string) bool {
	_, err := os.Stat(path)
	return filepath.IsAbs(path) && errors.Is(err, fs.ErrNotExist)
}

// fillShell copies those variables of this shell into a submission that --export names.
func (s *submission) fillShell(r *wire.Submit, warnings io.Writer) error {
	value := s.options["export"].Text
	if value == "" {
		return nil
	}
	if r.Shell = nil; value == "NONE" {
		return nil
	}
	r.Shell = map[string]string{}
	var left []string
	for word := range strings.SplitSeq(value, ",") {
		name, text, given := strings.Cut(word, "=")
		switch shell, found := os.LookupEnv(name); {
		case word == "ALL":
			left = ShellVariables(r.Shell)
		case name == "":
			return cmdline.Usage("--export %s: give ALL, NONE, or names such as PATH,HOME,MODE=fast", value)
		case given:
			r.Shell[name] = text
		case !found:
			return cmdline.Usage("--export %s: this shell has no variable %s; give it a value, as in %s=value", value, name, name)
		default:
			r.Shell[name] = shell
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(warnings, "Note: the job does not get %s: only names of letters, digits and _, and values in UTF-8, can be passed on\n", strings.Join(left, ", "))
	}
	return nil
}

// ShellVariables copies the variables of this shell that a submission can have, and returns the names of the others.
func ShellVariables(to map[string]string) (left []string) {
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		if intake.Own(name) { // a token, or what Berth sets
			continue
		}
		if cmdline.UTF8Text(value) != nil || !model.EnvName(name) && !command.ValidShellFunction(name) {
			left = append(left, strconv.Quote(name))
			continue
		}
		if name != "_" { // the path of this program
			to[name] = value
		}
	}
	slices.Sort(left)
	return left
}

func (s *submission) fillEnv(r *wire.Submit) error {
	for _, e := range s.options["env"].List {
		name, value, given := strings.Cut(e, "=")
		if !given {
			var found bool
			if value, found = os.LookupEnv(name); !found {
				return cmdline.Usage("--env %s: this shell has no such variable; give it a value", name)
			}
			if err := cmdline.UTF8Text(value); err != nil {
				return cmdline.Usage("--env %s: this shell's value %w", name, err)
			}
		}
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env[name] = value
	}
	return nil
}
