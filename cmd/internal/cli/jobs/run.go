package jobs

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const runLong = `Submit a job, show its output as it comes, and exit with its exit code.

  berth run -g 1 -- nvidia-smi
  berth run -g 4 -t 30m -D "$PWD" -- python evaluate.py

Ctrl-C cancels the job, and its last output is still shown; a second Ctrl-C ends this
program at once. If this program is killed or its machine is cut off, the cluster cancels
the job after the time of --linger without contact to this program.

Standard input that is a file or a pipe is read to its end before the job is submitted, and
passed on to rank 0, at most 48 KiB of it: echo 'print(1)' | berth run -- python3 -. A terminal
is not read. Use --no-stdin in a shell's loop over lines of its own standard input.

A job starts on its node in an empty folder of its own, not in the current one. With
-D "$PWD" it starts in the current folder, if the nodes have that folder.`

func newRun() *cobra.Command {
	s := &submission{options: options{}}
	in := &input{}
	var linger string
	cmd := &cobra.Command{
		Use:   "run [flags] SCRIPT [ARGS...] | -- COMMAND [ARGS...]",
		Short: "Submit a job, show its output, and exit with its exit code",
		Long:  runLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := s.request(cmd, args)
			if err != nil {
				return err
			}
			if request.Attached, err = cli.TimeFlag("--linger", linger); err != nil {
				return err
			}
			if len(args) > 0 && !fromStdin(cmd, args) {
				if request.Stdin, err = in.read(cmd.Context(), os.Stdin, cmd.ErrOrStderr()); err != nil {
					return err
				}
			}
			api, err := s.Dial()
			if err != nil {
				return err
			}
			if err := s.fillTurns(cmd.Context(), api, s.Identified(), request); err != nil {
				return err
			}
			return RunAttached(cmd, api, request)
		},
	}
	s.Bind(cmd)
	s.bindJob(cmd)
	in.bind(cmd)
	cmd.Flags().StringVar(&linger, "linger", "1m", "`time` for which the job goes on after this program has ended")
	return cmd
}

// RunAttached runs a job that ends with this program.
func RunAttached(cmd *cobra.Command, api *client.Client, request *wire.Submit) error {
	answer, err := api.Submit(cmd.Context(), request, "")
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "It is not known whether the job was submitted; if so, the cluster cancels the job within %s\n",
				table.Span(time.Duration(*request.Attached)))
		}
		return err
	}
	warn(cmd, answer)
	id, say := answer.JobID, cmd.ErrOrStderr()
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer cancel()
	waits := time.AfterFunc(cmdline.WaitQuietly, func() { sayWhy(ctx, api, id, say) })
	defer waits.Stop()
	go cmdline.KeepAttached(ctx, api, id, time.Duration(*request.Attached)/4)
	stop := context.AfterFunc(cmd.Context(), func() { cancelOnInterrupt(ctx, api, id, say) })
	defer stop()
	if err := followJob(ctx, cmd, api, &answer.Job); err != nil {
		return err
	}
	job, err := cmdline.AwaitEnd(ctx, api, id)
	switch {
	case err != nil:
		return err
	case cmd.Context().Err() != nil:
		return cmdline.Signaled(cmd.Context())
	}
	return endOf(job)
}

// sayWhy prints why a job waits, if it does.
func sayWhy(ctx context.Context, api *client.Client, id string, say io.Writer) {
	d, _, err := api.Job(ctx, id, client.JobQuery{})
	if err == nil && d.Explanation != nil {
		fmt.Fprintf(say, "Job %s at position %d. %s\n", id, d.Explanation.Position, Local(table.Clean(d.Explanation.Summary)))
	}
}

func cancelOnInterrupt(ctx context.Context, api *client.Client, id string, say io.Writer) {
	fmt.Fprintf(say, "Canceling job %s; another Ctrl-C ends this program at once\n", id)
	if _, err := api.Cancel(ctx, id, client.AllTasks, "interrupted by its user"); err != nil {
		fmt.Fprintf(say, "berth: job %s: %s\n", id, cmdline.OneLine(err))
	}
}
