package jobs

import (
	"cmp"
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
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func newShow() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a job: its request, its nodes, and its timeline",
		Long:  "Show a job: its request, its nodes, and its timeline" + taskHelp,
		Args:  cli.One(oneJob),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Reading(c, askShown(args[0]), showShown)(cmd, args)
		},
	}
	c.BindReading(cmd)
	return cmd
}

func newExplain() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "explain JOB",
		Short: "Explain why a job waits, and what would let it start",
		Long:  "Explain why a job waits, and what would let it start" + taskHelp,
		Args:  cli.One(oneJob),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Reading(c, askWaiting(args[0]), showExplanation)(cmd, args)
		},
	}
	c.BindReading(cmd)
	return cmd
}

// askWaiting returns a request for a job; the answer about an array explains the first task that
// waits.
func askWaiting(name string) func(context.Context, *client.Client) (*wire.Detail, error) {
	return func(ctx context.Context, api *client.Client) (*wire.Detail, error) {
		r, err := cli.FindOne(ctx, api, name)
		if err != nil {
			return nil, err
		}
		return askRef(ctx, api, r)
	}
}

func askRef(ctx context.Context, api *client.Client, r cli.Ref) (*wire.Detail, error) {
	detail, _, err := api.Job(ctx, r.Job, client.JobQuery{Task: r.Tasks})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", r, err)
	}
	return detail, nil
}

// details is the sheet of a job, or of a service's allocation.
type details struct{ cli.Sheet }

func showJob(w io.Writer, d *wire.Detail) error {
	s := &details{}
	s.Line("Job", "%s %s", d.ID, jobName(&d.Job))
	s.Line("State", "%s", stateLine(d))
	if d.Archived {
		s.Line("From", "the archive")
	}
	s.Line("User", "%s", d.User)
	s.Line("Project", "%s", d.Project)
	s.Line("Run", "%s", d.RunID)
	s.Line("Priority", "%s", className(d.Priority))
	if d.Moved != "" {
		s.Line("Moved", "ahead of job %s, by an operator", d.Moved)
	}
	s.size(&d.Job)
	s.Line("Where", "%s", whereOf(&d.Job))
	s.Line("Placement", "%s", d.Placement)
	if d.CommandHidden {
		s.Line("Command", "hidden: the job is another user's (jobs.show_commands)")
	}
	s.Line("Command", "%s", table.Short(d.Command, 200))
	if !d.PurgedAt.IsZero() {
		s.Line("Purged", "script and environment, at %s", d.PurgedAt.Local().Format(time.DateTime))
	}
	s.Line("Folder", "%s", d.WorkDir)
	s.files(&d.Job)
	s.Line("Places", "%s", cmp.Or(placeOf(d.AllocatedGPUs), strings.Join(d.OnNodes, " ")))
	if d.TimeLimitSeconds > 0 {
		s.Line("Time limit", "%s", table.Seconds(d.TimeLimitSeconds))
	}
	s.Line("Node lost", "%s", lossOf(d))
	if r := d.Similar; r != nil {
		s.Line("Like it", "%d runs: a quarter took up to %s, half %s, three quarters %s", r.Runs,
			table.Seconds(r.P25Seconds), table.Seconds(r.P50Seconds), table.Seconds(r.P75Seconds))
	}
	if d.IdleStopSeconds > 0 {
		s.Line("Idle stop", "%s at 0 %%", table.Seconds(d.IdleStopSeconds))
	}
	s.dates(&d.Job)
	s.Line("Times", "waited %s, ran %s", table.Seconds(d.WaitSeconds), table.Seconds(d.RunSeconds))
	s.Line("Retries", "%d of %d", d.Retries, d.MaxRetries)
	if d.Array != nil {
		if d.Task != nil {
			s.Line("Task", "%d", *d.Task)
			s.Line("Params", "%s", paramsLine(d.Array, d.Params))
		}
		s.array(d.Array)
	}
	s.after(d.After)
	if d.LostGPUHours > 0 {
		s.Line("Lost", "%.2f GPU-hours of attempts that did not complete, after their last checkpoint", d.LostGPUHours)
	}
	s.idle(d.History)
	s.List("Warnings", texts(d.Warnings, Local))
	s.timeline(d)
	s.attempts(d)
	s.why(d)
	_, err := io.WriteString(w, s.String())
	return err
}

