package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// change changes one job, or some tasks of it.
type change func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error)

// eachJob applies a change to every job that is named, and prints the result of each. all returns the same change of many
// jobs; nil: there is none.
func eachJob(c *cli.Connection, all func() *wire.Bulk, do change) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		if len(names) == 0 {
			return cmdline.Usage("%s takes the ids of jobs; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		api, err := c.Dial()
		if err != nil {
			return err
		}
		refs, err := cli.FindRefs(cmd.Context(), api, names)
		if err != nil {
			return err
		}
		var bulk *wire.Bulk
		if all != nil {
			bulk = all()
		}
		_, err = changeAll(cmd, api, refs, bulk, do)
		return err
	}
}

// changeAll changes jobs, several whole ones by one request for many, and returns how many were changed. all is that
// request without the ids; nil: there is none, and each job is changed by itself.
func changeAll(cmd *cobra.Command, api *client.Client, refs []cli.Ref, all *wire.Bulk, do change) (done int, err error) {
	if all != nil && wholeJobs(refs) {
		if do, err = changedAtOnce(cmd.Context(), api, refs, all); err != nil {
			return 0, err
		}
	}
	var errs []error
	for _, r := range refs {
		answer, err := do(cmd.Context(), api, r)
		if err != nil {
			errs = append(errs, ofJob(r, err))
			continue
		}
		done++
		fmt.Fprintf(cmd.OutOrStdout(), "Job %s: %s\n", r, answer.Message)
	}
	return done, errors.Join(errs...)
}

// wholeJobs reports whether refs name several jobs, each once and as a whole.
func wholeJobs(refs []cli.Ref) bool {
	seen := map[string]bool{}
	for _, r := range refs {
		if n, err := strconv.ParseUint(r.Job, 10, 63); err != nil || n == 0 || r.Tasks != "" || seen[r.Job] || r.Job[0] == '0' {
			return false
		}
		seen[r.Job] = true
	}
	return len(refs) > 1
}

// mostAtOnce is how many jobs one request may change, and mostMoved how many it may move ahead of another one.
const (
	mostAtOnce = 1000
	mostMoved  = 100
)

// changedAtOnce changes jobs by as few requests as possible, and returns what gives the result of each.
func changedAtOnce(ctx context.Context, api *client.Client, refs []cli.Ref, all *wire.Bulk) (change, error) {
	results, most := map[string]wire.BulkResult{}, mostAtOnce
	if all.Before != "" {
		most = mostMoved
	}
	for part := range slices.Chunk(refs, most) {
		body := *all
		body.IDs = nil
		for _, r := range part {
			body.IDs = append(body.IDs, r.Job)
		}
		answer, err := api.Bulk(ctx, &body, "")
		if err != nil && len(results) == 0 {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%d of %d jobs were handled (berth show has their states); the rest: %w", len(results), len(refs), err)
		}
		for _, r := range answer.Results {
			results[r.JobID] = r
		}
	}
	return func(_ context.Context, _ *client.Client, r cli.Ref) (*wire.Done, error) {
		one, found := results[r.Job]
		switch {
		case !found:
			return nil, errors.New("the answer has no result for it: see berth show")
		case !one.Success:
			return nil, &wire.Problem{Title: http.StatusText(one.Status), Status: one.Status, Code: one.Code, Detail: one.Message}
		}
		return &wire.Done{Success: true, JobID: one.JobID, Message: one.Message, State: one.State}, nil
	}, nil
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

// newControl returns a command that changes jobs, or some tasks of arrays. action returns what the change of many jobs is
// called; empty: there is none.
func newControl(use, short string, action func() string,
	call func(*client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error),
) *cobra.Command {
	c := &cli.Connection{}
	var reason string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + tasksHelp,
		RunE: eachJob(c, func() *wire.Bulk {
			if action() == "" {
				return nil
			}
			return &wire.Bulk{Action: action(), Note: reason}
		}, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
			return call(api)(ctx, r.Job, r.Tasks, reason)
		}),
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the job's timeline")
	cli.AllowEmpty(cmd.Flags(), "reason")
	return cmd
}

