package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/sbatch"
	"github.com/berth-gpu/berth/slurm/srun"
)

// srunScript is the script of a job that srun makes outside of a job: the step is its only one.
const srunScript = "#!/bin/sh\n# The job of srun outside of a job.\n\nexec srun \"$@\"\n"

// srunLinger is for how long the job of srun goes on after srun has ended without canceling the job.
const srunLinger = time.Minute

// Srun carries out a command line of srun outside of a job, without the name of the program: it submits a job of one step, shows the
// output of the step, and returns the exit code of the step. The job ends with this program.
func Srun(args []string, stdout, stderr io.Writer) int {
	ctx, stop := cli.UntilSignal()
	defer stop()
	err := srunAlone(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	if code := cli.Signaled(ctx); code != 0 {
		return int(code)
	}
	if code, is := errors.AsType[cli.ExitError](err); is {
		return int(code)
	}
	fmt.Fprintf(stderr, "srun: error: %s\n", cli.OneLine(cli.Advise(err)))
	if srun.Misspelled(err) {
		return wrongOption
	}
	return cli.ExitFailure
}

func srunAlone(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := inUTF8(args); err != nil {
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
	parsed, err := sbatch.ParseCommand(append(job, "--output=/dev/null", "srun"))
	if err != nil {
		return err
	}
	parsed.Script, parsed.Arguments = command[0], append(step, command...)
	connection := cli.NewConnection(stderr)
	j := &slurmJob{command: parsed, script: []byte(srunScript), env: srunVariable, dial: connection.Dial, say: stderr, prefix: "srun: "}
	request, _, err := j.request(ctx)
	if err != nil {
		return err
	}
	request.Attached = new(wire.Duration(srunLinger))
	if !cli.HasToken() { // a token identifies its user
		request.User = cli.ThisUser()
	}
	in := &input{none: slices.ContainsFunc(step, func(word string) bool { return strings.HasPrefix(word, "--input=") })}
	if request.Stdin, err = in.read(ctx, os.Stdin, stderr); err != nil {
		return err
	}
	api, err := connection.Dial()
	if err != nil {
		return err
	}
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return runAttached(cmd, api, request)
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

// Salloc refuses: Berth has no shell in an allocation.
func Salloc(_ []string, _, stderr io.Writer) int {
	fmt.Fprintln(stderr, "salloc: error: Berth has no allocation without a program: run the program by srun, or by srun lines in a script for sbatch")
	return cli.ExitFailure
}
