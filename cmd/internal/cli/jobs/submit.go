package jobs

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const submitLong = `Submit a job: a script, or a command after --.

  berth submit -g 4 -t 2h -D "$PWD" -- python train.py --epochs 100
  berth submit -g 16 -N 2 -J llama train.sh
  berth submit -g 1 -a 0-99%8 sweep.sh
  berth submit -g 1 -a %8 --param lr=1e-3,1e-4 --param seed=1..5 train.sh
  berth submit -g 1 --after @ evaluate.sh
  generate | berth submit -g 1 -

Lines of a script that begin with #BERTH or #SBATCH are options, as on the command
line, which wins over them. The script itself is part of the submission.

A job starts on its node in an empty folder of its own, not in the one that it was
submitted from. With -D "$PWD" it starts in the latter, if the nodes have that folder.`

// submission holds the flags of submit.
type submission struct {
	cli.Connection
	sizes
	times
	labels
	life
	turns
	placing
	telling

	env     []string
	workdir string
	key     string
	after   aftermath
}

// sizes holds what a job needs.
type sizes struct {
	gpus, gpuMemory, memory, array string
	nodes, perNode, cpus           int64
	params                         []string
}

// times holds durations as a user writes them; empty: not given.
type times struct{ limit, estimate, grace, contact, checkpointGrace, checkpointEvery, idle string }

// labels holds the job's user, project, name and other labels.
type labels struct{ name, project, user, runID, priority string }

// life holds the flags for failures and interruptions of a job.
type life struct {
	retries           int64
	preemptible, hold bool
	onLost            string
	stopSignal        string
	warn              string
	checkpoint        string
	checkpointDir     string
	retryOn           []int64
}

// aftermath holds the flags for what submit does once the job is queued.
type aftermath struct{ parsable, wait, follow, dryRun bool }

func newSubmit() *cobra.Command {
	s := &submission{}
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
	s.bindSize(cmd)
	s.bindLife(cmd)
	s.bindTurns(cmd)
	s.bindPlacing(cmd)
	s.bindTelling(cmd)
}

func (s *submission) bindSize(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.gpus, "gpus", "g", "1", "GPUs in all, or `[model:]N` such as h100:4, or a100|h100:N for one of several models")
	f.Int64VarP(&s.nodes, "nodes", "N", 0, "spread over exactly `N` nodes")
	f.Int64Var(&s.perNode, "gpus-per-node", 0, "GPUs on each node, with --nodes")
	f.StringVar(&s.gpuMemory, "gpu-mem", "", "memory of each GPU at least, in `GB`")
	f.Int64VarP(&s.cpus, "cpus", "c", 0, "limit of CPU `cores` on each node")
	f.StringVar(&s.memory, "mem", "", "limit of main memory on each node, in `GB`")
	f.StringVarP(&s.array, "array", "a", "", "an array of tasks: `0-99`, 0-99:10, 3,7,9-12; 0-99%8 for at most 8 at once")
	f.StringArrayVar(&s.params, "param", nil, "an array over the grid of `NAME=VALUE,...`; 1..5 stands for 1,2,3,4,5")
}

func (s *submission) bindLife(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.limit, "time", "t", "", "run `time` after which the job is stopped: 90s, 2h30m, 1-00:00:00")
	f.StringVar(&s.estimate, "estimate", "", "how long it will probably run, as a `time`")
	f.StringVarP(&s.name, "name", "J", "", "the job's `name`")
	f.StringVarP(&s.project, "project", "A", "", "the `project` that it belongs to")
	f.StringVarP(&s.user, "user", "u", "", "the job's `user` (default: you)")
	f.StringVar(&s.runID, "run-id", "", "the `id` of the run that it belongs to")
	f.StringVarP(&s.priority, "priority", "p", "", "low, normal, high, critical, or 1 to 10 (1 to 4 are these, 5 is normal, 6 to 8 high, 9 and 10 critical)")
	f.Int64Var(&s.retries, "max-retries", 0, "further attempts after a failure")
	f.Int64SliceVar(&s.retryOn, "retry-on", nil, "exit `codes` that are retried, such as 75,137 (default: any)")
	f.BoolVar(&s.preemptible, "preemptible", false, "may be stopped and queued again for other jobs; --preemptible=false: must not, regardless of quotas")
	f.BoolVar(&s.hold, "hold", false, "wait for a release")
	f.StringVar(&s.onLost, "on-lost", "", "what to do when a node is lost: requeue, hold or fail")
	f.StringVar(&s.contact, "disconnect-grace", "", "how long a node may be out of contact, as a `time`")
	f.StringVar(&s.warn, "signal", "", "`NAME@SECONDS`: a signal before the time limit, such as USR1@300")
	f.StringVar(&s.stopSignal, "stop-signal", "", "`name` of the signal that asks the job to end (default: TERM)")
	f.StringVar(&s.grace, "grace", "", "`time` from the stop signal to the kill (default: 30s)")
	f.StringVar(&s.checkpoint, "checkpoint-signal", "", "`name` of a signal that is sent first")
	f.StringVar(&s.idle, "idle-stop", "", "cancel the job once all its GPUs were at 0 % for this `time`; 0: never")
	f.StringVar(&s.checkpointEvery, "checkpoint-interval", "", "send the checkpoint signal this often, as a `time`")
	f.StringVar(&s.checkpointDir, "checkpoint-dir", "", "`folder` in which each attempt gets its BERTH_CHECKPOINT_DIR")
	f.StringVar(&s.checkpointGrace, "checkpoint-grace", "", "`time` from the checkpoint signal to the stop signal")
	f.StringArrayVarP(&s.env, "env", "e", nil, "`NAME=value` for the job, or NAME to take this shell's value")
	f.StringVarP(&s.workdir, "workdir", "D", "", "`folder` on the node that it starts in (default: an empty one of its own, not the current one)")
}

