package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const quotaLong = `Show the limits of the cluster, projects and users, and their use.

gpus          GPUs in use at a time
running       jobs that run at a time (of the cluster: max_concurrent_jobs)
queued        waiting jobs at which no more are accepted (of the cluster: max_queue_size)
gpus_per_job  GPUs of one job
max_run_time  the longest time limit of a job, and the limit of jobs without one
gpu_hours     GPU-hours of each period; running jobs count as they run. Periods follow each other from a
              Monday, 00:00 UTC: hours begin on the hour, days at midnight, weeks on Mondays
reserved_gpus GPUs that are guaranteed to a project or user; berth quota pool shows how strictly
gpus_per_user of the cluster: the gpus of each user without a limit of their own, which may be higher or lower
preemptible   default of whether jobs may be stopped and queued again for others: that of a user wins over
              that of a project, and that over the cluster's; without a default, jobs with a checkpoint
              signal may be stopped`

func newQuota() *cobra.Command {
	c := &cli.Connection{}
	var all bool
	cmd := &cobra.Command{
		Use:     "quota",
		Short:   "Show and set the limits of the cluster, projects and users",
		Long:    quotaLong,
		Example: "  berth quota\n  berth quota set user alice --gpus 8 --running 10\n  berth quota set project vision --gpu-hours 500 --period 168h --over-quota lower",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, api *client.Client) (*wire.Quotas, error) {
				return api.Operator().Quotas().List(ctx, all)
			}
			return cli.Reading(c, ask, showQuotas)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also projects and users with use but without limits")
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
	c := &cli.Connection{}
	body := &wire.SetQuota{}
	var period string
	cmd := &cobra.Command{
		Use:     "set (cluster | project NAME | user NAME) FLAGS",
		Short:   "Set limits; the value none removes a limit, and limits that are not given stay unchanged",
		Example: "  berth quota set user alice --gpus 8 --gpus-per-job 4\n  berth quota set cluster --queued 10000 --max-run-time 7d\n  berth quota set user alice --gpus none\n  berth quota set project vision --preemptible",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, name, err := scopeArgs(cmd, args, true)
			if err != nil {
				return err
			}
			if len(args) > 2 {
				return cmdline.Usage("unexpected argument %q; values are given as in --gpus 8 and --preemptible=false", args[2])
			}
			if body.Period, err = cli.TimeFlag("--period", period); err != nil {
				return err
			}
			if *body == (wire.SetQuota{}) {
				return cmdline.Usage("no limit is given, such as --gpus 8; see %s --help", cmd.CommandPath())
			}
			set := func(ctx context.Context, api *client.Client) (*wire.Quotas, error) {
				q, err := api.Operator().Quotas().Set(ctx, scope, name, body)
				if err != nil {
					return nil, err
				}
				return &wire.Quotas{Quotas: []wire.Quota{*q}}, nil
			}
			return cli.Reading(c, set, showQuotas)(cmd, nil)
		},
	}
	c.BindReading(cmd)
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
		{flagOf[int64]{&body.ReservedGPUs, "count"}, "reserved-gpus", "GPUs that are guaranteed to it"},
		{flagOf[int64]{&body.GPUsPerUser, "count"}, "gpus-per-user", "of the cluster: GPUs in use by each user without an own limit"},
		{flagOf[int64]{&body.MaxCPUs, "count"}, "max-cpus", "cores that jobs without GPUs hold"},
		{flagOf[int64]{&body.MaxQueueSize, "count"}, "max-queue-size", "of the cluster: as --queued"},
		{flagOf[int64]{&body.MaxConcurrent, "count"}, "max-concurrent-jobs", "of the cluster: as --running"},
	} {
		f.Var(v.at, v.name, v.what+", or none")
	}
	f.Var(flagOf[bool]{&body.Preemptible, "true|false|none"}, "preemptible", "whether its jobs may be suspended, unless they say so themselves")
	f.Lookup("preemptible").NoOptDefVal = "true"
	f.StringVar(&period, "period", "", "the period of --gpu-hours as a `time`, 1h to 366d")
	f.StringVar(&body.OverQuota, "over-quota", "", "once the GPU-hours are used up: `stop` (no more jobs start) or lower (its jobs go last)")
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
	return "", "", cmdline.Usage("the scope must be user NAME or project NAME, not %q; see %s --help", strings.Join(args, " "), cmd.CommandPath())
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
	count("gpus", "gpus", q.Used.GPUs, q.GPUs, "no more jobs start until GPUs are free")
	count(running, "running", q.Used.Running, q.Running, "no more jobs start until one ends")
	count(queued, "queued", q.Used.Queued, q.Queued, "no more jobs are accepted until one starts")
	count("max_cpus", "max-cpus", q.Used.CPUs, q.MaxCPUs, "no more jobs without GPUs start until cores are free")
	if q.GPUsPerUser != nil {
		t.Add(who, "gpus_per_user", fmt.Sprintf("-/%d", *q.GPUsPerUser), "of each user without an own limit of gpus")
	}
	if q.GPUsPerJob != nil {
		t.Add(who, "gpus_per_job", fmt.Sprintf("-/%d", *q.GPUsPerJob), "")
	}
	if q.MaxRunTime != nil {
		t.Add(who, "max_run_time", "-/"+table.Span(cli.OfSeconds(*q.MaxRunTime)), "")
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
		t.Add(who, "preemptible", strconv.FormatBool(*q.Preemptible), "default of its jobs")
	}
	if q.Bytes != nil && q.Used.Bytes >= *q.Bytes/10 {
		t.Add(who, "bytes", table.Bytes(float64(q.Used.Bytes))+"/"+table.Bytes(float64(*q.Bytes)), "memory of jobs that have not ended: scripts, environments, tasks")
	}
	if t.Len() == lines && (q.Scope != "cluster" || q.Used != (wire.QuotaUse{})) {
		t.Add(who, "gpus", fmt.Sprintf("%d/none", q.Used.GPUs), fmt.Sprintf("%d running, %d queued", q.Used.Running, q.Used.Queued))
	}
}

