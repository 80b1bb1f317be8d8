package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// change changes one job, or some tasks of it.
type change func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error)

// eachJob applies a change to every job that is named, and prints the result of each.
func eachJob(c *cli.Connection, do change) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		if len(names) == 0 {
			return cli.Usage("%s takes the ids of jobs; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		api, err := c.Dial()
		if err != nil {
			return err
		}
		refs, err := cli.FindRefs(cmd.Context(), api, names)
		if err != nil {
			return err
		}
		return changeAll(cmd, api, refs, do)
	}
}

func changeAll(cmd *cobra.Command, api *client.Client, refs []cli.Ref, do change) error {
	var errs []error
	for _, r := range refs {
		answer, err := do(cmd.Context(), api, r)
		if err != nil {
			errs = append(errs, ofJob(r, err))
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Job %s: %s\n", r, answer.Message)
	}
	return errors.Join(errs...)
}

// ofJob adds the job's id to an error that does not begin with that.
func ofJob(r cli.Ref, err error) error {
	if name := "job " + r.String(); !strings.HasPrefix(err.Error(), name+" ") {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// The usage texts for one job or task, and for several.
const (
	taskHelp  = ".\n\n17.3 is task 3 of the array 17, and @ is the newest job of this user."
	tasksHelp = ".\n\n17.3 is task 3 of the array 17, 17.[3-9,12] are several, and @ is the newest job of this user."
)

// newControl returns a command that changes jobs, or some tasks of arrays.
func newControl(use, short string, call func(*client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error)) *cobra.Command {
	c := &cli.Connection{}
	var reason string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + tasksHelp,
		RunE: eachJob(c, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
			return call(api)(ctx, r.Job, r.Tasks, reason)
		}),
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the job's timeline")
	cli.AllowEmpty(cmd.Flags(), "reason")
	return cmd
}

func newHold() *cobra.Command {
	return newControl("hold JOB...", "Hold waiting jobs: they do not start until berth release",
		func(c *client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
			return c.Controls().Hold
		})
}

func newRelease() *cobra.Command {
	var awaited bool
	cmd := newControl("release JOB|ALLOCATION...", "Release held jobs, retry failed ones at once, and release GPUs of services",
		func(c *client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
			if !awaited {
				return c.Controls().Release
			}
			return func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
				if tasks != "" {
					return nil, cli.Usage("--dependencies: a job waits for others as a whole: give the job without tasks")
				}
				return c.Controls().DropDependencies(ctx, id, note)
			}
		})
	cmd.Flags().BoolVar(&awaited, "dependencies", false, "remove their dependencies on other jobs")
	return releasing(cmd)
}

func newRequeue() *cobra.Command {
	var hold bool
	cmd := newControl("requeue JOB...", "Stop running jobs and return them to the queue",
		func(c *client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
			if hold {
				return c.Controls().RequeueHeld
			}
			return c.Controls().Requeue
		})
	cmd.Flags().BoolVar(&hold, "hold", false, "hold them there until berth release; jobs that wait are held at once")
	return cmd
}

func newExtend() *cobra.Command {
	c := &cli.Connection{}
	var limit, by string
	body := &wire.Extend{}
	cmd := &cobra.Command{
		Use:   "extend JOB... (--by TIME | --to TIME)",
		Short: "Raise the time limit of jobs, also while they run",
		PreRunE: func(*cobra.Command, []string) error {
			if (limit == "") == (by == "") {
				return cli.Usage("give --by, such as --by 2h, or --to, the new limit; see berth extend --help")
			}
			var err error
			if body.TimeLimit, err = cli.TimeFlag("--to", limit); err != nil {
				return err
			}
			body.By, err = cli.TimeFlag("--by", by)
			return err
		},
		RunE: eachJob(c, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
			if r.Tasks != "" {
				return nil, cli.Usage("the tasks of an array have one time limit: name the job as a whole")
			}
			return api.Controls().Extend(ctx, r.Job, body)
		}),
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&by, "by", "", "additional `time`")
	cmd.Flags().StringVar(&limit, "to", "", "the new limit, a `time` from the start of an attempt")
	return cmd
}
