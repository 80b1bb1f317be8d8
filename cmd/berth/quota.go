package main

import (
	"context"
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

const quotaLong = `What the cluster, projects and users may use, and what they use of it.

gpus          GPUs in use at a time
running       jobs that run at a time (of the cluster: max_concurrent_jobs)
queued        jobs that wait when one more is submitted (of the cluster: max_queue_size)
gpus_per_job  GPUs of one job
max_run_time  the longest time limit of a job; one that asks for none gets it
gpu_hours     GPU-hours of each period; what runs counts as it runs. Periods follow each other from a
              Monday, 00:00 UTC: hours begin on the hour, days at midnight, weeks on Mondays
reserved_gpus GPUs that a project or user owns; berth quota pool says what follows
gpus_per_user of the cluster: the gpus of each user who has none set; more or fewer may be set for some
preemptible   whether jobs that do not say so themselves may be stopped and queued again for others: a user's
              counts before a project's, that before the cluster's; without any, jobs with a checkpoint
              signal may`

func newQuota() *cobra.Command {
	c := &connection{}
	var all bool
	cmd := &cobra.Command{
		Use:     "quota",
		Short:   "Show and set what the cluster, projects and users may use",
		Long:    quotaLong,
		Example: "  berth quota\n  berth quota set user alice --gpus 8 --running 10\n  berth quota set project vision --gpu-hours 500 --period 168h --over-quota lower",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, api *client.Client) (*wire.Quotas, error) {
				return api.Operator().Quotas().List(ctx, all)
			}
			return reading(c, ask, showQuotas)(cmd, args)
		},
	}
	c.bindReading(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "those without limits, too, that use something")
	cmd.AddCommand(newQuotaSet(), newQuotaPool())
	return cmd
}

// setting is a flag that takes a limit or the word none.
type setting interface {
	String() string
	Set(text string) error
	Type() string
}

// flagOf is a flag that stays nil until it is given.
type flagOf[T int64 | float64 | bool | wire.Duration] struct {
	at   **wire.OrNone[T]
	kind string
}

func (f flagOf[T]) Type() string { return f.kind }

// String returns the given value; empty: the flag was not given.
func (f flagOf[T]) String() string {
	switch {
	case f.at == nil || *f.at == nil:
		return ""
	case (*f.at).None:
		return wire.None
	}
	return fmt.Sprint((*f.at).Value)
}

func (f flagOf[T]) Set(text string) error {
	v := &wire.OrNone[T]{}
	if err := v.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	*f.at = v
	return nil
}

func newQuotaSet() *cobra.Command {
	c := &connection{}
	body := &wire.SetQuota{}
	var period string
	cmd := &cobra.Command{
		Use:     "set (cluster | project NAME | user NAME) FLAGS",
		Short:   "Set limits, and leave the others as they are; none lifts one",
		Example: "  berth quota set user alice --gpus 8 --gpus-per-job 4\n  berth quota set cluster --queued 10000 --max-run-time 7d\n  berth quota set user alice --gpus none\n  berth quota set project vision --preemptible",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, name, err := scopeArgs(cmd, args, true)
			if err != nil {
				return err
			}
			if len(args) > 2 {
				return usage("%q is too much; values are given as in --gpus 8 and --preemptible=false", args[2])
			}
			if body.Period, err = timeFlag("--period", period); err != nil {
				return err
			}
			if *body == (wire.SetQuota{}) {
				return usage("say what to set, such as --gpus 8; see %s --help", cmd.CommandPath())
			}
			set := func(ctx context.Context, api *client.Client) (*wire.Quotas, error) {
				q, err := api.Operator().Quotas().Set(ctx, scope, name, body)
				if err != nil {
					return nil, err
				}
				return &wire.Quotas{Quotas: []wire.Quota{*q}}, nil
			}
			return reading(c, set, showQuotas)(cmd, nil)
		},
	}
	c.bindReading(cmd)
	f := cmd.Flags()
	for _, v := range []struct {
		at   setting
		name string
		what string
	}{
		{flagOf[int64]{&body.GPUs, "count"}, "gpus", "GPUs in use at a time"},
		{flagOf[int64]{&body.Running, "count"}, "running", "jobs that run at a time"},
		{flagOf[int64]{&body.Queued, "count"}, "queued", "jobs that wait"},
		{flagOf[int64]{&body.GPUsPerJob, "count"}, "gpus-per-job", "GPUs of one job"},
		{flagOf[wire.Duration]{&body.MaxRunTime, "time"}, "max-run-time", "the longest time limit of a job"},
		{flagOf[float64]{&body.GPUHours, "hours"}, "gpu-hours", "GPU-hours of each period"},
		{flagOf[int64]{&body.ReservedGPUs, "count"}, "reserved-gpus", "GPUs that it owns"},
		{flagOf[int64]{&body.GPUsPerUser, "count"}, "gpus-per-user", "of the cluster: GPUs in use by each user without an own limit"},
		{flagOf[int64]{&body.MaxQueueSize, "count"}, "max-queue-size", "of the cluster: as --queued"},
		{flagOf[int64]{&body.MaxConcurrent, "count"}, "max-concurrent-jobs", "of the cluster: as --running"},
	} {
		f.Var(v.at, v.name, v.what+", or none")
	}
	f.Var(flagOf[bool]{&body.Preemptible, "true|false|none"}, "preemptible", "what its jobs are that do not say so themselves")
	f.Lookup("preemptible").NoOptDefVal = "true"
	f.StringVar(&period, "period", "", "the period of --gpu-hours as a `time`, 1h to 366d")
	f.StringVar(&body.OverQuota, "over-quota", "", "once the GPU-hours are used up: `stop` (nothing more starts) or lower (its jobs go last)")
	return cmd
}

