package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// newTop returns the command that shows GPUs with telemetry, holder and health at an interval.
func newTop() *cobra.Command {
	c := &connection{}
	var nodes, jobs, once bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the GPUs: telemetry, holders, health",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if nodes && jobs {
				return usage("--nodes and --jobs exclude each other")
			}
			if every < time.Second || every > time.Hour {
				return usage("--interval must be 1s to 1h")
			}
			look := topOf(c, nodes, jobs)
			if once {
				return look(cmd, args)
			}
			return c.again(cmd, args, every, look)
		},
	}
	c.bindReading(cmd)
	f := cmd.Flags()
	f.BoolVar(&nodes, "nodes", false, "a line for each node in place of each GPU")
	f.BoolVar(&jobs, "jobs", false, "running and waiting jobs in place of the GPUs")
	f.BoolVar(&once, "once", false, "print one round and end")
	timeVar(f, &every, "interval", 2*time.Second, "interval, a `time`")
	return cmd
}

// topOf returns the body of one round.
func topOf(c *connection, nodes, jobs bool) func(*cobra.Command, []string) error {
	if jobs {
		return reading(c, func(ctx context.Context, api *client.Client) (*wire.Queue, error) {
			return api.Queue(ctx, client.QueueQuery{Limit: topJobs})
		}, showQueue)
	}
	show := showGPUs
	if nodes {
		show = showNodes
	}
	return reading(c, func(ctx context.Context, api *client.Client) (*wire.Nodes, error) { return api.Nodes(ctx) },
		func(w io.Writer, v *wire.Nodes) error { return show(w, v) })
}

// topJobs is how many jobs of each list fit on a screen.
const topJobs = 40
