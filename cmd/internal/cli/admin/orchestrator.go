package admin

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const orchestratorLong = `Without a command: show whether jobs are started, in which order, and the resources.

After stop no jobs and services are started, and none are suspended for others, on every peer
and across restarts, until start. Running jobs continue, and new jobs are accepted.`

func newOrchestrator() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:     "orchestrator",
		Short:   "Show the orchestrator; start or stop it",
		Long:    orchestratorLong,
		Example: "  berth orchestrator\n  berth orchestrator stop\n  berth orchestrator start",
		Args:    cli.NoArgs,
		RunE: cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Orchestrator, error) {
			return api.Orchestrator(ctx)
		}, showOrchestrator),
	}
	c.BindReading(cmd)
	cmd.AddCommand(newSwitch("start", true, "Start jobs again"),
		newSwitch("stop", false, "Start no jobs until berth orchestrator start; running jobs continue"))
	return cmd
}

// newSwitch returns a command that starts or stops the orchestrator.
func newSwitch(name string, running bool, short string) *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cli.NoArgs,
		RunE: cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Switched, error) {
			return api.Switch(ctx, running)
		}, func(w io.Writer, s *wire.Switched) error {
			_, err := fmt.Fprintf(w, "Orchestrator: %s\n", s.Message)
			return err
		}),
	}
	c.BindReading(cmd)
	return cmd
}

func showOrchestrator(w io.Writer, o *wire.Orchestrator) error {
	s, g, q := &cli.Sheet{}, &o.ResourceSummary, &o.QueueSummary
	state := "stopped: no jobs are started, and running jobs continue"
	if o.Running {
		state = "jobs are started"
	}
	s.Line("Orchestrator", "%s", state)
	s.Line("Policy", "%s", o.Policy)
	s.Line("Leader", "%s", o.Leader)
	s.Line("GPUs", "%d of %d are free, %d in use, %d unhealthy", g.AvailableGPUs, g.TotalGPUs, g.AllocatedGPUs, g.UnhealthyGPUs)
	s.Line("Jobs", "%d queued, %d running, %d completed, %d failed, %d canceled", q.Queued, q.Running, q.Completed, q.Failed, q.Canceled)
	_, err := io.WriteString(w, s.String())
	return err
}
