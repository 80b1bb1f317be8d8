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
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const planLong = `Show when the jobs that run are expected to end, and those that wait to start, and where.

The times are estimates from past run times and from the estimates of users, as if no
other jobs were submitted and the order stayed unchanged. A range begins at the time if
all jobs took as little as the fastest quarter of similar jobs, and ends at the time if
they took as long as their time limits allow.

In the timeline = is where a job is expected to run, - where it may already run, and .
where it waits, or is suspended for others.`

func newPlan() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show when and where jobs are expected to run",
		Long:  planLong,
		Args:  cli.NoArgs,
		RunE: cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Plan, error) {
			return api.Lists().Plan(ctx)
		}, showPlan),
	}
	c.BindReading(cmd)
	return cmd
}

// barWidth is the width of the timeline, in characters.
const barWidth = 32

func showPlan(w io.Writer, p *wire.Plan) error {
	if len(p.Running)+len(p.Waiting) == 0 {
		_, err := fmt.Fprintln(w, "No jobs wait or run.")
		return err
	}
	line := timeline{from: p.At}
	for _, e := range append(p.Running, p.Waiting...) {
		line.stretch(e.End)
	}
	t := table.New("ID", "NAME", "USER", ">GPUS", ">POS", "STARTS", "ENDS", line.scale(), "NODES")
	for _, list := range [][]wire.PlanEntry{p.Running, p.Waiting} {
		for i := range list {
			e := &list[i]
			t.Add(planID(e), e.Name, e.User, strconv.FormatInt(e.GPUs, 10), positionOf(e),
				starts(e, p.At), ends(e, p.At), line.bar(e), strings.Join(e.Nodes, ","))
		}
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if p.Beyond > 0 {
		_, err := fmt.Fprintf(w, "\n%d more wait behind these.\n", p.Beyond)
		return err
	}
	return nil
}

func planID(e *wire.PlanEntry) string {
	if e.Service != "" {
		return e.Service
	}
	if e.Task != nil {
		return fmt.Sprintf("%s.%d", e.JobID, *e.Task)
	}
	return e.JobID
}

func positionOf(e *wire.PlanEntry) string {
	if e.Position == 0 {
		return ""
	}
	return strconv.Itoa(e.Position)
}

func starts(e *wire.PlanEntry, now time.Time) string {
	switch {
	case !e.StartedAt.IsZero():
		return "runs" + suspended(e, now)
	case e.Late:
		return notBeforeDeadline
	case e.Start == nil:
		return condition(e.After)
	}
	return rangeText(e.Start, now) + suspended(e, now)
}

// suspended returns ", suspended in 40 min"; empty: no suspension is expected.
func suspended(e *wire.PlanEntry, now time.Time) string {
	if len(e.Pauses) == 0 {
		return ""
	}
	return ", suspended " + in(e.Pauses[0].From, now)
}

// condition returns the event without which a start cannot be predicted.
func condition(blocker string) string {
	switch blocker {
	case "orchestrator_stopped":
		return "once the orchestrator is started"
	case "standstill":
		return "once the scheduler is resumed"
	case "held":
		return "once it is released"
	case "dependency":
		return "after its dependencies"
	case "throttle":
		return "after others of its array"
	case "limit":
		return "once a limit allows it"
	}
	return "not foreseen"
}

func ends(e *wire.PlanEntry, now time.Time) string {
	if e.End == nil {
		return ""
	}
	return rangeText(e.End, now)
}

// atOnce is the time before a start up to which it is shown as "at once".
const atOnce = 2 * time.Second

// in formats a time from now: "in 40 min".
func in(at, now time.Time) string { return "in " + table.About(max(at.Sub(now), 0)) }

// rangeText formats a range: "in 40 min (20 min to 2.0 h)", "at once".
func rangeText(r *wire.Range, now time.Time) string {
	least, most := table.About(max(r.Soonest.Sub(now), 0)), table.About(max(r.Latest.Sub(now), 0))
	switch {
	case r.Latest.Sub(now) < atOnce:
		return "at once"
	case least == most:
		return in(r.Expected, now)
	}
	return fmt.Sprintf("%s (%s to %s)", in(r.Expected, now), least, most)
}

// notBeforeDeadline replaces the start of a job that would start after its deadline.
const notBeforeDeadline = "not before its deadline"

// placeAndStart formats "position 5, starts in about 40 min".
func placeAndStart(answer *wire.Submitted) string {
	where := fmt.Sprintf("position %d", answer.QueuePosition)
	if !answer.PositionExact {
		where = "about " + where
	}
	r, now := answer.PlannedStart, answer.Job.SubmittedAt
	switch {
	case answer.Late:
		where += ", " + notBeforeDeadline
	case r == nil:
		return where
	case r.Latest.Sub(now) < atOnce:
		return "starts at once"
	}
	if r != nil {
		where += ", starts " + soon(r.Expected.Sub(now))
	}
	if p := answer.IfPreemptible; p != nil {
		where += "; with --preemptible " + soon(p.Expected.Sub(now))
	}
	return where
}

func soon(d time.Duration) string {
	if d < atOnce {
		return "at once"
	}
	return "in about " + table.About(d)
}

// timeline draws when tasks run, from a time on.
type timeline struct {
	from time.Time
	span time.Duration
}

// stretch makes the timeline long enough for an expected end.
func (l *timeline) stretch(end *wire.Range) {
	if end != nil {
		l.span = max(l.span, end.Expected.Sub(l.from))
	}
}

// scale returns the heading: "now" at the left, the length at the right; no length if no end is
// predicted.
func (l *timeline) scale() string {
	if l.span <= 0 {
		return "NOW"
	}
	right := "+" + table.About(l.span)
	return "NOW" + strings.Repeat(" ", max(barWidth-len("NOW")-len(right), 1)) + right
}

// bar returns a task's line: = while it is expected to run, - between its earliest and its expected
// start, . while it waits or is suspended.
func (l *timeline) bar(e *wire.PlanEntry) string {
	at := func(t time.Time) int {
		if l.span <= 0 {
			return 0
		}
		return int(min(max(t.Sub(l.from), 0), l.span) * barWidth / l.span)
	}
	if e.End == nil {
		return ""
	}
	from, maybe := 0, 0
	if e.Start != nil {
		from, maybe = at(e.Start.Expected), at(e.Start.Soonest)
	}
	to := max(at(e.End.Expected), from+1)
	line := []byte(strings.Repeat(".", maybe) + strings.Repeat("-", from-maybe) + strings.Repeat("=", to-from))
	for _, v := range e.Pauses {
		until := to
		if !v.Until.IsZero() {
			until = at(v.Until)
		}
		for i := at(v.From); i < min(until, to); i++ {
			line[i] = '.'
		}
	}
	return string(line)
}
