package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
)

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a file, and show which of its settings have no effect",
		Args:  cli.One("one argument, a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := config.Load(config.Source{File: args[0]})
			wrong := unusable(settings)
			notes, denied := kept(cmd.Context(), settings, wrong)
			if err = config.InOrder(err, wrong, denied); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimRight(err.Error(), "\n"))
				return cli.Usage("%s cannot be used", args[0])
			}
			for _, note := range append(settings.Notes, notes...) {
				fmt.Fprintln(cmd.OutOrStdout(), note)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid.\n", args[0])
			return nil
		},
	}
}

// unusable returns the errors that keep a peer or an agent from starting: contradictions between
// settings, and files named by settings that cannot be read.
func unusable(c *config.Loaded) error {
	h := &holding{Loaded: c, part: true}
	h.peer()
	h.agent()
	return errors.Join(h.wrong...)
}

// kept returns the files named by settings that keep a program from its start, as its unit sees them, besides those that other errors
// name, and warnings about the others: a folder of backups may come later than the peer.
func kept(ctx context.Context, c *config.Loaded, others error) (warnings []string, fatal error) {
	named := ""
	if others != nil {
		named = others.Error()
	}
	for _, d := range slices.Concat(inspect.Access(ctx, "peer", c), inspect.Access(ctx, "node", c)) {
		d.Setting = c.At(d.Setting)
		switch {
		case strings.Contains(named, d.Setting):
		case d.Fatal:
			fatal = errors.Join(fatal, cli.Usage("%s", d.String()))
		default:
			warnings = append(warnings, "Warning: "+d.String())
		}
	}
	return warnings, fatal
}
