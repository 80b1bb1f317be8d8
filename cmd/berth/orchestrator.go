package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const orchestratorLong = `Without a command: show whether jobs are started, in which order, and the resources.

After stop no jobs and services are started, and none are suspended for others, on every peer
and across restarts, until start. Running jobs continue, and new jobs are accepted.`

func newOrchestrator() *cobra.Command {
	c := &connection{}
	cmd := &cobra.Command{
		Use:     "orchestrator",
		Short:   "Show the orchestrator; start or stop it",
		Long:    orchestratorLong,
		Example: "  berth orchestrator\n  berth orchestrator stop\n  berth orchestrator start",
		Args:    noArgs,
		RunE: reading(c, func(ctx context.Context, api *client.Client) (*wire.Orchestrator, error) {
			return api.Orchestrator(ctx)
		}, showOrchestrator),
	}
	c.bindReading(cmd)
	cmd.AddCommand(newSwitch("start", true, "Start jobs again"),
		newSwitch("stop", false, "Start no jobs until berth orchestrator start; running jobs continue"))
	return cmd
}

// newSwitch returns a command that starts or stops the orchestrator.
func newSwitch(name string, running bool, short string) *cobra.Command {
	c := &connection{}
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  noArgs,
		RunE: reading(c, func(ctx context.Context, api *client.Client) (*wire.Switched, error) {
			return api.Switch(ctx, running)
		}, func(w io.Writer, s *wire.Switched) error {
			_, err := fmt.Fprintf(w, "Orchestrator: %s\n", s.Message)
			return err
		}),
	}
	c.bindReading(cmd)
	return cmd
}

func showOrchestrator(w io.Writer, o *wire.Orchestrator) error {
	s, g, q := &sheet{}, &o.ResourceSummary, &o.QueueSummary
	state := "stopped: no jobs are started, and running jobs continue"
	if o.Running {
		state = "jobs are started"
	}
	s.line("Orchestrator", "%s", state)
	s.line("Policy", "%s", o.Policy)
	s.line("Leader", "%s", o.Leader)
	s.line("GPUs", "%d of %d are free, %d in use, %d unhealthy", g.AvailableGPUs, g.TotalGPUs, g.AllocatedGPUs, g.UnhealthyGPUs)
	s.line("Jobs", "%d queued, %d running, %d completed, %d failed, %d canceled", q.Queued, q.Running, q.Completed, q.Failed, q.Canceled)
	_, err := io.WriteString(w, s.String())
	return err
}