// scopeArgs parses "user NAME", "project NAME" or, where it is allowed, "cluster".
func scopeArgs(cmd *cobra.Command, args []string, cluster bool) (scope, name string, err error) {
	switch {
	case cluster && len(args) == 1 && args[0] == "cluster":
		return args[0], "", nil
	case len(args) >= 2 && (args[0] == "user" || args[0] == "project"):
		return args[0], args[1], nil
	}
	return "", "", usage("say whose: user NAME or project NAME, not %q; see %s --help", strings.Join(args, " "), cmd.CommandPath())
}

func showQuotas(w io.Writer, q *wire.Quotas) error {
	t := table.New("SCOPE", "WHAT", ">USED/LIMIT", "NOTE")
	for i := range q.Quotas {
		addQuota(t, &q.Quotas[i])
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "No limits are set. Set some with, for example, berth quota set user alice --gpus 8.")
		return err
	}
	_, err := t.WriteTo(w)
	return err
}

// addQuota adds a line for each limit of a scope, or one with its use if it has no limits.
func addQuota(t *table.Table, q *wire.Quota) {
	who := strings.TrimSpace(q.Scope + " " + q.Name)
	lines := t.Len()
	count := func(what, flag string, used int64, limit *int64, full string) {
		if limit == nil {
			return
		}
		var notes []string
		if what == "gpus" && q.GPUsByDefault {
			notes = append(notes, "the default of users")
		}
		if *limit == 0 {
			full, _, _ = strings.Cut(full, " until")
		}
		if used >= *limit {
			notes = append(notes, full+remedy(who, flag))
		}
		t.Add(who, what, fmt.Sprintf("%d/%d", used, *limit), strings.Join(notes, "; "))
	}
	running, queued := "running", "queued"
	if q.Scope == "cluster" {
		running, queued = "max_concurrent_jobs", "max_queue_size"
	}
	count("gpus", "gpus", q.Used.GPUs, q.GPUs, "nothing more starts until some are given back")
	count(running, "running", q.Used.Running, q.Running, "nothing more starts until one ends")
	count(queued, "queued", q.Used.Queued, q.Queued, "nothing more is taken in until one starts")
	if q.GPUsPerUser != nil {
		t.Add(who, "gpus_per_user", fmt.Sprintf("-/%d", *q.GPUsPerUser), "of each user without an own limit of gpus")
	}
	if q.GPUsPerJob != nil {
		t.Add(who, "gpus_per_job", fmt.Sprintf("-/%d", *q.GPUsPerJob), "")
	}
	if q.MaxRunTime != nil {
		t.Add(who, "max_run_time", "-/"+table.Span(ofSeconds(*q.MaxRunTime)), "")
	}
	if q.GPUHours != nil && q.Used.GPUHours != nil {
		t.Add(who, "gpu_hours", fmt.Sprintf("%s/%s", hours(*q.Used.GPUHours), hours(*q.GPUHours)), quotaNote(who, q))
	}
	if q.ReservedGPUs != nil && q.Used.Reserved != nil {
		note := "its own"
		if *q.Used.Reserved > *q.ReservedGPUs {
			note = fmt.Sprintf("its own; %d are borrowed", *q.Used.Reserved-*q.ReservedGPUs)
		}
		t.Add(who, "reserved_gpus", fmt.Sprintf("%d/%d", *q.Used.Reserved, *q.ReservedGPUs), note)
	}
	if q.Preemptible != nil {
		t.Add(who, "preemptible", strconv.FormatBool(*q.Preemptible), "its jobs that do not say so themselves")
	}
	if q.Bytes != nil && q.Used.Bytes >= *q.Bytes/10 {
		t.Add(who, "bytes", table.Bytes(float64(q.Used.Bytes))+"/"+table.Bytes(float64(*q.Bytes)), "memory of jobs that have not ended: scripts, environments, tasks")
	}
	if t.Len() == lines && (q.Scope != "cluster" || q.Used != (wire.QuotaUse{})) {
		t.Add(who, "gpus", fmt.Sprintf("%d/none", q.Used.GPUs), fmt.Sprintf("%d running, %d queued", q.Used.Running, q.Used.Queued))
	}
}

