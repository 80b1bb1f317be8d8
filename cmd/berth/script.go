package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// program takes what to run from the arguments: a command after --, or a script.
func (s *submission) program(cmd *cobra.Command, args []string, r *wire.Submit) error {
	if len(args) == 0 {
		return usage("nothing to run: name a script, or a command after --; see berth submit --help")
	}
	if cmd.ArgsLenAtDash() == 0 {
		r.Args = args
		return nil
	}
	script, err := readScript(args[0])
	if err != nil {
		return err
	}
	given := changedFlags(cmd)
	if err := applyDirectives(cmd, script, given); err != nil {
		return err
	}
	r.Script = script
	r.Command = shellJoin(args[1:])
	if s.name == "" {
		s.name = filepath.Base(args[0])
	}
	return nil
}

func readScript(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the user names it
	switch {
	case os.IsNotExist(err):
		return "", usage("there is no script %s; a command is given after --, as in: berth submit -g 1 -- %s", path, path)
	case err != nil:
		return "", fmt.Errorf("cannot read the script: %w", err)
	case len(data) > model.MaxScript:
		return "", usage("%s has %d bytes; a script may have %d: call a larger program from it", path, len(data), model.MaxScript)
	}
	return string(data), nil
}