func (s *submission) run(cmd *cobra.Command, args []string) error {
	if err := s.CheckOutput(); err != nil {
		return err
	}
	if s.after.dryRun && s.after.parsable {
		return cli.Usage("--dry-run and --parsable exclude each other: nothing is queued, so that there is no id; -o json prints the whole answer")
	}
	request, err := s.request(cmd, args)
	if err != nil {
		return err
	}
	api, err := s.Dial()
	if err != nil {
		return err
	}
	if err := s.fillTurns(cmd.Context(), api, request.User, request); err != nil {
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
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: it "+local(text))
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
		} else if j := answer.Job; j.State == model.TaskQueued.String() && j.Reason != "" {
			where = local(j.Reason)
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
	job, err := awaitEnd(cmd.Context(), api, id)
	if err != nil {
		return cli.JobGoesOn(cmd, id, err)
	}
	return endOf(job)
}

// request returns the submission in the API's form.
func (s *submission) request(cmd *cobra.Command, args []string) (*wire.Submit, error) {
	r := &wire.Submit{}
	if err := s.program(cmd, args, r); err != nil {
		return nil, err
	}
	for _, fill := range []func(*cobra.Command, *wire.Submit) error{s.fillSize, s.fillTimes, s.fillRest, s.fillPlacing, s.fillTelling} {
		if err := fill(cmd, r); err != nil {
			return nil, err
		}
	}
	warnOfPlaces(cmd.ErrOrStderr(), r)
	return r, nil
}

func (s *submission) fillSize(cmd *cobra.Command, r *wire.Submit) error {
	kind, count, found := strings.Cut(s.gpus, ":")
	if !found {
		kind, count = "", s.gpus
	}
	n, err := strconv.ParseInt(count, 10, 32)
	switch {
	case err != nil:
		return cli.Usage("--gpus must be a number, or a model and a number such as H100:4, not %q", s.gpus)
	case found && cli.Blank(kind):
		return cli.Usage("--gpus %q has no model before the colon: write %d for any model, or a model such as H100:%d", s.gpus, n, n)
	}
	r.GPUs, r.GPUType = &n, kind
	if cmd.Flags().Changed("gpus-per-node") {
		r.GPUsPerNode = &s.perNode
		if s.gpus == "1" {
			r.GPUs = nil
		}
	}
	r.Nodes, r.CPUs = cli.Optional(cmd, "nodes", &s.nodes), cli.Optional(cmd, "cpus", &s.cpus)
	if r.GPUMemory, err = gigabytes("--gpu-mem", s.gpuMemory); err != nil {
		return err
	}
	if r.HostMemory, err = gigabytes("--mem", s.memory); err != nil {
		return err
	}
	return s.fillArray(r)
}

// fillArray parses "0-99", "0-99:10%4", or with a sweep "%4".
func (s *submission) fillArray(r *wire.Submit) error {
	span, limit, limited := strings.Cut(s.array, "%")
	r.Params, r.Indices = s.params, span
	switch {
	case s.array != "" && span == "" && len(s.params) == 0:
		return cli.Usage("--array: the tasks are missing; give them as in 0-99%%8")
	case span != "" && len(s.params) > 0:
		return cli.Usage("--array: the tasks of a sweep follow from --param; give %%%s alone, or none", cmp.Or(limit, "8"))
	case span != "":
		if _, err := model.ParseIndices(span); err != nil {
			return cli.Usage("--array %w", err)
		}
	}
	if !limited {
		return nil
	}
	most, err := strconv.ParseInt(limit, 10, 32)
	if err != nil || most < 1 {
		return cli.Usage("--array: after %% must be the number of tasks that may run at once, not %q", limit)
	}
	r.MaxRunning = &most
	return nil
}

func (s *submission) fillTimes(_ *cobra.Command, r *wire.Submit) error {
	for _, t := range []struct {
		flag, text string
		to         **wire.Duration
	}{
		{"--time", s.limit, &r.TimeLimit},
		{"--estimate", s.estimate, &r.Estimate},
		{"--grace", s.grace, &r.Grace},
		{"--disconnect-grace", s.contact, &r.DisconnectGrace},
		{"--checkpoint-grace", s.checkpointGrace, &r.CheckpointGrace},
		{"--checkpoint-interval", s.checkpointEvery, &r.CheckpointInterval},
		{"--idle-stop", s.idle, &r.IdleStop},
	} {
		var err error
		if *t.to, err = cli.TimeFlag(t.flag, t.text); err != nil {
			return err
		}
	}
	return nil
}

func (s *submission) fillRest(cmd *cobra.Command, r *wire.Submit) error {
	r.Name, r.Project, r.RunID, r.User = s.name, s.project, s.runID, s.user
	if r.User == "" && cli.TokenOfEnvironment() == "" { // a token identifies its user
		r.User = cli.ThisUser()
	}
	if s.priority != "" {
		n, err := parsePriority(s.priority)
		if err != nil {
			return cli.Usage("--priority: %w", err)
		}
		r.Priority = &n
	}
	if cmd.Flags().Changed("max-retries") {
		r.MaxRetries = &s.retries
	}
	if cmd.Flags().Changed("preemptible") {
		r.Preemptible = &s.preemptible
	}
	if s.hold {
		r.Hold = &s.hold
	}
	r.OnLost, r.StopSignal, r.CheckpointSignal, r.WorkDir = s.onLost, s.stopSignal, s.checkpoint, s.workdir
	r.CheckpointDir, r.RetryOn = s.checkpointDir, s.retryOn
	if err := s.fillWarning(r); err != nil {
		return err
	}
	return s.fillEnv(r)
}
