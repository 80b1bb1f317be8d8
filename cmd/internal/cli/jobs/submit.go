package jobs

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/run/inherit"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

const submitLong = `Submit a job: a script, or a command after --.

  berth submit -g 4 -t 2h -D "$PWD" -- python train.py --epochs 100
  berth submit -g 16 -N 2 -J llama train.sh
  berth submit -g 1 -a 0-99%8 sweep.sh
  berth submit -g 1 -a %8 --param lr=1e-3,1e-4 --param seed=1..5 train.sh
  berth submit -g 1 --after @ evaluate.sh
  generate | berth submit -g 1 -

Lines of a script that begin with #BERTH are options, as on the command line, which
wins over them. A script with #SBATCH lines in place of them is run as by Slurm's sbatch:
see docs/slurm.md. The script itself is part of the submission.

A job starts on its node in an empty folder of its own, not in the one that it was
submitted from. With -D "$PWD" it starts in the latter, if the nodes have that folder.`

// submission holds the flags of submit.
type submission struct {
	cli.Connection
	options

	key   string
	after aftermath
	slurm *sbatch.Options // of a script in Slurm's language, whose options have no usual values; nil: it is none
}

// aftermath holds the flags for what submit does once the job is queued.
type aftermath struct{ parsable, wait, follow, dryRun bool }

func newSubmit() *cobra.Command {
	s := &submission{options: options{}}
	cmd := &cobra.Command{
		Use:   "submit [flags] SCRIPT [ARGS...] | -- COMMAND [ARGS...]",
		Short: "Submit a job",
		Long:  submitLong,
		RunE:  s.run,
	}
	s.BindReading(cmd)
	s.bindJob(cmd)
	f := cmd.Flags()
	f.StringVar(&s.key, "idempotency-key", "", "`id` under which the same submission may be sent again without a second job")
	f.BoolVar(&s.after.dryRun, "dry-run", false, "only print when it would start and what would block it; nothing is queued")
	f.BoolVar(&s.after.parsable, "parsable", false, "print the job's id and nothing else")
	f.BoolVarP(&s.after.wait, "wait", "W", false, "wait for the job's end and exit with its exit code")
	f.BoolVarP(&s.after.follow, "follow", "f", false, "show the job's output until its end, and exit with its exit code")
	return cmd
}

// bindJob binds the flags that describe what to run.
func (s *submission) bindJob(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false) // the words after the script belong to it
	cmd.Annotations = map[string]string{cli.Programs: "a script's or a command's"}
	s.bind(cmd)
}

func (s *submission) run(cmd *cobra.Command, args []string) error {
	if err := s.CheckOutput(); err != nil {
		return err
	}
	if s.after.dryRun && s.after.parsable {
		return cmdline.Usage("--dry-run and --parsable exclude each other: nothing is queued, so that there is no id; -o json prints the whole answer")
	}
	request, err := s.request(cmd, args)
	if err != nil {
		return err
	}
	api, err := s.Dial()
	if err != nil {
		return err
	}
	if err := s.fillTurns(cmd.Context(), api, s.Identified(), request); err != nil {
		return err
	}
	if d := late(request, time.Now()); d > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "Warning: the job is estimated to run for %s and cannot end before its deadline, which is %s too early\n",
			table.About(time.Duration(*request.Estimate)), table.About(d))
	}
	if s.after.dryRun {
		return s.tryOut(cmd, api, request)
	}
	answer, err := api.Submit(cmd.Context(), request, s.key)
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "It is not known whether the job was submitted: if so, berth queue --me lists the job")
		}
		return err
	}
	warn(cmd, answer)
	holds := request.OnLost == "" && answer.OnLost == model.OnLostHold.String()
	if f, is := cmd.OutOrStdout().(*os.File); is && holds && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(cmd.ErrOrStderr(), "Note: if its node is lost, the job waits for an operator, because it has no time limit of at most 1h; --on-lost requeue runs it again")
	}
	if s.slurm != nil {
		submit.Unwarned(cmd.ErrOrStderr(), "Note: ", s.slurm, &answer.Job)
	}
	out := cmd.OutOrStdout()
	if s.after.follow { // standard output is the job's
		out = cmd.ErrOrStderr()
	}
	if err := s.report(out, answer); err != nil {
		return fmt.Errorf("job %s is submitted: do not submit it again; its number could not be printed: %w", answer.JobID, err)
	}
	return s.stay(cmd, api, &answer.Job)
}