func quotaNote(who string, q *wire.Quota) string {
	note := fmt.Sprintf("of %s, until %s", table.Span(cli.OfSeconds(*q.Period)), table.Clock(q.Used.PeriodEnds, time.Now()))
	switch {
	case *q.Used.GPUHours < *q.GPUHours && q.OverQuota == "lower":
		return note + "; once they are used up its jobs go last"
	case *q.Used.GPUHours < *q.GPUHours:
		return note + "; once they are used up no more jobs start"
	case q.OverQuota == "lower":
		return note + ": its jobs go last" + remedy(who, "gpu-hours")
	}
	return note + ": no more jobs start before" + remedy(who, "gpu-hours")
}

func remedy(who, flag string) string {
	return "; berth quota set " + who + " --" + flag + " N raises it"
}

// hours formats a number of hours with the significant digits of its fraction.
func hours(h float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(h, 'f', 3, 64), "0"), ".")
}

const poolLong = `How strictly GPUs are guaranteed to the projects and users that own some (berth quota set ... --reserved-gpus):

dynamic  all users may use all GPUs
static   owners use at most their guaranteed GPUs, others only GPUs without a guarantee
hybrid   a part of the cluster (--ratio, at most the sum of guarantees) is reserved for owners within
         their guarantees even while it is idle; the rest is for all users`

func newQuotaPool() *cobra.Command {
	c := &cli.Connection{}
	var ratio float64
	cmd := &cobra.Command{
		Use:     "pool [dynamic | static | hybrid]",
		Short:   "Show or set how strictly GPUs are guaranteed to their owners",
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
			return cli.Reading(c, ask, showPools)(cmd, nil)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().Float64Var(&ratio, "ratio", 0, "the `part` of the cluster that hybrid reserves for guarantees, above 0 and at most 1")
	return cmd
}

func showPools(w io.Writer, a *wire.Allocation) error {
	s := &cli.Sheet{}
	s.Line("Allocation", "%s", a.Mode)
	s.Line("Ratio", "%g of the cluster, reserved for guarantees under hybrid", a.Ratio)
	s.Line("GPUs", "%d, of which %d are usable; %d are guaranteed and %d reserved for their owners", a.GPUs, a.Fit, a.Owned, a.Kept)
	s.Line("Borrowed", "%d", a.Lent)
	_, err := io.WriteString(w, s.String())
	return err
}
