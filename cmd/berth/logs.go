package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/httpapi/client"
)

func newLogs() *cobra.Command {
	c := &connection{}
	q := client.LogQuery{}
	var stdout, stderr bool
	cmd := &cobra.Command{
		Use:   "logs JOB",
		Short: "Show a job's output",
		Long:  "Show a job's output; of an array, that of one task" + taskHelp,
		Args:  oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial()
			if err != nil {
				return err
			}
			r, err := findOne(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			q.Task = r.tasks
			switch {
			case stderr && stdout:
				return usage("--out and --err together are what logs shows anyway")
			case stderr:
				q.Stream = "stderr"
			case stdout:
				q.Stream = "stdout"
			}
			streams := bothStreams(cmd)
			if q.Stream != "" {
				streams = []stream{{name: q.Stream, to: cmd.OutOrStdout()}}
			}
			switch oneRank := q.Attempt > 0 || cmd.Flags().Changed("rank"); {
			case q.Follow && q.Tail > 0:
				streams = streams[:1] // it cannot be taken up again where it broke
			case q.Follow && oneRank:
				for i := range streams {
					streams[i].rank = q.Rank
				}
				f := follower{api: api, id: r.job, task: q.Task}
				return f.attempt(cmd.Context(), q.Attempt, streams)
			case q.Follow:
				return followTask(cmd.Context(), api, r.job, q.Task, streams)
			}
			for _, s := range streams {
				if err := showLog(cmd.Context(), api, r.job, q, s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.bind(cmd)
	f := cmd.Flags()
	bindLogs(f, &q)
	f.BoolVar(&stdout, "out", false, "only what was written to standard output")
	f.BoolVar(&stderr, "err", false, "only what was written to standard error")
	return cmd
}

func bindLogs(f *pflag.FlagSet, q *client.LogQuery) {
	f.BoolVarP(&q.Follow, "follow", "f", false, "go on as output comes, of all ranks and attempts, until the job's end; wait if it has not started")
	f.IntVarP(&q.Tail, "tail", "n", 0, "only the last `N` lines")
	f.Int64Var(&q.Rank, "rank", 0, "`number` of the rank of a gang")
	f.Int64Var(&q.Attempt, "attempt", 0, "`number` of the attempt (default: the newest)")
}

// showLog shows what a rank has written so far, or with q.Follow writes.
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