// why prints why a job, or a task of an array, waits.
func (s *details) why(d *wire.Detail) {
	e := d.Explanation
	if e == nil {
		return
	}
	r := cli.Ref{Job: d.ID}
	if e.Task != nil {
		r.Tasks = strconv.FormatInt(*e.Task, 10)
	}
	s.Head(Local(table.Clean(e.Summary)) + "  (more: berth explain " + r.String() + ")")
}

func stateLine(d *wire.Detail) string {
	text := d.State
	if d.Reason != "" && d.Reason != d.State {
		text += " (" + Local(d.Reason) + ")"
	}
	if st := d.Stopping; st != nil {
		text += fmt.Sprintf(", stopping (%s) until %s", st.Reason, table.Clock(st.Deadline, time.Now()))
	}
	if text += silentSince(&d.Job, time.Now()); len(d.SilentNodes) > 0 {
		text += "; if the host is gone for good: berth node confirm-dead " + d.SilentNodes[0].NodeID
	}
	return text
}

// silentSince returns which hosts of a job are silent, to follow what it does; "" if none is.
func silentSince(j *wire.Job, now time.Time) (text string) {
	for _, n := range j.SilentNodes {
		text += ", " + n.NodeID + " silent since " + table.Clock(n.Since, now)
	}
	return text
}

func wants(j *wire.Job) string {
	text := gpusOf(j)
	if j.MinGPUs > 0 {
		text += fmt.Sprintf(" (at least %d)", j.MinGPUs)
	}
	if j.GPUType != "" {
		text += " of model " + strings.ReplaceAll(j.GPUType, "|", " or ")
	}
	if j.GPUMemoryGB > 0 {
		text += fmt.Sprintf(", %g GB each", j.GPUMemoryGB)
	}
	if j.GPUs == 0 {
		text = fmt.Sprintf("none; %s and %g GB of memory", cli.Plural(j.CPUs, "core"), j.HostMemory)
		if j.Nodes > 1 {
			text += " on each"
		}
	}
	if j.Nodes > 0 {
		text += ", on " + cli.Plural(j.Nodes, "node")
	}
	return text
}

// idle prints for how long the GPUs of ended attempts were idle.
func (s *details) idle(attempts []wire.Attempt) {
	var measured, idle float64
	for i := range attempts {
		measured += attempts[i].MeasuredGPUHours
		idle += attempts[i].IdleGPUHours
	}
	if idle >= 0.005 {
		s.Line("Idle", "%.2f of %.2f measured GPU-hours of ended attempts", idle, measured)
	}
}

func (s *details) timeline(d *wire.Detail) {
	if len(d.Timeline) == 0 {
		return
	}
	s.Head("Timeline")
	t := table.New("TIME", "EVENT", ">ATTEMPT", "ACTOR", "REASON")
	now := time.Now()
	for _, e := range d.Timeline {
		attempt := ""
		if e.Attempt > 0 {
			attempt = strconv.FormatInt(e.Attempt, 10)
		}
		t.Add(table.Clock(e.At, now), e.Event, attempt, e.Actor, becauseOf(e.Reason, e.Detail))
	}
	fmt.Fprint(s, t)
}

// becauseOf joins a reason's code and its detail.
func becauseOf(reason, detail string) string {
	if reason == "" || detail == "" {
		return reason + detail
	}
	return reason + ": " + detail
}

