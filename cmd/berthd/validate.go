package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a file, and show which of its settings have no effect",
		Args:  cli.One("one argument, a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := config.Load(config.Source{File: args[0]})
			notes, fatal := judged(cmd.Context(), settings, inspect.RoleOfUnit())
			if err = config.InOrder(err, fatal); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimRight(err.Error(), "\n"))
				return cmdline.Usage("%s cannot be used", args[0])
			}
			for _, note := range append(settings.Notes, notes...) {
				fmt.Fprintln(cmd.OutOrStdout(), note)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid.\n", args[0])
			return nil
		},
	}
}

// judged returns the errors that keep a peer or an agent from its start by settings, and warnings. In a unit only those of its own
// role are errors: a peer does not stop for a file of the agent that only the agent may use, and the other way round.
func judged(ctx context.Context, c *config.Loaded, unit string) (warnings []string, fatal error) {
	for _, role := range []string{"peer", "node"} {
		list := inspect.Access(ctx, role, c)
		wrong := besides(c, list, unusable(c, role, inspect.Reader(ctx, role)))
		notes, denied := kept(c, list, wrong)
		warnings = append(warnings, notes...)
		if unit == "" || unit == role {
			fatal = errors.Join(fatal, wrong, denied)
			continue
		}
		for _, one := range config.Each(errors.Join(wrong, denied)) {
			warnings = append(warnings, "Warning: "+one.Error())
		}
	}
	return warnings, fatal
}

// unusable returns the errors that keep the program of a role from starting: contradictions between
// settings, and files named by settings that cannot be read.
func unusable(c *config.Loaded, role string, reader config.Reader) error {
	h := &holding{Loaded: c, part: true, reader: &reader}
	if role == "peer" {
		h.peer()
	} else {
		h.agent()
	}
	return errors.Join(h.wrong...)
}

// besides returns the errors of a start without those that only say that a file may not be read: what is wrong with the file and how
// it is made fit stands in the list.
func besides(c *config.Loaded, list []doctor.Denied, wrong error) (left error) {
	for _, one := range config.Each(wrong) {
		about := func(d doctor.Denied) bool { return strings.Contains(one.Error(), c.At(d.Setting)) }
		if !errors.Is(one, fs.ErrPermission) || !slices.ContainsFunc(list, about) {
			left = errors.Join(left, one)
		}
	}
	return left
}

// kept returns the files named by settings that keep a program from its start, as its unit sees them, besides those that other errors
// name, and warnings about the others: a folder of backups may come later than the peer.
func kept(c *config.Loaded, list []doctor.Denied, others error) (warnings []string, fatal error) {
	named := ""
	if others != nil {
		named = others.Error()
	}
	for _, d := range list {
		d.Setting = c.At(d.Setting)
		switch {
		case strings.Contains(named, d.Setting):
		case d.Fatal:
			fatal = errors.Join(fatal, cmdline.Usage("%s", d.String()))
		default:
			warnings = append(warnings, "Warning: "+d.String())
		}
	}
	return warnings, fatal
}
