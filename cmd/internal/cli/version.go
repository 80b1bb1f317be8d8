package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/fsm/command"
)

// NewVersion returns the command that prints the version of a program.
func NewVersion(program string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version and its highest feature level",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s (%s, feature level %d)\n", program, build.Version(), runtime.Version(), command.Level)
			return err
		},
	}
}
