package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// change changes one job.
type change func(ctx context.Context, api *client.Client, id string) (*wire.Done, error)

// eachJob makes the change to every job that is named, and says what came of each.
func eachJob(c *connection, do change) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, ids []string) error {
		if len(ids) == 0 {
			return usage("%s takes the ids of jobs; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		api, err := c.dial()
		if err != nil {
			return err
		}
		var errs []error
		for _, id := range ids {
			answer, err := do(cmd.Context(), api, id)
			if err != nil {
				errs = append(errs, fmt.Errorf("job %s: %w", id, err))
				continue
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Job %s: %s\n", id, answer.Message)
		}
		return errors.Join(errs...)
	}
}

// newControl is a command that changes jobs, or one task of an array.
func newControl(use, short string, call func(*client.Client) func(context.Context, string, int64, string) (*wire.Done, error)) *cobra.Command {
	c := &connection{}
	var task int64
	var reason string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		RunE: eachJob(c, func(ctx context.Context, api *client.Client, id string) (*wire.Done, error) {
			return call(api)(ctx, id, task, reason)
		}),
	}
	c.bind(cmd)
	cmd.Flags().Int64Var(&task, "task", client.AllTasks, "only this task of an array")
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the job's timeline")
	return cmd
}

func newHold() *cobra.Command {
	return newControl("hold JOB...", "Keep jobs that wait from being started",
		func(c *client.Client) func(context.Context, string, int64, string) (*wire.Done, error) {
			return c.Controls().Hold
		})
}

func newRelease() *cobra.Command {
	return newControl("release JOB...", "Let held jobs start, and failed ones try again at once",
		func(c *client.Client) func(context.Context, string, int64, string) (*wire.Done, error) {
			return c.Controls().Release
		})
}

func newRequeue() *cobra.Command {
	return newControl("requeue JOB...", "Stop jobs that run and send them back to the queue",
		func(c *client.Client) func(context.Context, string, int64, string) (*wire.Done, error) {
			return c.Controls().Requeue
		})
}

func newExtend() *cobra.Command {
	c := &connection{}
	var limit, by string
	body := &wire.Extend{}
	cmd := &cobra.Command{
		Use:   "extend JOB... (--by TIME | --to TIME)",
		Short: "Raise the time limit of jobs, also while they run",
		PreRunE: func(*cobra.Command, []string) error {
			if (limit == "") == (by == "") {
				return usage("give --by, such as --by 2h, or --to, the new limit; see berth extend --help")
			}
			var err error
			if body.TimeLimit, err = timeFlag("--to", limit); err != nil {
				return err
			}
			body.By, err = timeFlag("--by", by)
			return err
		},
		RunE: eachJob(c, func(ctx context.Context, api *client.Client, id string) (*wire.Done, error) {
			return api.Controls().Extend(ctx, id, body)
		}),
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&by, "by", "", "so much more `time` than now")
	cmd.Flags().StringVar(&limit, "to", "", "the new limit as a `time`, from the start of an attempt")
	return cmd
}

// timeFlag reads a flag that holds a time; empty: not given.
func timeFlag(name, text string) (*wire.Duration, error) {
	if text == "" {
		return nil, nil
	}
	v, err := wire.ParseDuration(text)
	if err != nil {
		return nil, usage("%s %w", name, err)
	}
	d := wire.Duration(v)
	return &d, nil
}
