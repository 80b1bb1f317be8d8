package fleet

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// newTop returns the command that shows GPUs with telemetry, holder and health, or the queue, at an interval.
func newTop(showQueue func(io.Writer, *wire.Queue) error) *cobra.Command {
	c := &cli.Connection{}
	var nodes, jobs, once bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the GPUs: telemetry, holders, health",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if nodes && jobs {
				return cmdline.Usage("--nodes and --jobs exclude each other")
			}
			if every < time.Second || every > time.Hour {
				return cmdline.Usage("--interval must be 1s to 1h")
			}
			look := topOf(c, nodes, jobs, showQueue)
			if once {
				return look(cmd, args)
			}
			return c.Again(cmd, args, every, look)
		},
	}
	c.BindReading(cmd)
	f := cmd.Flags()
	f.BoolVar(&nodes, "nodes", false, "a line for each node in place of each GPU")
	f.BoolVar(&jobs, "jobs", false, "running and waiting jobs in place of the GPUs")
	f.BoolVar(&once, "once", false, "print one round and end")
	cli.TimeVar(f, &every, "interval", 2*time.Second, "interval, a `time`")
	return cmd
}

// topOf returns the body of one round.
func topOf(c *cli.Connection, nodes, jobs bool, showQueue func(io.Writer, *wire.Queue) error) func(*cobra.Command, []string) error {
	if jobs {
		return cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Queue, error) {
			return api.Queue(ctx, client.QueueQuery{Limit: topJobs})
		}, showQueue)
	}
	show := showGPUs
	if nodes {
		show = showNodes
	}
	return cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Nodes, error) { return api.Nodes(ctx) },
		func(w io.Writer, v *wire.Nodes) error { return show(w, v) })
}

// topJobs is how many jobs of each list fit on a screen.
const topJobs = 40
