package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
)

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a file, and show which of its settings have no effect",
		Args:  cli.One("one argument, a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := config.Load(config.Source{File: args[0]})
			if err = config.InOrder(err, unusable(settings)); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimRight(err.Error(), "\n"))
				return cli.Usage("%s cannot be used", args[0])
			}
			for _, note := range settings.Notes {
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
