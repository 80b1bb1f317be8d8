package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/node/runner/process"
)

// newSupervise is what agents start for each rank, and what a supervisor starts with
// --exec to become an isolated job; nobody else has a use for it.
func newSupervise() *cobra.Command {
	exec := false
	cmd := &cobra.Command{
		Use:    "supervise FOLDER",
		Short:  "Run one rank of a job, as an agent asks for it",
		Hidden: true,
		Args:   cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case exec && len(args) == 0:
				return exitError(process.Execute())
			case !exec && len(args) == 1:
				return process.Supervise(args[0])
			}
			return usage("supervise takes the folder of a rank; agents start it")
		},
	}
	cmd.Flags().BoolVar(&exec, "exec", false, "become the job that descriptor 3 tells of")
	return cmd
}
