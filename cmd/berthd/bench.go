package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/bench"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const benchLong = `Measure a whole cluster on this machine: three peers and two agents as processes, HTTP
between them and the load, every commit on disk.

  submit    submissions a second and how long each takes, by number of clients
  access    the cost of authentication and of checking commands by rules
  tls       the cost of TLS between clients and peers
  run       jobs a second from submission to end: real processes
  start     how soon a job runs on an idle cluster
  failover  kill -9 of the leader to the first accepted submission
  memory    what a long queue costs
  node      what a GPU host pays for its jobs: agent, supervisors, output`

func newBench() *cobra.Command {
	c := bench.Config{}
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(bench.Parts(), "|") + "|all]...",
		Short: "Measure a whole cluster on this machine",
		Long:  benchLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "all") {
				args = bench.Parts()
			}
			for _, a := range args {
				if !slices.Contains(bench.Parts(), a) {
					return cmdline.Usage("there is no part %q: give parts of %s, or all", a, strings.Join(bench.Parts(), ", "))
				}
			}
			c.Parts, c.Out, c.Progress = args, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return bench.Run(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Dir, "dir", ".", "`folder` on the disk to measure")
	f.IntSliceVar(&c.Clients, "clients", []int{1, 16, 64, 256}, "`numbers` of clients of submit, access and tls")
	cli.TimeVar(f, &c.Time, "time", 3*time.Second, "measured time of a run of submit, access and tls")
	cli.TimeVar(f, &c.Warm, "warm", time.Second, "time before a run of submit, access and tls is measured")
	f.IntVar(&c.Runs, "runs", 3, "runs of each point of submit, access, tls and run")
	f.IntVar(&c.Jobs, "jobs", 500, "jobs of run")
	f.IntVar(&c.Trials, "trials", 30, "trials of failover and start")
	f.IntVar(&c.Queued, "queued", 10_000, "jobs of memory")
	f.BoolVar(&c.InMemory, "tmpfs", false, "measure although the folder is in memory")
	f.BoolVar(&c.Markdown, "md", false, "print Markdown")
	return cmd
}
