package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const simulateLong = `Simulate jobs with the production scheduler in virtual time: how long they would have
waited, and how well GPUs would have been used.

With --trace the jobs are in a file of comma-separated lines with a header: job_id, user,
submit_s, gpus, duration_s (times in seconds), and optionally project, priority (1 to 4),
nodes, gpu_type, gpu_memory_gb and constraint. The nodes are equal, or those of a YAML file
(--cluster): nodes, a list of groups with gpus, and optionally name, count, model,
memory_gb and labels. Users give no estimates of run times (none), the true ones (exact),
or estimates that are off by a factor drawn for each job (x1..9); with history the
scheduler learns from their earlier jobs.

The policies srtf and srsf are the textbooks' shortest remaining time and shortest
remaining service (GPU time) first, for simulations only: by true run times, where every
job may be suspended at any time and any number of times, and long jobs may wait for ever. They
set estimates=exact, preemptible-fraction=1, no_preemption=false, wait_bound=8784h,
hysteresis=100, min_run=0s, budget=1000 and budget_every=1m; flags and --set still change
that.

With --history the jobs are those that the cluster has run and still knows, on the cluster's
own nodes and with its own tuning, as their users submitted them; the first line is the
real run. Other delays of jobs at the time (failures, holds, limits, unreachable nodes) are only
in that line.`

// simulation holds the flags of berth simulate.
type simulation struct {
	simulate.Options
	past

	trace, backfill, estimates, preempt string
	cluster                             string
	set, compare                        []string
	outputs
	given func(flag string) bool
}

// outputs names the files and the format of the results.
type outputs struct{ log, plot, output string }

