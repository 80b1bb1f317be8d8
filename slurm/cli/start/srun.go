package start

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/reach"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/step"
	"github.com/berth-gpu/berth/slurm/sbatch"
	"github.com/berth-gpu/berth/slurm/srun"
)

// srunScript is the script of a job that srun makes outside of a job: the step is its only one.
const srunScript = "#!/bin/sh\n# The job of srun outside of a job.\n\nexec srun \"$@\"\n"

// Srun carries out a command line of srun, without the name of the program, and returns the exit code. Inside of a job, with --jobid, and
// with SLURM_JOB_ID in the environment, it runs a step of that job. Otherwise it submits a job of one step, shows the output of the step,
// and returns the exit code of the step; the job ends with this program.
func Srun(h *host.Host, args []string, stdout, stderr io.Writer) int {
	if os.Getenv(jobfile.Variable) != "" || os.Getenv("SLURM_JOB_ID") != "" || srun.NamesJob(args) {
		return step.Srun(args, reach.Job(h.Dialer(stderr)))
	}
	ctx, stop := cmdline.UntilSignal()
	defer stop()
	err := srunAlone(ctx, h, stop, args, stdout, stderr)
	if code := cmdline.Signaled(ctx); err != nil && code != 0 {
		return int(code)
	}
	return exitCode("srun", err, stderr)
}

func srunAlone(ctx context.Context, h *host.Host, stop func(), args []string, stdout, stderr io.Writer) error {
	if err := submit.InUTF8(args); err != nil {
		return err
	}
	job, step, command, err := srun.Divide(args, sbatch.Has)
	if err != nil {
		return err
	}
	if text := srunText(h, step); text != "" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	if len(command) == 0 {
		return errors.New("there is no program to run: srun [OPTIONS] PROGRAM [ARGUMENTS...]")
	}
	if slices.Contains(step, "--pty") {
		return srunTerminal(ctx, h, stop, job, append(step, command...), command[0], stderr)
	}
	parsed, err := sbatch.ParseCommand(append(job, "--output=/dev/null", "srun"))
	if err != nil {
		return err
	}
	parsed.Script, parsed.Arguments = command[0], append(step, command...)
	j := &submit.Job{
		Command: parsed, Script: []byte(srunScript), Env: srunVariable, Dial: h.Dialer(stderr), Me: h.Me, Shell: h.Shell,
		Say: stderr, Prefix: "srun: ",
	}
	request, _, err := j.Request(ctx)
	if err != nil {
		return err
	}
	request.Attached = new(wire.Duration(linger))
	request.User = h.OwnName()
	if !slices.ContainsFunc(step, func(word string) bool { return strings.HasPrefix(word, "--input=") }) {
		if request.Stdin, err = h.Stdin(ctx, stderr); err != nil {
			return err
		}
	}
	api, err := h.Dial(stderr)
	if err != nil {
		return err
	}
	return h.Run(ctx, api, request, stdout, stderr)
}

// srunTerminal runs a step with a terminal in an allocation of its own. words are options and program of the step.
func srunTerminal(ctx context.Context, h *host.Host, stop func(), job, words []string, program string, stderr io.Writer) error {
	parsed, err := sbatch.ParseCommand(job)
	if err != nil {
		return err
	}
	parsed.Script = program // its name is that of the job
	a := &allocation{
		say: stderr, prefix: "srun: ", step: true,
		quiet: slices.ContainsFunc(words, func(word string) bool { return word == "--quiet" || word == "-Q" }),
	}
	if err := a.submit(ctx, h, &submit.Job{Command: parsed, Env: srunVariable}, false); err != nil {
		return err
	}
	defer a.release()
	if err := a.start(ctx, 0); err != nil {
		return err
	}
	stop() // signals are for the step
	for _, pair := range environ.Allocation(a.file.Job) {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if code := step.Srun(words, reach.Job(h.Dialer(stderr))); code != 0 {
		return cmdline.ExitError(code)
	}
	return nil
}

// srunText returns what srun prints in place of running a program; empty: it runs one.
func srunText(h *host.Host, step []string) string {
	for _, word := range step {
		switch word {
		case "--version":
			return h.Slurm() + "\n"
		case "--help":
			return srun.Help()
		case "--usage":
			return srun.Usage()
		}
	}
	return ""
}

// srunVariable returns the variable of srun that stands for an option of the job, by the name that the variable of sbatch has.
func srunVariable(name string) (string, bool) {
	rest, is := strings.CutPrefix(name, "SBATCH_")
	if !is || !slices.Contains([]string{"ACCOUNT", "CONSTRAINT", "PARTITION", "QOS", "RESERVATION", "TIMELIMIT", "GPUS", "GPUS_PER_NODE", "MEM_PER_NODE", "MEM_PER_CPU"}, rest) {
		return "", false
	}
	return os.LookupEnv("SLURM_" + rest)
}
