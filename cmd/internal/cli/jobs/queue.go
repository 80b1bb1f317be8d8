package jobs

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queueView holds the flags of queue.
type queueView struct {
	cli.Connection

	pick     picked
	limit    int
	ended    int
	watching bool
}

func newQueue() *cobra.Command {
	q := &queueView{}
	cmd := &cobra.Command{
		Use:     "queue",
		Aliases: []string{"q"},
		Short:   "List the waiting and the running jobs",
		Args:    cli.NoArgs,
		RunE:    q.run,
	}
	q.BindReading(cmd)
	f := cmd.Flags()
	q.pick.bind(f)
	f.IntVarP(&q.limit, "limit", "n", 0, "the most waiting jobs to list (default: all)")
	f.IntVar(&q.ended, "ended", 0, "also the last `N` that have ended")
	f.BoolVarP(&q.watching, "watch", "w", false, "repeat every two seconds")
	cmd.AddCommand(newMove())
	return cmd
}

func (q *queueView) run(cmd *cobra.Command, args []string) error {
	once := cli.Reading(&q.Connection, q.ask, ShowQueue)
	if cmd.Flags().Changed("limit") && q.limit < 1 {
		return cmdline.Usage("--limit must be at least 1, not %d; leave it out for all", q.limit)
	}
	if !q.watching {
		return once(cmd, args)
	}
	return q.Again(cmd, args, 2*time.Second, once)
}

func (q *queueView) ask(ctx context.Context, api *client.Client) (*wire.Queue, error) {
	return api.Queue(ctx, client.QueueQuery{Limit: q.limit, Ended: q.ended, Brief: true, Selection: q.pick.selection(ctx, api)})
}

// picked holds the flags that pick and sort jobs of a list.
type picked struct {
	me   bool
	sort string
	by   map[string]*string // filters of the API, by name
}

// bind adds the flags.
func (p *picked) bind(f *pflag.FlagSet) {
	f.BoolVar(&p.me, "me", false, "only this user's jobs")
	f.StringVar(&p.sort, "sort", "", "the `field` to sort by; with - before it the greatest value first")
	p.by = map[string]*string{}
	for _, v := range []struct{ name, short, filter, what string }{
		{"user", "u", "user", "only jobs of these `users`"},
		{"project", "A", "project", "only jobs of these `projects`"},
		{"state", "s", "state", "only jobs in these `states`, such as queued,running"},
		{"name", "", "name", "only jobs of this `name`, in which * is any text"},
		{"run-id", "", "run_id", "only jobs of these `runs`"},
		{"node", "", "node", "only jobs on these `nodes`, or that ran there last"},
		{"gpu-type", "", "gpu_type", "only jobs that ask for this `type` of GPU"},
		{"gpus", "g", "gpu_count", "only jobs that ask for so many GPUs, a `number` or such as 1,4 or 8-"},
		{"priority", "p", "priority", "only jobs of this priority, a `number`"},
		{"held", "", "held", "only jobs that are held (`true`), or are not (false)"},
		{"why", "", "reason", "only jobs whose reason contains this `text`"},
		{"search", "", "q", "only jobs of which id, name, run, user, project or command contains this `text`"},
		{"ids", "", "ids", "only jobs with these `ids`, such as 3,7-9"},
	} {
		p.by[v.filter] = f.StringP(v.name, v.short, "", v.what)
	}
	f.Lookup("held").NoOptDefVal = "true"
}

// selection returns what to ask the API for.
func (p *picked) selection(ctx context.Context, api *client.Client) client.Selection {
	s := client.Selection{Filters: map[string]string{}}
	for name, value := range p.by {
		s.Filters[name] = *value
	}
	if p.me {
		s.Filters["user"] = cli.Me(ctx, api)
	}
	if s.Sort = strings.TrimPrefix(p.sort, "-"); s.Sort != "" {
		s.Order = map[bool]string{true: "desc", false: "asc"}[s.Sort != p.sort]
	}
	return s
}

const jobsLong = `List the jobs that the cluster's state has: those that wait and run, and those that have ended
lately, newest first. berth history lists all that have ended.`

// jobList holds the flags of jobs.
type jobList struct {
	cli.Report

	pick  picked
	count bool
}

