package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const historyLong = `Show jobs that have ended, the one that ended last first, also those that have left the
queue long ago: every peer keeps them in its archive.

GPU-H are the GPUs that were a job's own, for as long as each was. EFF% is how much of
that time was not lost: what an attempt that did not complete had done after its last
checkpoint is lost.`

// historyPage is how many jobs one request asks for.
const historyPage = 1000

// historyFlags are the flags of history.
type historyFlags struct {
	connection

	query        client.HistoryQuery
	since, until string
	limit        int
}

func newHistory() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Show jobs that have ended",
		Long:    historyLong,
		Example: "  berth history -u alice --since 7d\n  berth history --state failed,canceled -o csv",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd)
	to := cmd.Flags()
	to.StringVarP(&f.output, "output", "o", "", "json, yaml, csv, or a table if it is not given")
	to.StringVarP(&f.query.User, "user", "u", "", "only jobs of this `user`")
	to.StringVarP(&f.query.Project, "project", "A", "", "only jobs of this `project`")
	to.StringVar(&f.query.Name, "name", "", "only jobs of this `name`")
	to.StringSliceVar(&f.query.States, "state", nil, "only jobs in these `states`: completed, failed, canceled")
	bindSpan(cmd, &f.since, &f.until)
	to.IntVarP(&f.limit, "limit", "n", 50, "at most so `many`; 0: all")
	return cmd
}

// bindSpan adds the flags that bound a span of time.
func bindSpan(cmd *cobra.Command, since, until *string) {
	cmd.Flags().StringVarP(since, "since", "S", "", "not before this `time`: 24h for a day ago, or such as 2026-01-31T20:00")
	cmd.Flags().StringVarP(until, "until", "E", "", "not after this `time`")
}

// checkCSV is checkOutput for a command that prints csv, too.
func (c *connection) checkCSV() error {
	if c.output != "csv" && c.checkOutput() != nil {
		return usage("--output must be table, json, yaml or csv, not %q", c.output)
	}
	return nil
}

func (f *historyFlags) run(cmd *cobra.Command) (err error) {
	if err := f.checkCSV(); err != nil {
		return err
	}
	now := time.Now()
	if f.query.Since, err = ago("--since", f.since, now); err != nil {
		return err
	}
	if f.query.Until, err = ago("--until", f.until, now); err != nil {
		return err
	}
	if f.limit < 0 {
		return usage("--limit must not be negative")
	}
	api, err := f.dial()
	if err != nil {
		return err
	}
	all, err := f.list(cmd.Context(), api)
	if err != nil {
		return err
	}
	if f.output == "csv" {
		return historyCSV(cmd.OutOrStdout(), all.Jobs)
	}
	return f.print(cmd.OutOrStdout(), all, func(w io.Writer) error { return showEnded(w, all) })
}

// list asks for page after page.
func (f *historyFlags) list(ctx context.Context, api *client.Client) (*wire.History, error) {
	q, all := f.query, &wire.History{Jobs: []wire.EndedJob{}}
	for {
		if q.Limit = historyPage; f.limit > 0 {
			q.Limit = min(q.Limit, f.limit-len(all.Jobs))
		}
		page, err := api.Operator().History(ctx, q)
		if err != nil {
			return nil, err
		}
		page.Jobs = append(all.Jobs, page.Jobs...)
		all = page
		if q.Before = page.Next; q.Before == "" || f.limit > 0 && len(all.Jobs) >= f.limit {
			return all, nil
		}
	}
}

func showEnded(w io.Writer, all *wire.History) error {
	t := table.New("ID", "NAME", "USER", "PROJECT", ">GPUS", "STATE", ">EXIT", "ENDED", ">WAITED", ">RAN", ">GPU-H", ">EFF%")
	now := time.Now()
	for i := range all.Jobs {
		j := &all.Jobs[i]
		t.Add(j.ID, jobName(&j.Job), j.User, j.Project, strconv.FormatInt(j.GPUs, 10), j.State, exitCodeOf(&j.Job), table.Clock(j.EndedAt, now),
			table.Seconds(j.WaitSeconds), table.Seconds(j.RunSeconds), tenths(j.GPUHours), percentOf(j.Efficiency))
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "No job has ended that this asks for.")
		return err
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	return showArchive(w, &all.ArchiveStanding)
}

// showArchive says what an archive lacks.
func showArchive(w io.Writer, a *wire.ArchiveStanding) (err error) {
	switch {
	case a.Failing:
		_, err = fmt.Fprintln(w, "This peer's archive cannot be written at the moment: what ended last may lack. Its log says why.")
	case a.CompleteTo == 0:
		_, err = fmt.Fprintln(w, "This peer has yet to get some of what has ended from others.")
	}
	return err
}

// exitCodeOf is how a job's processes ended, in a word.
func exitCodeOf(j *wire.Job) string {
	switch {
	case j.Signal > 0:
		return "signal " + strconv.FormatInt(j.Signal, 10)
	case j.ExitCode != nil:
		return strconv.FormatInt(*j.ExitCode, 10)
	case j.Array != nil && j.Array.Failed > 0:
		return strconv.FormatInt(j.Array.Failed, 10) + " failed"
	}
	return ""
}

// tenths is a number with one digit after the point, or what there is of less.
func tenths(v float64) string {
	if v > 0 && v < 0.1 {
		return strings.TrimRight(strconv.FormatFloat(v, 'f', 4, 64), "0")
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func percentOf(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

func historyCSV(w io.Writer, jobs []wire.EndedJob) error {
	lines := [][]string{{
		"id", "name", "user", "project", "priority", "gpu_count", "nodes", "state", "reason", "exit_code", "submitted_at", "started_at", "ended_at",
		"wait_seconds", "run_seconds", "gpu_hours", "lost_gpu_hours",
	}}
	for i := range jobs {
		j := &jobs[i]
		code := ""
		if j.ExitCode != nil {
			code = strconv.FormatInt(*j.ExitCode, 10)
		}
		lines = append(lines, []string{
			j.ID, j.Name, j.User, j.Project, strconv.FormatInt(j.Priority, 10), strconv.FormatInt(j.GPUs, 10), strconv.FormatInt(j.Nodes, 10),
			j.State, j.Reason, code, utc(j.SubmittedAt), utc(j.StartedAt), utc(j.EndedAt),
			decimal(j.WaitSeconds), decimal(j.RunSeconds), decimal(j.GPUHours), decimal(j.LostGPUHours),
		})
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// utc is an instant for programs; empty: there was none.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