func newHold() *cobra.Command {
	return newControl("hold JOB...", "Hold waiting jobs: they do not start until berth release", func() string { return "hold" },
		func(c *client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
			return c.Controls().Hold
		})
}

func newRelease() *cobra.Command {
	var awaited bool
	cmd := newControl("release JOB|ALLOCATION...", "Release held jobs, retry failed ones at once, and release GPUs of services",
		func() string {
			if awaited {
				return ""
			}
			return "release"
		},
		func(c *client.Client) func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
			if !awaited {
				return c.Controls().Release
			}
			return func(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
				if tasks != "" {
					return nil, cmdline.Usage("--dependencies: a job waits for others as a whole: give the job without tasks")
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
		func() string {
			if hold {
				return ""
			}
			return "requeue"
		},
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
				return cmdline.Usage("give --by, such as --by 2h, or --to, the new limit; see berth extend --help")
			}
			var err error
			if body.TimeLimit, err = cli.TimeFlag("--to", limit); err != nil {
				return err
			}
			body.By, err = cli.TimeFlag("--by", by)
			return err
		},
		RunE: eachJob(c, nil, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
			if r.Tasks != "" {
				return nil, cmdline.Usage("the tasks of an array have one time limit: name the job as a whole")
			}
			return api.Controls().Extend(ctx, r.Job, body)
		}),
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&by, "by", "", "additional `time`")
	cmd.Flags().StringVar(&limit, "to", "", "the new limit, a `time` from the start of an attempt")
	return cmd
}

// newPurge returns the command that removes what jobs ran with.
func newPurge() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "purge JOB...",
		Short: "Remove the script, the input and the environment of ended jobs",
		Long: `Remove the script, the standard input and the environment of ended jobs, such as one with a
password that was not meant to be there. They cannot be read any more, nor can the job be submitted
again from them. The command line, the timeline and the output stay: a password in these must be
changed.`,
		RunE: eachJob(c, nil, func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
			if r.Tasks != "" {
				return nil, cmdline.Usage("the tasks of an array have one script and one environment: name the job as a whole")
			}
			return api.Controls().Purge(ctx, r.Job)
		}),
	}
	c.Bind(cmd)
	return cmd
}

// newMove returns the command that moves jobs in the order of the queue.
func newMove() *cobra.Command {
	c := &cli.Connection{}
	var before string
	cmd := &cobra.Command{
		Use:   "move JOB... --before JOB",
		Short: "Move waiting jobs directly ahead of another one (operators)",
		Long: "Move waiting jobs directly ahead of another one in the order of the queue, in the order in which they are named.\n\n" +
			"A job keeps the place when the other one has left, and passes no limit or quota by it. A class of priority ends the place\n" +
			"(PATCH /queue/{id}/priority, or Priority in the page). Only operators may move jobs.",
		RunE: func(cmd *cobra.Command, names []string) error {
			if before == "" {
				return cmdline.Usage("give --before, the waiting job ahead of which the others go; see %s --help", cmd.CommandPath())
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			others, err := cli.FindRefs(cmd.Context(), api, []string{before})
			if err != nil {
				return err
			}
			if others[0].Tasks != "" {
				return cmdline.Usage("--before: the tasks of an array have one place: name the job as a whole, not %s", others[0])
			}
			return eachJob(c, func() *wire.Bulk { return &wire.Bulk{Action: "priority", Before: others[0].Job} },
				func(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Done, error) {
					if r.Tasks != "" {
						return nil, cmdline.Usage("the tasks of an array have one place in the queue: name the job as a whole")
					}
					return api.MoveBefore(ctx, r.Job, others[0].Job)
				})(cmd, names)
		},
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&before, "before", "", "the waiting `job` ahead of which the others go")
	return cmd
}