func newJobs() *cobra.Command {
	l := &jobList{}
	cmd := &cobra.Command{
		Use:     "jobs",
		Short:   "List jobs, whatever their state",
		Long:    jobsLong,
		Example: "  berth jobs --me --state failed\n  berth jobs --name 'train-*' --sort -gpu_count -o json\n  berth jobs --node gpu1 --count",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	l.BindList(cmd)
	l.pick.bind(cmd.Flags())
	cmd.Flags().BoolVar(&l.count, "count", false, "print only how many match")
	return cmd
}

func (l *jobList) run(cmd *cobra.Command) error {
	api, err := l.Open()
	if err != nil {
		return err
	}
	q := client.JobsQuery{Selection: l.pick.selection(cmd.Context(), api)}
	if q.Count = l.count; l.count {
		q.Limit, q.Fields = 1, []string{"id"}
		list, err := api.Lists().Jobs(cmd.Context(), q)
		if err == nil && list.Total != nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), *list.Total)
		}
		return err
	}
	all := &wire.Jobs{Jobs: []wire.Job{}}
	err = l.Pages(func(most int) (int, bool, error) {
		q.Limit = most
		page, err := api.Lists().Jobs(cmd.Context(), q)
		if err != nil {
			return 0, false, err
		}
		page.Jobs = append(all.Jobs, page.Jobs...)
		all, q.After = page, page.Next
		return len(all.Jobs), page.Next != "", nil
	})
	if err != nil {
		return err
	}
	return l.Write(cmd.OutOrStdout(), all, func() [][]string { return jobLines(all.Jobs) },
		func(w io.Writer) error { return showJobs(w, all) })
}

func showJobs(w io.Writer, all *wire.Jobs) error {
	t := table.New("ID", "NAME", "USER", "PROJECT", "PRI", "STATE", ">GPUS", "SUBMITTED", ">ELAPSED/LIMIT", ">EXIT", "NODELIST(REASON)").Shorten("NAME")
	now := time.Now()
	for i := range all.Jobs {
		j := &all.Jobs[i]
		t.Add(j.ID, jobName(j), j.User, j.Project, className(j.Priority), stateOf(j), gpusOf(j), table.Clock(j.SubmittedAt, now), elapsed(j),
			exitCodeOf(j), placeOrReason(j))
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "No job matches.")
		return err
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if all.Next != "" {
		_, err := fmt.Fprintf(w, "There are more than these %d jobs: --limit 0 lists all.\n", len(all.Jobs))
		return err
	}
	return nil
}

// ShowQueue prints the queue as tables.
func ShowQueue(w io.Writer, q *wire.Queue) error {
	t := table.New("ID", "NAME", "USER", "PRI", "STATE", ">GPUS", ">NODES", ">ELAPSED/LIMIT", ">POS", "START", "NODELIST(REASON)").Shorten("NAME")
	addJobs(t, q.Running)
	services := q.Services
	for i := range q.Queued {
		for len(services) > 0 && q.Queued[i].Position > services[0].Position {
			addService(t, &services[0])
			services = services[1:]
		}
		addJob(t, &q.Queued[i])
	}
	for i := range services {
		addService(t, &services[i])
	}
	addJobs(t, q.Ended)
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "No jobs wait or run.")
		return err
	}
	_, err := t.WriteTo(w)
	return err
}

func addJobs(t *table.Table, list []wire.Job) {
	for i := range list {
		addJob(t, &list[i])
	}
}

// addService adds a waiting service to the table of jobs.
func addService(t *table.Table, a *wire.ServiceAllocation) {
	start := ""
	if a.PlannedStart != nil {
		start = "~" + table.Clock(a.PlannedStart.Expected, time.Now())
	}
	t.Add(a.ID, a.Service, a.User, serviceClass(a.Priority), a.Status,
		strconv.FormatInt(a.GPUs, 10), "1", "", strconv.Itoa(a.Position), start, "(service)")
}

func addJob(t *table.Table, j *wire.Job) {
	position := ""
	if j.Position > 0 {
		position = strconv.Itoa(j.Position)
		if !j.PositionExact {
			position = "~" + position
		}
	}
	t.Add(j.ID, jobName(j), j.User, className(j.Priority), stateOf(j), gpusOf(j),
		nodesOf(j), elapsed(j), position, startOf(j), placeOrReason(j))
}

