package fleet

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const foreignLong = `After a restore from a backup, jobs may run that the cluster does not know: they were
submitted after the backup, or started again. Their GPUs are shown as foreign (berth nodes
--gpus), and nothing is placed there. Such a job runs on until its end, and its GPUs are free
then. adopt makes it a job of the cluster again, under its number; kill ends it.

JOB is the number of the job; without it all unknown jobs of the node are meant. A job on
several nodes is adopted as a whole.`

// newForeign returns the command that adopts or kills jobs that the cluster does not know.
func newForeign(do string) *cobra.Command {
	c := &cli.Connection{}
	short := "Make jobs that run on a node, and that a restored cluster does not know, jobs of the cluster"
	if do == "kill" {
		short = "End jobs that run on a node, and that a restored cluster does not know"
	}
	cmd := &cobra.Command{
		Use: do + " NODE [JOB]", Short: short, Long: foreignLong, Args: cobra.RangeArgs(1, 2),
		Example: "  berth node " + do + " gpu1\n  berth node " + do + " gpu1 4711",
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.Dial()
			if err != nil {
				return err
			}
			n, err := findNode(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			body := &wire.Foreign{}
			if len(args) > 1 {
				body.Job = args[1]
			}
			done, err := api.Operator().Foreign(cmd.Context(), n.ID, do, body)
			if err != nil {
				return fmt.Errorf("node %s: %w", n.ID, err)
			}
			return tellMode(cmd.OutOrStdout(), n.ID, done)
		},
	}
	c.Bind(cmd)
	return cmd
}

// newResume returns the command that ends the standstill after a restore.
func newResume() *cobra.Command {
	c, force := &cli.Connection{}, false
	cmd := &cobra.Command{
		Use: "resume", Short: "Let the scheduler start jobs again, after a restore from a backup", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.Dial()
			if err != nil {
				return err
			}
			done, err := client.MembersOf(api).Resume(cmd.Context(), force)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), done.Message)
			return err
		},
	}
	c.Bind(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "although jobs that wait run on nodes, unknown to the cluster, or nodes are not in contact yet: such jobs are started a second time")
	return cmd
}
