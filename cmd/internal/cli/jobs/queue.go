package jobs

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
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queueView holds the flags of queue.
type queueView struct {
	cli.Connection

	me       bool
	user     string
	state    string
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
	f.BoolVar(&q.me, "me", false, "only this user's jobs")
	f.StringVarP(&q.user, "user", "u", "", "only this `user`'s jobs")
	f.StringVarP(&q.state, "state", "s", "", "only jobs in this `state`")
	f.IntVarP(&q.limit, "limit", "n", 0, "the most waiting jobs to list (default: all)")
	f.IntVar(&q.ended, "ended", 0, "also the last `N` that have ended")
	f.BoolVarP(&q.watching, "watch", "w", false, "repeat every two seconds")
	return cmd
}

func (q *queueView) run(cmd *cobra.Command, args []string) error {
	once := cli.Reading(&q.Connection, q.ask, ShowQueue)
	if cmd.Flags().Changed("limit") && q.limit < 1 {
		return cli.Usage("--limit must be at least 1, not %d; leave it out for all", q.limit)
	}
	if !q.watching {
		return once(cmd, args)
	}
	return q.Again(cmd, args, 2*time.Second, once)
}

func (q *queueView) ask(ctx context.Context, api *client.Client) (*wire.Queue, error) {
	if q.me {
		q.user = cli.Me(ctx, api)
	}
	return api.Queue(ctx, client.QueueQuery{Limit: q.limit, Ended: q.ended, User: q.user, State: q.state})
}

// ShowQueue prints the queue as tables.
func ShowQueue(w io.Writer, q *wire.Queue) error {
	t := table.New("ID", "NAME", "USER", "PRI", "STATE", ">GPUS", ">NODES", ">ELAPSED/LIMIT", ">POS", "START", "NODELIST(REASON)")
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
	state := j.State
	if j.Stopping != nil {
		state += ", stopping"
	}
	position := ""
	if j.Position > 0 {
		position = strconv.Itoa(j.Position)
		if !j.PositionExact {
			position = "~" + position
		}
	}
	t.Add(j.ID, jobName(j), j.User, className(j.Priority), state, gpusOf(j),
		nodesOf(j), elapsed(j), position, startOf(j), placeOrReason(j))
}

// startOf returns when a job started, or is expected to.
func startOf(j *wire.Job) string {
	switch {
	case !j.RunsSince.IsZero():
		return table.Clock(j.RunsSince, time.Now())
	case !j.StartedAt.IsZero() && j.State != model.TaskQueued.String():
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

// local converts the UTC times in a text of the cluster to the local time zone.
func local(text string) string { return table.Local(text, time.Now()) }

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
		return placeOf(j.AllocatedGPUs)
	case len(j.OnNodes) > 0:
		return strings.Join(j.OnNodes, " ")
	}
	var parts []string
	if j.Array != nil && j.EndedAt.IsZero() {
		parts = append(parts, standing(j.Array))
	}
	if j.Reason != "" {
		parts = append(parts, local(j.Reason))
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
