package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// newTop shows what GPUs measure, who has them and how they are, again and again.
func newTop() *cobra.Command {
	c := &connection{}
	var nodes, jobs, once bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the GPUs: what they measure, who has them, how they are",
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
	f.BoolVar(&jobs, "jobs", false, "what runs and waits in place of the GPUs")
	f.BoolVar(&once, "once", false, "show it once and end")
	timeVar(f, &every, "interval", 2*time.Second, "show it again every so `long`")
	return cmd
}

// topOf is what is shown.
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

// again shows something over and over, until the user has seen enough: on a terminal's
// screen, or for programs as one document after the other.
func (c *connection) again(cmd *cobra.Command, args []string, every time.Duration, look func(*cobra.Command, []string) error) error {
	c.repeated = true
	for {
		switch c.output {
		case "json":
		case "yaml":
			fmt.Fprintln(cmd.OutOrStdout(), "---")
		default:
			fmt.Fprint(cmd.OutOrStdout(), clearScreen)
		}
		if err := look(cmd, args); err != nil {
			return err
		}
		if err := devcluster.Pause(cmd.Context(), every); err != nil {
			return nil //nolint:nilerr // the user has seen enough
		}
	}
}
