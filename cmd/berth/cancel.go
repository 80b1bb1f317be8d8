package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
)

// cancellation is what the flags of cancel say.
type cancellation struct {
	connection

	name   string
	mine   bool
	reason string
	task   int64
}

func newCancel() *cobra.Command {
	c := &cancellation{task: -1}
	cmd := &cobra.Command{
		Use:   "cancel JOB...",
		Short: "End jobs: at once if they wait, by signal, grace and kill if they run",
		RunE:  c.run,
	}
	c.bind(cmd)
	f := cmd.Flags()
	f.StringVar(&c.name, "name", "", "all open jobs of this user with this `name`")
	f.BoolVar(&c.mine, "all-mine", false, "all open jobs of this user")
	f.StringVar(&c.reason, "reason", "", "`text` for the job's timeline")
	f.Int64Var(&c.task, "task", -1, "only this task of an array")
	return cmd
}

func (c *cancellation) run(cmd *cobra.Command, args []string) error {
	if (len(args) == 0) == (c.name == "" && !c.mine) {
		return usage("name the jobs to cancel, or give --name or --all-mine; see berth cancel --help")
	}
	api, err := c.dial()
	if err != nil {
		return err
	}
	ids := args
	if len(ids) == 0 {
		if ids, err = c.find(cmd.Context(), api); err != nil {
			return err
		}
	}
	var errs []error
	done := 0
	for _, id := range ids {
		answer, err := api.Cancel(cmd.Context(), id, c.task, c.reason)
		if err != nil {
			errs = append(errs, fmt.Errorf("job %s: %w", id, err))
			continue
		}
		done++
		fmt.Fprintf(cmd.OutOrStdout(), "Job %s: %s\n", id, answer.Message)
	}
	if len(ids) != 1 {
		fmt.Fprintf(cmd.OutOrStdout(), "Canceled %d of %d jobs\n", done, len(ids))
	}
	return errors.Join(errs...)
}

// find lists this user's open jobs, or those of a name.
func (c *cancellation) find(ctx context.Context, api *client.Client) (ids []string, err error) {
	q, err := api.Queue(ctx, client.QueueQuery{User: thisUser()})
	if err != nil {
		return nil, err
	}
	for _, j := range append(q.Running, q.Queued...) {
		if c.mine || j.Name == c.name {
			ids = append(ids, j.ID)
		}
	}
	return ids, nil
}