func (s *details) attempts(d *wire.Detail) {
	if len(d.History) == 0 {
		return
	}
	s.Head("Attempts")
	t := table.New(">ATTEMPT", ">RANK", "NODE", "GPUS", "PHASE", ">RAN", "EXIT")
	for _, a := range d.History {
		for _, r := range a.Ranks {
			t.Add(strconv.FormatInt(a.Number, 10), strconv.FormatInt(r.Rank, 10), r.NodeID, indexes(r.GPUs), r.Phase,
				table.Seconds(r.RunSeconds), exitText(r))
		}
	}
	fmt.Fprint(s, t)
}

func indexes(gpus []wire.GPURef) string {
	list := make([]int64, len(gpus))
	for i, g := range gpus {
		list[i] = g.Index
	}
	return table.Ranges(list)
}

func exitText(r wire.Rank) string {
	text := ""
	switch {
	case r.Signal > 0:
		text = "signal " + strconv.FormatInt(r.Signal, 10)
	case r.ExitCode != nil:
		text = strconv.FormatInt(*r.ExitCode, 10)
	}
	if r.OOM {
		text += ", out of memory"
	}
	if r.Stopped != "" {
		text += ", stopped (" + r.Stopped + ")"
	}
	if r.Disk != "" {
		text += ", " + r.Disk
	}
	return text
}

func showExplanation(w io.Writer, d *wire.Detail) error {
	s := &details{}
	e := d.Explanation
	if e == nil {
		s.Line("Job", "%s does not wait: it is %s", d.ID, stateLine(d))
		s.List("Warnings", texts(d.Warnings, Local))
		_, err := io.WriteString(w, s.String())
		return err
	}
	s.Line("Job", "%s", strings.TrimSpace(d.ID+" "+jobName(&d.Job)))
	if e.Task != nil {
		s.Line("Task", "%d", *e.Task)
	}
	s.Line("GPUs", "%s", wants(&d.Job))
	s.Line("Where", "%s", whereOf(&d.Job))
	s.Line("Why", "%s", Local(e.Summary))
	if e.PlannedStart != nil {
		s.Line("Start", "expected %s", rangeText(e.PlannedStart, e.At))
	}
	if e.Late {
		s.Line("Start", "%s, by the forecast: the job fails then", notBeforeDeadline)
	}
	s.Line("Order", "%s", orderLine(e))
	s.causes(e)
	_, err := io.WriteString(w, s.String())
	return err
}

// causes prints what blocks a job or a service, what goes before it, and what would help.
func (s *details) causes(e *wire.Explanation) {
	s.List("Blocked by", texts(e.Blockers, func(b wire.Blocker) string { return Local(b.Message) }))
	if len(e.Ahead) > 0 {
		s.Head("Ahead of it (" + cli.Plural(int64(e.AheadN), "task") + ")")
		t := table.New("ID", "NAME", "USER", "PRI", ">TASKS", ">GPUS EACH")
		for _, a := range e.Ahead {
			class := className(a.Priority)
			if a.Service != "" {
				class = serviceClass(a.Priority)
			}
			t.Add(cmp.Or(a.JobID, a.Service), a.Name, a.User, class, strconv.FormatInt(a.Tasks, 10), strconv.FormatInt(a.GPUs, 10))
		}
		fmt.Fprint(s, t)
	}
	s.List("To let it start", texts(e.Unblock, func(u wire.Unblock) string { return Local(u.Message) }))
}

func orderLine(e *wire.Explanation) string {
	parts := []string{"policy " + e.Policy}
	for _, f := range e.Factors {
		parts = append(parts, f.Name+" "+f.Value)
	}
	position := fmt.Sprintf("position %d", e.Position)
	if !e.Exact {
		position = "about " + position
	}
	return strings.Join(append(parts, position), ", ")
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

// oneJob describes the only argument of a command about a job.
const oneJob = "the id of one job"

// lossOf returns what follows when the node of a job is lost; empty: the job has ended.
func lossOf(d *wire.Detail) string {
	switch {
	case cmdline.Terminal(d.State):
		return ""
	case d.OnLost == model.OnLostHold.String():
		return d.OnLost + ": waits for an operator (berth node confirm-dead)"
	}
	return d.OnLost
}
