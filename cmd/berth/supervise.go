package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/node/runner/process"
)

// newSupervise is what agents start for each rank; nobody else has a use for it.
func newSupervise() *cobra.Command {
	return &cobra.Command{
		Use:    "supervise FOLDER",
		Short:  "Run one rank of a job, as an agent asks for it",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return process.Supervise(args[0]) },
	}
}
