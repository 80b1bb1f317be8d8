package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const devLong = `Run a whole cluster on this machine: peers and agents as processes of their own, with
simulated GPUs. Jobs are real processes.

  berth dev                      # three peers, two nodes with eight GPUs each
  berth submit -g 2 -- sleep 60  # in another terminal

A member that dies is restarted. Ctrl-C ends everything, including the jobs' processes;
a later start on the same folder finds the jobs and runs them again.`

// devFlags are the flags of dev.
type devFlags struct {
	devcluster.Config

	auth bool
}

func newDev() *cobra.Command {
	f := &devFlags{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole cluster on this machine, with simulated GPUs",
		Long:  devLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	bindCluster(cmd, &f.Config)
	cmd.Flags().StringVar(&f.Data, "data", "", "`folder` for everything (default: berth-dev in the user's cache folder)")
	cmd.Flags().BoolVar(&f.Restart, "restart", true, "restart members that die")
	cmd.Flags().BoolVar(&f.auth, "auth", false, "ask for tokens; a token of an admin is printed, and kept in the file token of the data folder")
	cmd.Flags().BoolVar(&f.Jobs, "keep-jobs", false, "let jobs run on after the cluster's end; a start within five minutes adopts them")
	return cmd
}

// bindCluster adds the flags that size a cluster.
func bindCluster(cmd *cobra.Command, c *devcluster.Config) {
	cmd.Flags().IntVar(&c.Peers, "peers", 3, "how many peers")
	cmd.Flags().IntVar(&c.Nodes, "nodes", 2, "how many GPU hosts")
	cmd.Flags().IntVar(&c.GPUs, "gpus", 8, "simulated GPUs on each")
	cmd.Flags().StringVar(&c.HTTP, "http", config.DefaultHTTP, "`address` of the first peer's API; the others get the next free ports")
}

// checkHTTP refuses an address of the API that other machines can reach: the cluster has no authentication of its own.
func checkHTTP(address string) error {
	if err := cli.CheckAddress(address); err != nil {
		return cmdline.Usage("--http: %w", err)
	}
	if !cli.OnLoopback(address) {
		return cmdline.Usage("--http: %s can be reached from other machines, and this cluster has no authentication: use a loopback address such as %s",
			address, config.DefaultHTTP)
	}
	return nil
}

func (f *devFlags) run(ctx context.Context, out io.Writer) error {
	if err := checkHTTP(f.HTTP); err != nil {
		return err
	}
	if f.Data == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return cmdline.Usage("this user has no cache folder: name one with --data")
		}
		f.Data = filepath.Join(cache, "berth-dev")
	}
	if f.auth {
		f.Server = append(f.Server, "--auth")
	}
	f.Say = func(line string) { fmt.Fprintln(out, line) }
	err := devcluster.Run(ctx, f.Config, func(ctx context.Context, cluster *devcluster.Cluster) error {
		f.show(ctx, cluster, out)
		<-ctx.Done()
		fmt.Fprintln(out, "Stopping.")
		return nil
	})
	if errors.Is(err, context.Canceled) { // before the cluster was ready: the user changed their mind
		return nil
	}
	return err
}

// show prints the cluster, and what to do with it.
func (f *devFlags) show(ctx context.Context, cluster *devcluster.Cluster, out io.Writer) {
	describe(ctx, cluster, out)
	if token := cluster.Token(); token != "" {
		fmt.Fprintf(out, "\nThis cluster asks for tokens. As an admin: export BERTH_TOKEN=%s\nIn a browser, signed in: berth ui\n", token)
	}
	fmt.Fprintf(out, "\nData in %s. Try: berth submit -g 2 -- sleep 60\nCtrl-C ends the cluster.\n", f.Data)
}

// describe prints the members with their roles, process ids and addresses.
func describe(ctx context.Context, cluster *devcluster.Cluster, out io.Writer) {
	leader := cluster.Leader(ctx)
	t := table.New("NAME", "ROLE", ">PID", "ADDRESS")
	for _, m := range cluster.Members() {
		role := m.Role
		if m.Name == leader {
			role += " (leads)"
		}
		t.Add(m.Name, role, fmt.Sprint(m.PID), m.Address)
	}
	_, _ = t.WriteTo(out)
}