// New returns the command that simulates jobs.
func New() *cobra.Command {
	s := &simulation{}
	cmd := &cobra.Command{
		Use:   "simulate --trace FILE | --history",
		Short: "Simulate a trace, or the cluster's history, with the scheduler in virtual time",
		Long:  simulateLong,
		Example: "  berth simulate --trace jobs.csv --cluster cluster.yaml --plot play.html\n" +
			"  berth simulate --trace jobs.csv --nodes 2 --gpus-per-node 8 --compare fair_share,priority,fcfs\n" +
			"  berth simulate --history --set wait_bound=24h",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	s.given = f.Changed
	f.StringVar(&s.trace, "trace", "", "`file` of jobs")
	s.past.bind(cmd)
	f.IntVar(&s.Nodes, "nodes", 2, "nodes")
	f.IntVar(&s.GPUs, "gpus-per-node", 8, "GPUs of each node")
	f.BoolVar(&s.WholeNodes, "whole-nodes", false, "jobs with the GPUs of 2, 3, ... nodes take whole nodes, not any GPUs on the fewest nodes")
	f.StringVar(&s.cluster, "cluster", "", "the nodes, in a YAML `file`, in place of --nodes and --gpus-per-node")
	f.StringVar(&s.Policy, "policy", model.DefaultPolicy, "order of the queue: "+strings.Join(playable(), ", "))
	f.StringSliceVar(&s.compare, "compare", nil, "simulate each of these `policies` (with --history: all)")
	f.StringVar(&s.backfill, "backfill", "conservative", "jobs that may pass a job without GPUs: none, skip, easy (one reservation), conservative (many)")
	f.StringVar(&s.estimates, "estimates", "history", "estimates of users: exact, none, history or xLOW..HIGH")
	f.StringVar(&s.preempt, "preempt", "on", "on or off: whether jobs that allow it are suspended for others")
	f.Float64Var(&s.Preemptible, "preemptible-fraction", 1, "part of the jobs that allow it, 0 to 1")
	cli.TimeVar(f, &s.RestartCost, "restart-cost", time.Minute, "`time` that the next start of a suspended job costs")
	f.StringArrayVar(&s.set, "set", nil, "tune the scheduler, `name=value` as in berth policy; may repeat")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of random numbers")
	f.StringVar(&s.log, "log", "", "write the events to a `file`: time, event, job, GPUs, node:GPUs")
	f.BoolVar(&s.Foretell, "foretell", false, "print the accuracy of forecasts: of each job that has to wait, the start that is predicted at its submission")
	f.StringVar(&s.plot, "plot", "", "draw utilisation and queue over time into a `file`: a picture if its name ends in .svg, a page if in .html")
	f.StringVarP(&s.output, "output", "o", "", "json, or a table")
	cmd.MarkFlagsOneRequired("trace", "history")
	cmd.MarkFlagsMutuallyExclusive("trace", "history")
	cmd.MarkFlagsMutuallyExclusive("policy", "compare")
	cmd.MarkFlagsMutuallyExclusive("cluster", "nodes")
	cmd.MarkFlagsMutuallyExclusive("cluster", "gpus-per-node")
	return cmd
}

// options checks the flags.
func (s *simulation) options() error {
	var err error
	switch {
	case s.Nodes < 1 || s.Nodes > 10_000 || s.GPUs < 1 || s.GPUs > model.MaxDevices:
		return cmdline.Usage("--nodes must be 1 to 10000 and --gpus-per-node 1 to %d", model.MaxDevices)
	case s.preempt != "on" && s.preempt != "off":
		return cmdline.Usage("--preempt must be on or off, not %q", s.preempt)
	case !(s.Preemptible >= 0 && s.Preemptible <= 1): // false for NaN, too
		return cmdline.Usage("--preemptible-fraction must be 0 to 1, not %g", s.Preemptible)
	case s.given("last") && !s.history:
		return cmdline.Usage("--last needs --history: of a trace all jobs are simulated")
	case s.output != "" && s.output != "json":
		return cmdline.Usage("--output must be json or be left out, not %q", s.output)
	case s.plot != "" && s.drawing() != ".svg" && !s.page():
		return cmdline.Usage("--plot draws a picture into FILE.svg, or a page into FILE.html; not %q", s.plot)
	case len(s.compare) > 1 && (s.log != "" || s.plot != "" && !s.page()):
		return cmdline.Usage("--log and --plot are of one policy: leave out --compare, or plot a page (--plot FILE.html)")
	}
	if s.Estimates, err = simulate.ParseEstimates(s.estimates); err != nil {
		return cmdline.Usage("%v", err)
	}
	if err := s.policies(); err != nil {
		return err
	}
	if err := s.past.check(); err != nil {
		return err
	}
	return s.tune(model.DefaultTuning(), func(string) bool { return true })
}

// policies checks the names of the policies to simulate.
func (s *simulation) policies() error {
	for _, name := range append([]string{s.Policy}, s.compare...) {
		if !slices.Contains(playable(), name) {
			return cmdline.Usage("there is no policy %q: there are %s", name, strings.Join(playable(), ", "))
		}
	}
	for i, name := range s.compare {
		if slices.Contains(s.compare[:i], name) {
			return cmdline.Usage("--compare contains %s twice: leave one out", name)
		}
	}
	return nil
}

// tune applies those flags to a tuning for which counts returns true.
func (s *simulation) tune(t model.Tuning, counts func(flag string) bool) error {
	depth := map[string]uint32{"none": 1, "skip": 1, "easy": 1, "conservative": 100}
	modes := map[string]model.Backfill{
		"none": model.BackfillNone, "skip": model.BackfillSkip, "easy": model.BackfillReserve, "conservative": model.BackfillReserve,
	}
	if modes[s.backfill] == 0 {
		return cmdline.Usage("--backfill must be none, skip, easy or conservative, not %q", s.backfill)
	}
	if s.Tuning = t; counts("backfill") {
		s.Tuning.Backfill, s.Tuning.Depth = modes[s.backfill], depth[s.backfill]
	}
	if counts("preempt") {
		s.Tuning.NoPreemption = s.preempt == "off"
	}
	if err := set(&s.Tuning, s.set); err != nil {
		return cmdline.Usage("%w", err)
	}
	switch t := &s.Tuning; {
	case s.given("backfill") && t.Backfill != modes[s.backfill]:
		return cmdline.Usage("--backfill %s and --set backfill=%s contradict each other: leave one out", s.backfill, t.Backfill)
	case s.given("backfill") && s.backfill == "easy" && t.Depth != 1:
		return cmdline.Usage("--backfill easy makes one reservation, and --set depth=%d asks for more: leave one out", t.Depth)
	case s.given("preempt") && t.NoPreemption != (s.preempt == "off"):
		return cmdline.Usage("--preempt %s and --set no_preemption=%t contradict each other: leave one out", s.preempt, t.NoPreemption)
	}
	return nil
}

func (s *simulation) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := s.options(); err != nil {
		return err
	}
	var results []*simulate.Result
	var jobs []simulate.Job
	var err error
	if s.Hosts, err = s.nodes(); err != nil {
		return err
	}
	if s.history {
		var h *simulate.History
		if h, err = s.recall(ctx, out); err != nil {
			return err
		}
		jobs, results = h.Jobs, append(results, h.Actual(s.then))
	} else if jobs, err = s.read(cmd.ErrOrStderr()); err != nil {
		return err
	}
	if len(s.compare) == 0 {
		s.compare = []string{s.Policy}
	}
	for _, name := range s.compare {
		result, err := s.play(ctx, jobs, name)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	if s.page() {
		if err := s.draw(simulate.HTML(results)); err != nil {
			return err
		}
	}
	return s.print(out, results)
}

// page reports whether the plot is an HTML page rather than a picture.
func (s *simulation) page() bool { return slices.Contains([]string{".html", ".htm"}, s.drawing()) }

// drawing returns the extension of the plot's file.
func (s *simulation) drawing() string { return strings.ToLower(filepath.Ext(s.plot)) }

func (s *simulation) draw(data []byte) error {
	if err := os.WriteFile(s.plot, data, 0o644); err != nil { //nolint:gosec // a picture for everybody
		return fmt.Errorf("the plot: %w", err)
	}
	return nil
}

// nodes reads the file of nodes, if one is given.
func (s *simulation) nodes() ([]simulate.Host, error) {
	if s.cluster == "" {
		return nil, nil
	}
	file, err := os.Open(s.cluster)
	if err != nil {
		return nil, fmt.Errorf("the nodes: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	hosts, err := simulate.ReadHosts(file)
	if err != nil {
		return nil, cmdline.Usage("--cluster: %s is not valid: %w", s.cluster, err)
	}
	return hosts, nil
}

// read reads the trace, and warns of columns that are not read: their names may be misspelt.
func (s *simulation) read(warn io.Writer) ([]simulate.Job, error) {
	file, err := os.Open(s.trace)
	if err != nil {
		return nil, fmt.Errorf("the trace: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	jobs, unread, err := simulate.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.trace, err)
	}
	if len(unread) > 0 {
		fmt.Fprintf(warn, "Warning: of %s these columns are not read: %s. There may be %s.\n", s.trace,
			table.Clean(strings.Join(unread, ", ")), strings.Join(simulate.Columns(), ", "))
	}
	return jobs, nil
}

// play simulates the trace once and writes the requested files.
func (s *simulation) play(ctx context.Context, jobs []simulate.Job, policy string) (*simulate.Result, error) {
	o, err := s.as(policy)
	if err != nil {
		return nil, err
	}
	if s.log == "" {
		return s.drawn(ctx, jobs, o)
	}
	file, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("the log: %w", err)
	}
	buffer := bufio.NewWriter(file)
	o.Log = buffer
	result, err := s.drawn(ctx, jobs, o)
	if failed := buffer.Flush(); err == nil && failed != nil {
		err = fmt.Errorf("the log: %w", failed)
	}
	if failed := file.Close(); err == nil && failed != nil {
		err = fmt.Errorf("the log: %w", failed)
	}
	return result, err
}

func (s *simulation) drawn(ctx context.Context, jobs []simulate.Job, o simulate.Options) (*simulate.Result, error) {
	result, err := simulate.Play(ctx, jobs, o)
	if err != nil || s.plot == "" || s.page() {
		return result, err
	}
	return result, s.draw(simulate.SVG(result))
}

func (s *simulation) print(out io.Writer, results []*simulate.Result) error {
	if s.output == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if len(results) == 1 {
			return e.Encode(results[0])
		}
		return e.Encode(results)
	}
	t := table.New("POLICY", "JOBS", "UTILISATION", "AVG JCT", "P50 JCT", "P99 JCT", "AVG WAIT", "P50 WAIT", "P99 WAIT", "MAX WAIT", "MAKESPAN", "SUSPENDED")
	for i, r := range results {
		used, suspended := "-", fmt.Sprint(r.Preemptions)
		if r.Loaded > 0 {
			used = fmt.Sprintf("%.1f %%", r.Utilization)
		}
		if s.history && i == 0 {
			suspended = "-"
		}
		t.Add(r.Policy, fmt.Sprint(r.Jobs), used, table.Seconds(r.AvgJCT), table.Seconds(r.P50JCT), table.Seconds(r.P99JCT),
			table.Seconds(r.AvgWait), table.Seconds(r.P50Wait), table.Seconds(r.P99Wait), table.Seconds(r.MaxWait*3600),
			table.Seconds(r.Makespan), suspended)
	}
	if _, err := t.WriteTo(out); err != nil || !s.Foretell {
		return err
	}
	fmt.Fprintln(out)
	return foretold(out, results)
}

// foretold prints how far forecasts came true.
func foretold(out io.Writer, results []*simulate.Result) error {
	t := table.New("POLICY", "FORETOLD", "IN RANGE", "SOONER", "LATER", "P50 OFF", "P90 OFF")
	for _, r := range results {
		f := r.Foretold
		switch {
		case f == nil: // a run that really happened has no forecasts
		case f.Jobs == 0:
			t.Add(r.Policy, "0", "-", "-", "-", "-", "-")
		default:
			percent := func(v float64) string { return fmt.Sprintf("%.1f %%", v) }
			t.Add(r.Policy, fmt.Sprint(f.Jobs), percent(f.InRange), percent(f.Sooner), percent(f.Later), table.Seconds(f.P50Off),
				table.Seconds(f.P90Off))
		}
	}
	_, err := t.WriteTo(out)
	return err
}