// stateOf returns a job's state, and whether it is being stopped.
func stateOf(j *wire.Job) string {
	if j.Stopping != nil {
		return j.State + ", stopping"
	}
	return j.State
}

// startOf returns when a job started, or is expected to.
func startOf(j *wire.Job) string {
	switch {
	case !j.RunsSince.IsZero():
		return table.Clock(j.RunsSince, time.Now())
	case !j.StartedAt.IsZero() && j.State != wire.StateQueued:
		return table.Clock(j.StartedAt, time.Now())
	case j.PlannedStart != nil:
		return "~" + table.Clock(j.PlannedStart.Expected, time.Now())
	}
	return ""
}

// nodesOf returns how many nodes a job has or asks for; empty: any number.
func nodesOf(j *wire.Job) string {
	nodes := map[string]bool{}
	for _, g := range j.AllocatedGPUs {
		nodes[g.NodeID] = true
	}
	for _, id := range j.OnNodes {
		nodes[id] = true
	}
	if n := max(int64(len(nodes)), j.Nodes); n > 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// jobName returns the name under which a user knows a job.
func jobName(j *wire.Job) string {
	name := j.Name
	for _, other := range []string{j.RunID, j.Command} {
		if name == "" {
			name = other
		}
	}
	if j.Array != nil {
		name += fmt.Sprintf(" [%s]", strings.Join(append([]string{strconv.FormatInt(j.Array.Size, 10)}, paramNames(j.Array)...), " "))
	}
	return name
}

// className returns the class of a job's priority.
func className(priority int64) string { return classBy(model.JobClass, priority) }

// serviceClass returns the class of a service's priority, in which numbers mean other classes.
func serviceClass(priority int64) string { return classBy(model.ServiceClass, priority) }

func classBy(class func(uint8) model.Class, priority int64) string {
	if priority < 1 || priority > model.MaxPriority {
		return ""
	}
	return class(uint8(priority)).String()
}

// Local converts the UTC times in a text of the cluster to the local time zone.
func Local(text string) string { return table.Local(text, time.Now()) }

func elapsed(j *wire.Job) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	if j.Array != nil { // its tasks together run longer than the limit, which applies to each
		until := j.EndedAt
		if until.IsZero() {
			until = time.Now()
		}
		return table.Seconds(max(until.Sub(j.StartedAt), 0).Seconds())
	}
	text := table.Seconds(j.RunSeconds)
	if j.TimeLimitSeconds > 0 {
		text += "/" + table.Seconds(j.TimeLimitSeconds)
	}
	return text
}

// placeOrReason returns where a job runs, or why it does not.
func placeOrReason(j *wire.Job) string {
	switch {
	case len(j.AllocatedGPUs) > 0:
		return placeOf(j.AllocatedGPUs) + silentSince(j, time.Now())
	case len(j.OnNodes) > 0:
		return strings.Join(j.OnNodes, " ") + silentSince(j, time.Now())
	}
	var parts []string
	if j.Array != nil && j.EndedAt.IsZero() {
		parts = append(parts, standing(j.Array))
	}
	if j.Reason != "" {
		parts = append(parts, Local(j.Reason))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// standing returns how many tasks of an array run, wait and have ended.
func standing(a *wire.Array) string {
	var parts []string
	for _, v := range []struct {
		n    int64
		what string
	}{{a.Running, "run"}, {a.Queued, "wait"}, {a.Completed + a.Failed + a.Canceled, "ended"}} {
		if v.n > 0 {
			parts = append(parts, strconv.FormatInt(v.n, 10)+" "+v.what)
		}
	}
	return strings.Join(parts, ", ")
}

// placeOf formats a list of GPUs: "node1:0-3 node2:0-3".
func placeOf(gpus []wire.GPURef) string {
	var nodes []string
	byNode := map[string][]int64{}
	for _, g := range gpus {
		if byNode[g.NodeID] == nil {
			nodes = append(nodes, g.NodeID)
		}
		byNode[g.NodeID] = append(byNode[g.NodeID], g.Index)
	}
	for i, n := range nodes {
		nodes[i] = n + ":" + table.Ranges(byNode[n])
	}
	return strings.Join(nodes, " ")
}
