package start

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/jobs"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/reach"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/step"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/sbatch"
	"github.com/berth-gpu/berth/slurm/srun"
)

// srunScript is the script of a job that srun makes outside of a job: the step is its only one.
const srunScript = "#!/bin/sh\n# The job of srun outside of a job.\n\nexec srun \"$@\"\n"

// Srun carries out a command line of srun, without the name of the program, and returns the exit code. Inside of a job, with --jobid, and
// with SLURM_JOB_ID in the environment, it runs a step of that job. Otherwise it submits a job of one step, shows the output of the step,
// and returns the exit code of the step; the job ends with this program.
func Srun(args []string, stdout, stderr io.Writer) int {
	if os.Getenv(jobfile.Variable) != "" || os.Getenv("SLURM_JOB_ID") != "" || srun.NamesJob(args) {
		return step.Srun(args, reach.Job(cli.NewConnection(stderr)))
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	err := srunAlone(ctx, stop, args, stdout, stderr)
	if code := cli.Signaled(ctx); err != nil && code != 0 {
		return int(code)
	}
	return exitCode("srun", err, stderr)
}

func srunAlone(ctx context.Context, stop func(), args []string, stdout, stderr io.Writer) error {
	if err := jobs.InUTF8(args); err != nil {
		return err
	}
	job, step, command, err := srun.Divide(args, sbatch.Has)
	if err != nil {
		return err
	}
	if text := srunText(step); text != "" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	if len(command) == 0 {
		return errors.New("there is no program to run: srun [OPTIONS] PROGRAM [ARGUMENTS...]")
	}
	if slices.Contains(step, "--pty") {
		return srunTerminal(ctx, stop, job, append(step, command...), command[0], stderr)
	}
	parsed, err := sbatch.ParseCommand(append(job, "--output=/dev/null", "srun"))
	if err != nil {
		return err
	}
	parsed.Script, parsed.Arguments = command[0], append(step, command...)
	connection := cli.NewConnection(stderr)
	j := &jobs.SlurmJob{Command: parsed, Script: []byte(srunScript), Env: srunVariable, Dial: connection.Dial, Say: stderr, Prefix: "srun: "}
	request, _, err := j.Request(ctx)
	if err != nil {
		return err
	}
	request.Attached = new(wire.Duration(linger))
	request.User = cli.OwnName()
	if !slices.ContainsFunc(step, func(word string) bool { return strings.HasPrefix(word, "--input=") }) {
		if request.Stdin, err = jobs.ReadStdin(ctx, stderr); err != nil {
			return err
		}
	}
	api, err := connection.Dial()
	if err != nil {
		return err
	}
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return jobs.RunAttached(cmd, api, request)
}

// srunTerminal runs a step with a terminal in an allocation of its own. words are options and program of the step.
func srunTerminal(ctx context.Context, stop func(), job, words []string, program string, stderr io.Writer) error {
	parsed, err := sbatch.ParseCommand(job)
	if err != nil {
		return err
	}
	parsed.Script = program // its name is that of the job
	connection := cli.NewConnection(stderr)
	a := &allocation{
		say: stderr, prefix: "srun: ", step: true,
		quiet: slices.ContainsFunc(words, func(word string) bool { return word == "--quiet" || word == "-Q" }),
	}
	if err := a.submit(ctx, &jobs.SlurmJob{Command: parsed, Env: srunVariable}, connection, false); err != nil {
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
	if code := step.Srun(words, reach.Job(connection)); code != 0 {
		return cli.ExitError(code)
	}
	return nil
}

// srunText returns what srun prints in place of running a program; empty: it runs one.
func srunText(step []string) string {
	for _, word := range step {
		switch word {
		case "--version":
			return cli.SlurmVersion() + "\n"
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
