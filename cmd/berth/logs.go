package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
)

func newLogs() *cobra.Command {
	c := &connection{}
	q := client.LogQuery{}
	var stderr bool
	cmd := &cobra.Command{
		Use:   "logs JOB",
		Short: "Show a job's output",
		Args:  oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial()
			if err != nil {
				return err
			}
			if stderr {
				q.Stream = "stderr"
			}
			if q.Follow && q.Attempt == 0 && q.Tail == 0 && !cmd.Flags().Changed("rank") {
				one := []stream{{name: cmp.Or(q.Stream, "stdout"), to: cmd.OutOrStdout()}}
				return followTask(cmd.Context(), api, args[0], q.Task, one)
			}
			stream, err := api.Logs(cmd.Context(), args[0], q)
			if err != nil {
				return fmt.Errorf("job %s: %w", args[0], err)
			}
			defer func() { _ = stream.Close() }()
			_, err = io.Copy(cmd.OutOrStdout(), stream)
			return err
		},
	}
	c.bind(cmd)
	f := cmd.Flags()
	f.BoolVarP(&q.Follow, "follow", "f", false, "go on as output comes, of all ranks and attempts, until the job's end; wait if it has not started")
	f.IntVarP(&q.Tail, "tail", "n", 0, "only the last `N` lines")
	f.BoolVar(&stderr, "err", false, "what was written to standard error")
	f.Int64Var(&q.Rank, "rank", 0, "`number` of the rank of a gang")
	f.Int64Var(&q.Attempt, "attempt", 0, "`number` of the attempt (default: the newest)")
	f.Int64Var(&q.Task, "task", 0, "`number` of the task of an array")
	return cmd
}
