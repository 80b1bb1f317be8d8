package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// past is the part of a cluster's history that berth simulate uses.
type past struct {
	cli.Connection

	history bool
	last    int
	then    []simulate.Host // the cluster's nodes
}

// mostPast bounds the jobs that are read from the history.
const mostPast = 10_000

func (p *past) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.history, "history", false, "simulate the jobs that the cluster has run and still knows")
	f.IntVar(&p.last, "last", 2000, "with --history: the `number` of tasks that ended last")
	p.Connection.Bind(cmd)
}

func (p *past) check() error {
	if p.last < 1 || p.last > mostPast {
		return cmdline.Usage("--last must be 1 to %d, not %d", mostPast, p.last)
	}
	return nil
}

// recall reads a history from the cluster, and plays it with the cluster's own settings, except
// those that flags override.
func (s *simulation) recall(ctx context.Context, out io.Writer) (*simulate.History, error) {
	api, err := s.Dial()
	if err != nil {
		return nil, err
	}
	ended, cut, err := endedTasks(ctx, api, s.last)
	if err != nil {
		return nil, err
	}
	hosts, err := hostsOf(ctx, api)
	if err != nil {
		return nil, err
	}
	switch s.then = hosts; {
	case s.Hosts != nil:
		hosts = s.Hosts
	case s.given("nodes") || s.given("gpus-per-node"):
		hosts = alike(hosts, s)
	}
	h := simulate.NewHistory(hosts, ended, cut)
	if len(h.Jobs) == 0 {
		return nil, errors.New("the cluster knows of no task that ran, has ended, and fits its nodes: there is nothing to simulate")
	}
	s.Hosts, s.From = hosts, h.From
	if err := s.adopt(ctx, api); err != nil {
		return nil, err
	}
	if s.output == "" {
		fmt.Fprintf(out, "%s since %s, on %s", cli.Plural(int64(h.Measured), "task"), table.Clock(h.Begin.Add(h.From), time.Now()), cli.Plural(int64(len(hosts)), "node"))
		if n := len(h.Jobs) - h.Measured; n > 0 {
			fmt.Fprintf(out, "; %s that came before and ended since, simulated and not measured", cli.Plural(int64(n), "task"))
		}
		if h.Left > 0 {
			fmt.Fprintf(out, "; without %s that these nodes could not run", cli.Plural(int64(h.Left), "task"))
		}
		fmt.Fprint(out, "\n\n")
	}
	return h, nil
}

// alike returns as many nodes as the flags ask for, of the cluster's kinds in turn. The first nodes
// keep the names of the cluster's nodes, which jobs may ask for.
func alike(hosts []simulate.Host, s *simulation) []simulate.Host {
	out := make([]simulate.Host, s.Nodes)
	for i := range out {
		if n := len(hosts); n > 0 {
			out[i] = hosts[i%n]
			if i >= n {
				out[i].Name += fmt.Sprintf("+%d", i/n)
			}
		}
		out[i].GPUs = s.GPUs
	}
	return out
}

// adopt takes over the cluster's policy and tuning, except what flags override.
func (s *simulation) adopt(ctx context.Context, api *client.Client) error {
	p, err := api.Policies(ctx)
	if err != nil {
		return fmt.Errorf("the cluster's policy: %w", err)
	}
	tuning := model.DefaultTuning()
	for _, v := range p.Parameters {
		if err := tuning.Set(v.Name, v.Value); err != nil {
			return fmt.Errorf("the cluster has a parameter that this version of berth does not know: %w", err)
		}
	}
	if err := s.tune(tuning, s.given); err != nil {
		return err
	}
	if !s.given("estimates") {
		s.Estimates = simulate.Estimates{Told: true}
	}
	if !s.given("preemptible-fraction") {
		s.Preemptible = -1
	}
	if s.given("policy") || len(s.compare) > 0 {
		return nil
	}
	if s.Policy = p.Policy; s.log == "" && (s.plot == "" || s.page()) {
		others := slices.DeleteFunc(model.Policies(), func(name string) bool { return name == p.Policy })
		s.compare = append([]string{p.Policy}, others...)
	}
	return nil
}

