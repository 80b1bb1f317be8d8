package admin

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const usageLong = `Show the GPU-hours of users, projects or jobs within a span of time; by default the last
thirty days.

Running jobs count up to now. IDLE-H are the GPU-hours in which GPUs of ended attempts were
measured as idle. LOST-H is the work of attempts that did not complete, after their last
checkpoint. WAIT is the time from when a job could have started to its start, for ended jobs.
GPUs that services hold without a job do not count; berth share includes them.`

// usageFlags are the flags of usage.
type usageFlags struct {
	cli.Report

	query client.UsageQuery
}

func newUsage() *cobra.Command {
	f := &usageFlags{}
	cmd := &cobra.Command{
		Use:     "usage",
		Short:   "Show the GPU-hours of users, projects or jobs",
		Long:    usageLong,
		Example: "  berth usage --since 7d\n  berth usage --by project,user -S 2026-01-01 -E 2026-02-01 -o csv",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Bind(cmd)
	to := cmd.Flags()
	to.StringSliceVar(&f.query.By, "by", []string{"user"}, "columns to group by: `user`, project, name, or several of them")
	to.StringVarP(&f.query.User, "user", "u", "", "only this `user`")
	to.StringVarP(&f.query.Project, "project", "A", "", "only this `project`")
	return cmd
}

func (f *usageFlags) run(cmd *cobra.Command) error {
	api, err := f.Begin(&f.query.Since, &f.query.Until)
	if err != nil {
		return err
	}
	u, err := api.Operator().Usage(cmd.Context(), f.query)
	if err != nil {
		return err
	}
	return f.Write(cmd.OutOrStdout(), u, func() [][]string { return usageLines(u) }, func(w io.Writer) error { return showUsage(w, u) })
}

// payers returns the columns by which rows are grouped.
func payers(by []string) []func(*wire.UsageRow) string {
	out := make([]func(*wire.UsageRow) string, len(by))
	for i, what := range by {
		out[i] = map[string]func(*wire.UsageRow) string{
			"user":    func(r *wire.UsageRow) string { return r.User },
			"project": func(r *wire.UsageRow) string { return r.Project },
			"name":    func(r *wire.UsageRow) string { return r.Name },
		}[what]
	}
	return out
}

func showUsage(w io.Writer, u *wire.Usage) error {
	if len(u.Rows) == 0 {
		_, err := fmt.Fprintln(w, "No GPU was used in this time.")
		return err
	}
	var heads []string
	for _, by := range u.By {
		heads = append(heads, map[string]string{"user": "USER", "project": "PROJECT", "name": "NAME"}[by])
	}
	t := table.New(append(heads, ">GPU-H", ">SHARE", ">USED", ">IDLE-H", ">LOST-H", ">JOBS", ">FAILED", ">CANCELED", ">WAIT-P50", ">WAIT-P95", ">GPUS NOW")...)
	add := func(who []string, r *wire.UsageRow) {
		t.Add(append(who, cli.Tenths(r.GPUHours), percents(r.Share), percents(r.OfCluster), cli.Tenths(r.Idle), cli.Tenths(r.LostHours),
			strconv.FormatInt(r.Jobs, 10),
			strconv.FormatInt(r.Failed, 10), strconv.FormatInt(r.Canceled, 10), waitOf(r.WaitMedian), waitOf(r.WaitMost),
			strconv.FormatInt(r.GPUs, 10))...)
	}
	for i := range u.Rows {
		var who []string
		for _, of := range payers(u.By) {
			who = append(who, of(&u.Rows[i]))
		}
		add(who, &u.Rows[i])
	}
	if len(u.Rows) > 1 {
		add(append([]string{"all"}, slices.Repeat([]string{""}, len(u.By)-1)...), &u.Total)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "From %s to %s. USED is relative to the %d GPUs that the cluster has now.\n",
		u.Since.Local().Format("2006-01-02 15:04"), u.Until.Local().Format("2006-01-02 15:04"), u.GPUs); err != nil {
		return err
	}
	return cli.ShowArchive(w, &u.ArchiveStanding)
}

func percents(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + "%" }

func waitOf(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return table.Seconds(*seconds)
}

func usageLines(u *wire.Usage) [][]string {
	lines := [][]string{append(slices.Clone(u.By), "gpu_hours", "percent_of_use", "percent_of_cluster", "measured_gpu_hours", "idle_gpu_hours", "lost_gpu_hours", "jobs", "failed", "canceled",
		"wait_p50_seconds", "wait_p95_seconds", "gpus")}
	for i := range u.Rows {
		r := &u.Rows[i]
		var line []string
		for _, of := range payers(u.By) {
			line = append(line, of(r))
		}
		for _, v := range []*float64{
			&r.GPUHours, &r.Share, &r.OfCluster, &r.Measured, &r.Idle, &r.LostHours,
			count(r.Jobs), count(r.Failed), count(r.Canceled), r.WaitMedian, r.WaitMost, count(r.GPUs),
		} {
			if v == nil {
				line = append(line, "")
				continue
			}
			line = append(line, cli.Decimal(*v))
		}
		lines = append(lines, line)
	}
	return lines
}

func count(n int64) *float64 {
	v := float64(n)
	return &v
}
