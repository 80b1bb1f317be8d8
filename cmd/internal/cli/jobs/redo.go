package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const redoLong = `Submit jobs again, as new jobs that ask for the same: program, script, input, environment, size, limits and
rules.

  berth redo 17
  berth redo --dry-run @     # the job that this user submitted last

What belongs to the first submission only is left out: the jobs that it waited for, --begin, --deadline and --hold. The
new job is this user's, also if an operator repeats the job of another user; the environment of that user's submission is
left out then. A job that ended so long ago that the cluster keeps its result only cannot be repeated.`

func newRedo() *cobra.Command {
	s := &submission{options: options{}}
	cmd := &cobra.Command{
		Use:   "redo [flags] JOB...",
		Short: "Submit jobs again, as new jobs that ask for the same",
		Long:  redoLong,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				return cmdline.Usage("berth redo takes the ids of jobs; see berth redo --help")
			}
			return s.redo(cmd, names)
		},
	}
	s.BindReading(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.after.dryRun, "dry-run", false, "only print when it would start and what would block it; nothing is queued")
	f.BoolVar(&s.after.parsable, "parsable", false, "print the ids of the new jobs and nothing else")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "parsable")
	return cmd
}

// redo submits each of the jobs again. It goes on after an error.
func (s *submission) redo(cmd *cobra.Command, names []string) error {
	if err := s.CheckOutput(); err != nil {
		return err
	}
	api, err := s.Dial()
	if err != nil {
		return err
	}
	refs, err := cli.FindRefs(cmd.Context(), api, names)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range refs {
		if err := s.redoOne(cmd, api, r); err != nil {
			errs = append(errs, ofJob(r, err))
		}
	}
	return errors.Join(errs...)
}

func (s *submission) redoOne(cmd *cobra.Command, api *client.Client, r cli.Ref) error {
	if r.Tasks != "" {
		return cmdline.Usage("%s names tasks of an array: berth redo repeats jobs as a whole, such as %s", r, r.Job)
	}
	request, err := s.again(cmd.Context(), api, r.Job)
	if err != nil {
		return err
	}
	if s.after.dryRun {
		return s.tryOut(cmd, api, request)
	}
	answer, err := api.Submit(cmd.Context(), request, "")
	if err != nil {
		return err
	}
	warn(cmd, answer)
	if err := s.report(cmd.OutOrStdout(), answer); err != nil {
		return fmt.Errorf("job %s is submitted: do not submit it again; its number could not be printed: %w", answer.JobID, err)
	}
	return nil
}

// again returns the submission of a job without what belongs to the first one only.
func (s *submission) again(ctx context.Context, api *client.Client, id string) (*wire.Submit, error) {
	request, err := api.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	request.Dependencies, request.Begin, request.Deadline, request.Hold, request.Attached = nil, "", "", nil, nil
	request.User = cli.OwnName()
	return request, nil
}