// endedTasks returns the tasks that ran and ended last, up to a limit. cut reports whether earlier
// ones were left out.
func endedTasks(ctx context.Context, api *client.Client, most int) (out []simulate.Ended, cut bool, err error) {
	q, err := api.Queue(ctx, client.QueueQuery{Limit: 1, Ended: most})
	if err != nil {
		return nil, false, fmt.Errorf("what has ended: %w", err)
	}
	known := int64(0)
	for i := range q.Ended {
		if len(out) >= most {
			break
		}
		j := &q.Ended[i]
		if j.Array == nil {
			known++
			out = add(out, endedOf(j, j.ID, j.RunSeconds, j.EndedAt, j.Granted))
			continue
		}
		known += j.Array.Size
		if out, err = addTasks(ctx, api, j, out); err != nil {
			return nil, false, err
		}
	}
	n := &q.Statistics
	cut = len(out) >= most || known < n.Completed+n.Failed+n.Canceled
	return out[:min(len(out), most)], cut, nil
}

// add appends a task that ran.
func add(out []simulate.Ended, e simulate.Ended) []simulate.Ended {
	if e.Duration <= 0 || e.Done.IsZero() {
		return out
	}
	return append(out, e)
}

// addTasks appends the tasks of an array that ran.
func addTasks(ctx context.Context, api *client.Client, j *wire.Job, out []simulate.Ended) ([]simulate.Ended, error) {
	query := client.TasksQuery{}
	for {
		page, err := api.Lists().Tasks(ctx, j.ID, query)
		if err != nil {
			return nil, fmt.Errorf("the tasks of job %s: %w", j.ID, err)
		}
		for _, t := range page.Tasks {
			out = add(out, endedOf(j, fmt.Sprintf("%s.%d", j.ID, t.Index), t.RunSeconds, t.EndedAt, t.Granted))
		}
		if query.After = page.Next; query.After == "" {
			return out, nil
		}
	}
}

// endedOf returns a task as a trace has it. granted is the number of GPUs that it had; 0: the
// number that it asked for.
func endedOf(j *wire.Job, id string, ran float64, done time.Time, granted int64) simulate.Ended {
	eligible := j.Eligible
	if eligible.IsZero() {
		eligible = j.SubmittedAt
	}
	gpus, nodes := j.GPUs, j.Nodes
	if granted > 0 && gpus > 0 {
		gpus, nodes = granted, nodes*granted/gpus
		if j.Nodes == 1 {
			nodes = 1
		}
	}
	return simulate.Ended{
		Eligible: eligible, Done: done,
		Job: simulate.Job{
			ID: id, User: j.User, GPUs: uint32(gpus), Nodes: uint32(nodes), Duration: cli.OfSeconds(ran),
			Told: simulate.Told{
				Name: j.Name, Project: j.Project, Class: model.JobClass(uint8(j.Priority)), Estimate: cli.OfSeconds(j.EstimateSeconds),
				TimeLimit: cli.OfSeconds(j.TimeLimitSeconds), Preemptible: j.Yields, Model: j.GPUType,
				MemoryMB:  uint32(math.Round(j.GPUMemoryGB * 1000)),
				Where:     model.Where{Constraint: j.Constraint, Nodelist: strings.Join(j.Nodelist, ","), Exclude: strings.Join(j.Exclude, ",")},
				Placement: j.Placement,
			},
		},
	}
}

// labelsText formats labels as nodes report them.
func labelsText(given wire.Labels) string {
	var labels model.Labels
	for key, value := range given { // order-free: With sorts them
		labels = labels.With(model.Label{Key: key, Value: value})
	}
	return labels.String()
}

// hostsOf reads the nodes that accept work, with their usable GPUs.
func hostsOf(ctx context.Context, api *client.Client) (hosts []simulate.Host, err error) {
	list, err := api.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("the nodes: %w", err)
	}
	for _, n := range list.Nodes {
		h := simulate.Host{Name: n.ID, Model: n.GPUType, Labels: labelsText(n.Labels)}
		for _, g := range n.GPUs {
			if g.State == "unhealthy" || g.Mode != "" {
				continue
			}
			memory := uint32(math.Round(g.MemoryGB * 1000))
			if h.GPUs++; h.GPUs == 1 || memory < h.MemoryMB {
				h.Model, h.MemoryMB = g.Type, memory
			}
		}
		if n.State == "up" && h.GPUs > 0 {
			hosts = append(hosts, h)
		}
	}
	return hosts, nil
}