// warn prints why the job may never start.
func warn(cmd *cobra.Command, answer *wire.Submitted) {
	for _, text := range answer.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: it "+Local(text))
	}
}

// report prints the result of a submission.
func (s *submission) report(w io.Writer, answer *wire.Submitted) error {
	if s.after.parsable {
		_, err := fmt.Fprintln(w, answer.JobID)
		return err
	}
	return s.Print(w, answer, func(w io.Writer) error {
		where := "starts at once"
		if answer.QueuePosition > 0 {
			where = placeAndStart(answer)
		} else if j := answer.Job; j.State == wire.StateQueued && j.Reason != "" {
			where = Local(j.Reason)
		}
		_, err := fmt.Fprintf(w, "Submitted job %s (%s)\n", answer.JobID, where)
		return err
	})
}

// tryOut prints what a submission would result in.
func (s *submission) tryOut(cmd *cobra.Command, api *client.Client, request *wire.Submit) error {
	answer, err := api.TryOut(cmd.Context(), request)
	if err != nil {
		return err
	}
	warn(cmd, answer)
	return s.Print(cmd.OutOrStdout(), answer, func(w io.Writer) error {
		fmt.Fprintf(w, "Nothing was submitted. A submission would have this result: %s.\n", placeAndStart(answer))
		if a := answer.Job.Array; a != nil {
			fmt.Fprintf(w, "It would have %d tasks: %s.\n", a.Size, cmp.Or(strings.Join(a.Params, " × "), a.Indices))
		}
		sheet := &details{}
		sheet.size(&answer.Job)
		sheet.Line("Folder", "%s", cmp.Or(request.WorkDir, "an empty one of the job's own"))
		sheet.files(&answer.Job)
		fmt.Fprint(w, "\n", sheet.String())
		if answer.Explanation == nil || len(answer.Explanation.Blockers) == 0 {
			return nil
		}
		fmt.Fprintln(w)
		return showExplanation(w, &wire.Detail{Job: answer.Job, Explanation: answer.Explanation})
	})
}

// stay follows or awaits the job if a flag asks for that.
func (s *submission) stay(cmd *cobra.Command, api *client.Client, submitted *wire.Job) error {
	id := submitted.ID
	if s.after.follow {
		if err := followJob(cmd.Context(), cmd, api, submitted); err != nil {
			return cli.JobGoesOn(cmd, id, err)
		}
	}
	if !s.after.wait && !s.after.follow {
		return nil
	}
	job, err := cmdline.AwaitEnd(cmd.Context(), api, id)
	if err != nil {
		return cli.JobGoesOn(cmd, id, err)
	}
	return endOf(job)
}

// request returns the submission in the API's form.
// usualUmask is the mask of file modes that shells have by default: no user has chosen it, so the node's holds.
const usualUmask = 0o022

func (s *submission) request(cmd *cobra.Command, args []string) (*wire.Submit, error) {
	r := &wire.Submit{}
	if err := s.program(cmd, args, r); err != nil {
		return nil, err
	}
	if err := s.fill(cmd, r, s.slurm == nil); err != nil {
		return nil, err
	}
	if r.User == "" {
		r.User = cli.OwnName()
	}
	if len(r.Notify) > 0 && r.WebhookURL == "" {
		return nil, cmdline.Usage("--notify needs --webhook URL; for the events of all your jobs: berth webhook add URL --user %s", cli.ThisUser())
	}
	if err := cmp.Or(afterFlags(r), s.fillEnv(r), s.fillShell(r, cmd.ErrOrStderr())); err != nil {
		return nil, err
	}
	if mask := inherit.Umask(); r.Umask == "" && mask != usualUmask {
		r.Umask = inherit.Octal(mask)
	}
	warnOfPlaces(cmd.ErrOrStderr(), r)
	return r, nil
}
