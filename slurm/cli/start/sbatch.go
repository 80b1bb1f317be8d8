// Package start is the programs of Slurm that start jobs: sbatch, salloc, and srun outside of a job.
package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/sbatch"
	"github.com/berth-gpu/berth/slurm/srun"
)

// wrongOption is the exit code for an option that does not exist or has a wrong value.
const wrongOption = 255

// exitCode returns the exit code of a program of this package, and prints the error that has none of its own. An option of salloc and
// sbatch that is wrong in any way has a code of its own, of srun only one that is misspelled, as in Slurm.
func exitCode(program string, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	if code, is := errors.AsType[cmdline.ExitError](err); is {
		return int(code)
	}
	fmt.Fprintf(stderr, "%s: error: %s\n", program, cmdline.OneLine(cmdline.Advise(err)))
	if _, is := errors.AsType[*sbatch.Error](err); is && program != "srun" || srun.Misspelled(err) {
		return wrongOption
	}
	return cmdline.ExitFailure
}

// Sbatch carries out a command line of sbatch, without the name of the program, and returns the exit code: 0 when the job is
// queued, 1 after a failure, 255 for an option that is wrong, and with --wait that of the job.
func Sbatch(h *host.Host, args []string, stdout, stderr io.Writer) int {
	ctx, stop := cmdline.UntilSignal()
	defer stop()
	p := &sbatchRun{host: h, out: stdout, errs: stderr}
	return exitCode("sbatch", p.run(ctx, args), stderr)
}

// sbatchRun is one run of sbatch.
type sbatchRun struct {
	host      *host.Host
	out, errs io.Writer
	options   *sbatch.Options
}

func (p *sbatchRun) run(ctx context.Context, args []string) error {
	if err := submit.InUTF8(args); err != nil {
		return err
	}
	command, err := sbatch.ParseCommand(args)
	if err != nil {
		return err
	}
	quiet := false
	for _, g := range command.Given {
		switch g.Option {
		case "version":
			_, err := fmt.Fprintln(p.out, p.host.Slurm())
			return err
		case "help", "usage":
			_, err := io.WriteString(p.out, sbatchHelp)
			return err
		case "quiet":
			quiet = true
		}
	}
	script, err := p.script(ctx, &command)
	if err != nil {
		return err
	}
	j := &submit.Job{
		Command: command, Script: script, Env: os.LookupEnv, Dial: p.host.Dialer(p.errs), Me: p.host.Me, Shell: p.host.Shell,
		Say: p.errs, Prefix: "sbatch: ", Quiet: quiet,
	}
	request, options, err := j.Request(ctx)
	if err != nil {
		return err
	}
	p.options = options
	request.User = p.host.OwnName()
	api, err := p.host.Dial(p.errs)
	if err != nil {
		return err
	}
	if options.TestOnly {
		return p.tryOut(ctx, api, request)
	}
	return p.submit(ctx, api, request)
}

const sbatchHelp = `Usage: sbatch [OPTIONS] SCRIPT [ARGUMENTS...]
       sbatch [OPTIONS] --wrap=COMMAND
       sbatch [OPTIONS] < SCRIPT

Submits a script whose #SBATCH lines are options. docs/slurm.md lists all options, those without effect
and those that are refused.
`

// script reads the script, from standard input without a name.
func (p *sbatchRun) script(ctx context.Context, c *sbatch.Command) ([]byte, error) {
	if c.Wrap {
		return nil, nil
	}
	path := c.Script
	if path == "" {
		path = "/dev/stdin"
	}
	data, err := cmdline.ReadInput(ctx, path, model.MaxScript, p.errs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("Unable to open file %s: there is no such script", path) //nolint:staticcheck // in Slurm's words, which programs look for
	case err != nil:
		return nil, err
	case len(data) > model.MaxScript:
		return nil, fmt.Errorf("%s is larger than %d bytes, which a script may have: call a larger program from it", path, model.MaxScript)
	}
	return data, nil
}

// submit queues the job, and waits for the job's end if that was asked for.
func (p *sbatchRun) submit(ctx context.Context, api *client.Client, r *wire.Submit) error {
	answer, err := api.Submit(ctx, r, "")
	if err != nil {
		return fmt.Errorf("Batch job submission failed: %w", err) //nolint:staticcheck // in Slurm's words, which programs look for
	}
	if !p.options.Quiet {
		submit.Unwarned(p.errs, "sbatch: ", p.options, &answer.Job)
		for _, text := range answer.Warnings {
			fmt.Fprintf(p.errs, "sbatch: warning: the job %s\n", p.host.Local(text))
		}
	}
	switch {
	case p.options.Parsable:
		_, err = fmt.Fprintln(p.out, answer.JobID)
	case !p.options.Quiet:
		_, err = fmt.Fprintf(p.out, "Submitted batch job %s\n", answer.JobID)
	}
	if err != nil {
		return fmt.Errorf("job %s is submitted: do not submit it again; its number could not be printed: %w", answer.JobID, err)
	}
	if !p.options.Wait {
		return nil
	}
	job, err := cmdline.AwaitEnd(ctx, api, answer.JobID)
	if err != nil {
		return err
	}
	return p.exit(ctx, api, job)
}

// exit returns the end of a job as an exit code: of an array the greatest one of its tasks.
func (p *sbatchRun) exit(ctx context.Context, api *client.Client, d *wire.Detail) error {
	code := shellCode(d.State, d.ExitCode, d.Signal)
	if d.Array != nil {
		after := ""
		for {
			page, err := api.Lists().Tasks(ctx, d.ID, client.TasksQuery{After: after})
			if err != nil {
				return err
			}
			for i := range page.Tasks {
				code = max(code, shellCode(page.Tasks[i].State, page.Tasks[i].ExitCode, page.Tasks[i].Signal))
			}
			if after = page.Next; after == "" {
				break
			}
		}
	}
	if code == 0 {
		return nil
	}
	return cmdline.ExitError(code)
}

// shellCode returns what sbatch --wait ends with for a job or task that has ended: the exit code of the script, and 1 if a signal or
// anything else has ended the job.
func shellCode(state string, code *int64, signal int64) int {
	switch {
	case state == wire.StateCompleted:
		return 0
	case code != nil && *code > 0 && signal == 0:
		return int(*code)
	}
	return 1
}

// tryOut prints when the job would start, as --test-only does.
func (p *sbatchRun) tryOut(ctx context.Context, api *client.Client, r *wire.Submit) error {
	answer, err := api.TryOut(ctx, r)
	if err != nil {
		return fmt.Errorf("allocation failure: %w", err)
	}
	start := "at an unknown time"
	if answer.PlannedStart != nil {
		start = "at " + answer.PlannedStart.Expected.Local().Format("2006-01-02T15:04:05")
	} else if answer.QueuePosition == 0 {
		start = "at " + time.Now().Format("2006-01-02T15:04:05")
	}
	_, err = fmt.Fprintf(p.errs, "sbatch: Job would start %s using %s\n", start, strings.Join(sizesOf(&answer.Job), ", "))
	return err
}

// sizesOf returns the size of a job in words.
func sizesOf(j *wire.Job) (words []string) {
	for _, v := range []struct {
		n    int64
		unit string
	}{{max(j.Nodes, 1), "nodes"}, {j.CPUs, "cores of each node"}, {j.GPUs, "GPUs"}} {
		if v.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", v.n, v.unit))
		}
	}
	return words
}
