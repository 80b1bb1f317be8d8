package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/demo"
	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

const demoLong = `Show the main task of Berth on this machine, in under a minute: three peers, two nodes
with eight simulated GPUs each, about forty jobs that are real processes, and a leader
that is killed in the middle. The exit code is 0 only if no job was lost, none ran twice
and no GPU had two owners, by marks that the jobs themselves write.`

func newDemo() *cobra.Command {
	c := demo.Config{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a cluster at work, with a leader that is killed in the middle",
		Long:  demoLong,
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Out = terminal.Raw(cmd.OutOrStdout())
			c.Terminal = terminal.Columns(cmd.OutOrStdout()) > 0 && os.Getenv("TERM") != "dumb"
			return demo.Run(cmd.Context(), c)
		},
	}
	bindCluster(cmd, &c.Cluster)
	cmd.Flags().BoolVar(&c.Keep, "keep", false, "keep the cluster running at the end, until Ctrl-C")
	return cmd
}