func quotaNote(who string, q *wire.Quota) string {
	note := fmt.Sprintf("of %s, until %s", table.Span(ofSeconds(*q.Period)), table.Clock(q.Used.PeriodEnds, time.Now()))
	switch {
	case *q.Used.GPUHours < *q.GPUHours && q.OverQuota == "lower":
		return note + "; once they are used up its jobs go after all others"
	case *q.Used.GPUHours < *q.GPUHours:
		return note + "; once they are used up nothing more starts"
	case q.OverQuota == "lower":
		return note + ": its jobs go after all others" + remedy(who, "gpu-hours")
	}
	return note + ": nothing more starts before" + remedy(who, "gpu-hours")
}

func remedy(who, flag string) string {
	return "; berth quota set " + who + " --" + flag + " N raises it"
}

// hours formats a number of hours with the significant digits of its fraction.
func hours(h float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(h, 'f', 3, 64), "0"), ".")
}

const poolLong = `How strictly GPUs belong to the projects and users who own some (berth quota set ... --reserved-gpus):

dynamic  everybody may use everything
static   owners use at most what they own, others only what nobody owns
hybrid   a part of the cluster (--ratio, at most what is owned) is kept for owners within their
         guarantees although it is idle; the rest is for all`

func newQuotaPool() *cobra.Command {
	c := &connection{}
	var ratio float64
	cmd := &cobra.Command{
		Use:     "pool [dynamic | static | hybrid]",
		Short:   "Show or say how strictly GPUs belong to their owners",
		Long:    poolLong,
		Example: "  berth quota pool\n  berth quota pool hybrid --ratio 0.5",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := &wire.SetAllocation{Mode: strings.Join(args, "")}
			if cmd.Flags().Changed("ratio") {
				body.Ratio = &ratio
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Allocation, error) {
				if *body == (wire.SetAllocation{}) {
					return api.Operator().Quotas().Allocation(ctx)
				}
				return api.Operator().Quotas().SetAllocation(ctx, body)
			}
			return reading(c, ask, showPools)(cmd, nil)
		},
	}
	c.bindReading(cmd)
	cmd.Flags().Float64Var(&ratio, "ratio", 0, "the `part` of the cluster that hybrid keeps, above 0 and at most 1")
	return cmd
}

func showPools(w io.Writer, a *wire.Allocation) error {
	s := &sheet{}
	s.line("Allocation", "%s", a.Mode)
	s.line("Ratio", "%g of the cluster, kept for owners under hybrid", a.Ratio)
	s.line("GPUs", "%d, of which %d are fit for work; %d are owned and %d kept for their owners", a.GPUs, a.Fit, a.Owned, a.Kept)
	s.line("Borrowed", "%d", a.Lent)
	_, err := io.WriteString(w, s.String())
	return err
}
