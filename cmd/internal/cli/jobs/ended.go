package jobs

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const historyLong = `Show jobs that have ended, the last one first, including those that have left the queue
long ago: every peer keeps them in its archive.

GPU-H are the GPU-hours that a job held. EFF% is the part of that time that was not lost:
the work of an attempt that did not complete is lost after its last checkpoint.`

// historyFlags are the flags of history.
type historyFlags struct {
	cli.Report

	query client.HistoryQuery
}

func newHistory() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Show jobs that have ended",
		Long:    historyLong,
		Example: "  berth history -u alice --since 7d\n  berth history --state failed,canceled -o csv",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Bind(cmd)
	to := cmd.Flags()
	to.StringVarP(&f.query.User, "user", "u", "", "only jobs of this `user`")
	to.StringVarP(&f.query.Project, "project", "A", "", "only jobs of this `project`")
	to.StringVar(&f.query.Name, "name", "", "only jobs of this `name`")
	to.StringSliceVar(&f.query.States, "state", nil, "only jobs in these `states`: completed, failed, canceled")
	f.BindLimit(cmd)
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command) error {
	api, err := f.Begin(&f.query.Since, &f.query.Until)
	if err != nil {
		return err
	}
	all := &wire.History{Jobs: []wire.EndedJob{}}
	err = f.Pages(func(most int) (int, bool, error) {
		f.query.Limit = most
		page, err := api.Operator().History(cmd.Context(), f.query)
		if err != nil {
			return 0, false, err
		}
		page.Jobs = append(all.Jobs, page.Jobs...)
		all, f.query.Before = page, page.Next
		return len(all.Jobs), page.Next != "", nil
	})
	if err != nil {
		return err
	}
	return f.Write(cmd.OutOrStdout(), all, func() [][]string { return endedLines(all.Jobs) },
		func(w io.Writer) error { return showEnded(w, all) })
}

func showEnded(w io.Writer, all *wire.History) error {
	t := table.New("ID", "NAME", "USER", "PROJECT", ">GPUS", "STATE", ">EXIT", "ENDED", ">WAITED", ">RAN", ">GPU-H", ">EFF%").Shorten("NAME")
	now := time.Now()
	for i := range all.Jobs {
		j := &all.Jobs[i]
		t.Add(j.ID, jobName(&j.Job), j.User, j.Project, strconv.FormatInt(j.GPUs, 10), j.State, exitCodeOf(&j.Job), table.Clock(j.EndedAt, now),
			table.Seconds(j.WaitSeconds), table.Seconds(j.RunSeconds), cli.Tenths(j.GPUHours), percentOf(j.Efficiency))
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "No ended job matches.")
		return err
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	return cli.ShowArchive(w, &all.ArchiveStanding)
}

// exitCodeOf returns how a job's processes ended, in one word.
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

func percentOf(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// jobColumns are the names of the columns of jobs for programs.
func jobColumns() []string {
	return []string{
		"id", "name", "user", "project", "priority", "gpu_count", "nodes", "state", "reason", "exit_code", "submitted_at", "started_at", "ended_at",
		"wait_seconds", "run_seconds",
	}
}

// jobLine returns a job in these columns.
func jobLine(j *wire.Job) []string {
	code := ""
	if j.ExitCode != nil {
		code = strconv.FormatInt(*j.ExitCode, 10)
	}
	return []string{
		j.ID, jobName(j), j.User, j.Project, strconv.FormatInt(j.Priority, 10), strconv.FormatInt(j.GPUs, 10), strconv.FormatInt(j.Nodes, 10),
		j.State, j.Reason, code, utc(j.SubmittedAt), utc(j.StartedAt), utc(j.EndedAt), cli.Decimal(j.WaitSeconds), cli.Decimal(j.RunSeconds),
	}
}

func jobLines(jobs []wire.Job) [][]string {
	lines := [][]string{jobColumns()}
	for i := range jobs {
		lines = append(lines, jobLine(&jobs[i]))
	}
	return lines
}

func endedLines(jobs []wire.EndedJob) [][]string {
	lines := [][]string{append(jobColumns(), "gpu_hours", "measured_gpu_hours", "idle_gpu_hours", "lost_gpu_hours")}
	for i := range jobs {
		j := &jobs[i]
		lines = append(lines, append(jobLine(&j.Job), cli.Decimal(j.GPUHours), cli.Decimal(j.MeasuredGPUHours), cli.Decimal(j.IdleGPUHours),
			cli.Decimal(j.LostGPUHours)))
	}
	return lines
}

// utc formats an instant for programs; the zero time gives an empty text.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
