package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// cancellation holds the flags of cancel.
type cancellation struct {
	cli.Connection

	name   string
	mine   bool
	reason string
}

func newCancel() *cobra.Command {
	c := &cancellation{}
	cmd := &cobra.Command{
		Use:   "cancel JOB...",
		Short: "End jobs: at once if they wait, by signal, grace and kill if they run",
		Long:  "End jobs: at once if they wait, by signal, grace and kill if they run" + tasksHelp,
		RunE:  c.run,
	}
	c.Bind(cmd)
	f := cmd.Flags()
	f.StringVar(&c.name, "name", "", "all open jobs of this user with this `name`")
	f.BoolVar(&c.mine, "all-mine", false, "all open jobs of this user")
	f.StringVar(&c.reason, "reason", "", "`text` for the job's timeline")
	cli.AllowEmpty(f, "reason")
	return cmd
}

func (c *cancellation) run(cmd *cobra.Command, args []string) error {
	if (len(args) == 0) == (c.name == "" && !c.mine) {
		return cmdline.Usage("name the jobs to cancel, or give --name or --all-mine; see berth cancel --help")
	}
	api, err := c.Dial()
	if err != nil {
		return err
	}
	refs, err := cli.FindRefs(cmd.Context(), api, args)
	if err == nil && len(args) == 0 {
		refs, err = c.find(cmd.Context(), api)
	}
	if err != nil {
		return err
	}
	all := &wire.Bulk{Action: "cancel", Note: c.reason}
	done, err := changeAll(cmd, api, refs, all, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
		return api.Cancel(ctx, r.Job, r.Tasks, c.reason)
	})
	if len(refs) != 1 {
		fmt.Fprintf(cmd.OutOrStdout(), "Canceled %d of %d jobs\n", done, len(refs))
	}
	return err
}

// find lists this user's open jobs, or those with a given name.
func (c *cancellation) find(ctx context.Context, api *client.Client) (refs []cli.Ref, err error) {
	q, err := api.Queue(ctx, client.QueueQuery{User: cli.Me(ctx, api)})
	if err != nil {
		return nil, err
	}
	for _, j := range append(q.Running, q.Queued...) {
		if c.mine || j.Name == c.name {
			refs = append(refs, cli.Ref{Job: j.ID})
		}
	}
	return refs, nil
}
