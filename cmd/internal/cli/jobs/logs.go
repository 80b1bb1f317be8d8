package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const logsLong = `Show a job's output; of an array, that of one task, or with --follow that of all tasks, each line with the
number of its task.

17.3 is task 3 of the array 17, and @ is the newest job of this user.

On a terminal, escape sequences of the job other than colours are removed, so that its output
cannot change the terminal's title, clipboard or earlier lines; --raw shows all bytes unchanged.
Output to a file or a pipe is never changed.`

// logsView holds the flags of logs.
type logsView struct {
	cli.Connection

	query               client.LogQuery
	tail                int
	stdout, stderr, raw bool
}

func newLogs() *cobra.Command {
	v := &logsView{}
	cmd := &cobra.Command{
		Use:   "logs JOB",
		Short: "Show a job's output",
		Long:  logsLong,
		Args:  cli.One(oneJob),
		RunE:  v.run,
	}
	v.Connection.Bind(cmd)
	v.bindQuery(cmd.Flags())
	return cmd
}

func (v *logsView) bindQuery(f *pflag.FlagSet) {
	f.BoolVarP(&v.query.Follow, "follow", "f", false, "go on as output comes, of all ranks and attempts, until the job's end; wait if it has not started")
	f.IntVarP(&v.tail, "tail", "n", 0, "only the last `N` lines; 0: no lines, and with --follow only new ones (default: all)")
	f.Int64Var(&v.query.Rank, "rank", 0, "`number` of the rank of a gang")
	f.Int64Var(&v.query.Attempt, "attempt", 0, "`number` of the attempt, from 1 on (default: the newest)")
	f.BoolVar(&v.stdout, "out", false, "only what was written to standard output")
	f.BoolVar(&v.stderr, "err", false, "only what was written to standard error")
	f.BoolVar(&v.raw, "raw", false, "print all bytes unchanged, even on a terminal")
}

func (v *logsView) run(cmd *cobra.Command, args []string) error {
	if err := v.check(cmd); err != nil {
		return err
	}
	api, err := v.Dial()
	if err != nil {
		return err
	}
	r, err := cli.FindOne(cmd.Context(), api, args[0])
	if err != nil {
		return err
	}
	v.query.Task = r.Tasks
	if v.query.Follow {
		return cli.JobGoesOn(cmd, r.String(), v.follow(cmd, api, r))
	}
	for _, s := range v.streams(cmd) {
		if err := showLog(cmd.Context(), api, r.Job, v.query, s); err != nil {
			return err
		}
	}
	return nil
}

func (v *logsView) check(cmd *cobra.Command) error {
	switch {
	case v.stderr && v.stdout:
		return cmdline.Usage("--out and --err exclude each other; without them both outputs are shown")
	case v.tail < 0:
		return cmdline.Usage("--tail must be at least 0, not %d", v.tail)
	case cmd.Flags().Changed("attempt") && v.query.Attempt < 1:
		return cmdline.Usage("--attempt must be at least 1, not %d; leave it out for the newest", v.query.Attempt)
	case v.query.Rank < 0:
		return cmdline.Usage("--rank must be at least 0, not %d", v.query.Rank)
	}
	if cmd.Flags().Changed("tail") {
		v.query.Tail = &v.tail
	}
	return nil
}

// streams returns the outputs that are to be shown.
func (v *logsView) streams(cmd *cobra.Command) []stream {
	both := jobStreams(cmd, v.raw)
	switch {
	case v.stderr:
		both[1].to = both[0].to
		return both[1:]
	case v.stdout:
		return both[:1]
	}
	return both
}

// follow shows output as it comes.
func (v *logsView) follow(cmd *cobra.Command, api *client.Client, r cli.Ref) error {
	f := follower{api: api, id: r.Job, task: v.query.Task, tail: v.query.Tail, say: cmd.ErrOrStderr()}
	streams := v.streams(cmd)
	whole := v.query.Attempt == 0 && !cmd.Flags().Changed("rank")
	if r.Tasks == "" {
		d, err := askRef(cmd.Context(), api, r)
		switch {
		case err != nil:
			return err
		case d.Array == nil:
		case !whole:
			return cmdline.Usage("job %s is an array: --attempt and --rank need one task, such as %s.%s", r.Job, r.Job, firstIndex(d.Array))
		default:
			return followTasks(cmd.Context(), api, r.Job, streams, v.query.Tail, cmd.ErrOrStderr())
		}
	}
	if whole {
		return f.all(cmd.Context(), streams)
	}
	for i := range streams {
		streams[i].rank = v.query.Rank
	}
	return f.attempt(cmd.Context(), v.query.Attempt, streams)
}

// firstIndex returns the number of an array's first task.
func firstIndex(a *wire.Array) string {
	return a.Indices[:len(a.Indices)-len(strings.TrimLeft(a.Indices, "0123456789"))]
}

// showLog shows what a rank has written so far.
func showLog(ctx context.Context, api *client.Client, id string, q client.LogQuery, s stream) error {
	q.Stream = s.name
	body, err := api.Logs(ctx, id, q)
	if err != nil {
		return fmt.Errorf("job %s: %w", id, err)
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(s.to, body)
	return err
}
