package jobs

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

// inSlurm reports whether a script is in Slurm's language: it has lines of #SBATCH and none of #BERTH.
func inSlurm(script string) bool {
	found := false
	for _, line := range headLines(script) {
		if _, ours := directive(line, "#BERTH"); ours {
			return false
		}
		found = found || strings.HasPrefix(line, "#SBATCH")
	}
	return found
}

// afterFlags makes a submission in Slurm's language agree with what options of berth submit have changed.
func afterFlags(r *wire.Submit) error {
	if r.Slurm == nil {
		return nil
	}
	r.Slurm.Array = r.Indices
	if r.TimeLimit != nil {
		r.Slurm.Unlimited = false
	}
	if len(r.Params) == 0 {
		return nil
	}
	sweep, err := model.ParseSweep(strings.Join(r.Params, "\n"))
	if err != nil {
		return cmdline.Usage("--param: %w", err)
	}
	r.Slurm.Array = fmt.Sprintf("0-%d", sweep.Len()-1)
	return nil
}

// slurmProgram fills a submission from a script in Slurm's language. Options of the command line come over it.
func (s *submission) slurmProgram(cmd *cobra.Command, args []string, script string, r *wire.Submit) error {
	name := args[0]
	if fromStdin(cmd, args) {
		name = "" // which sbatch calls the job by
	}
	j := &submit.Job{
		Command: sbatch.Command{Script: name, Arguments: args[1:]}, Script: []byte(script),
		Env: os.LookupEnv, Dial: s.Dial, Me: cli.Me, Shell: ShellVariables, Say: cmd.ErrOrStderr(), Prefix: "Note: ",
	}
	request, options, err := j.Request(cmd.Context())
	if err != nil {
		if _, is := errors.AsType[*sbatch.Error](err); is {
			return cmdline.Usage("%s: %w", args[0], err)
		}
		return err
	}
	*r = *request
	s.after.wait = s.after.wait || options.Wait
	s.slurm = options
	return nil
}
