package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/demo"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

const demoLong = `Show the main task of Berth on this machine, in under a minute: three peers, two nodes
with eight simulated GPUs each, about forty jobs that are real processes, and a leader
that is killed in the middle. The exit code is 0 only if no job was lost, none ran twice
and no GPU had two owners, by marks that the jobs themselves write.`

// demoFlags are the flags of demo.
type demoFlags struct {
	devcluster.Config

	keep bool
}

func newDemo() *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a cluster at work, with a leader that is killed in the middle",
		Long:  demoLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	bindCluster(cmd, &f.Config)
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep the cluster running at the end, until Ctrl-C")
	return cmd
}

func (f *demoFlags) run(ctx context.Context, out io.Writer) (err error) {
	if err := checkHTTP(f.HTTP); err != nil {
		return err
	}
	if f.Data, err = os.MkdirTemp("", "berth-demo-"); err != nil {
		return fmt.Errorf("no temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.Data)) }()
	f.Restart = true
	plain := terminal.Raw(out)
	fmt.Fprintf(plain, "Starting %d peers and %d nodes with %d simulated GPUs each, as processes on this machine.\n", f.Peers, f.Nodes, f.GPUs)
	return devcluster.Run(ctx, f.Config, func(ctx context.Context, cluster *devcluster.Cluster) error {
		if err := demo.Run(ctx, cluster, plain, terminal.Columns(out) > 0 && os.Getenv("TERM") != "dumb"); err != nil || !f.keep {
			return err
		}
		fmt.Fprintf(plain, "The cluster keeps running: berth --address %s queue. Ctrl-C ends it.\n", strings.Join(cluster.Addresses(), ","))
		<-ctx.Done()
		return nil
	})
}
