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
	"github.com/berth-gpu/berth/cmd/internal/terminal"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// tasksShown is the most tasks of an array that show lists.
const tasksShown = 20

// shown is what show prints: a job or a task, and the first tasks of an array if no task is named.
type shown struct {
	*wire.Detail
	tasks *wire.Tasks
}

func askShown(name string) func(context.Context, *client.Client) (*shown, error) {
	return func(ctx context.Context, api *client.Client) (*shown, error) {
		r, err := cli.FindOne(ctx, api, name)
		if err != nil {
			return nil, err
		}
		d, err := askRef(ctx, api, r)
		if err != nil || d.Array == nil || d.Archived || r.Tasks != "" {
			return &shown{Detail: d}, err
		}
		list, err := api.Lists().Tasks(ctx, r.Job, client.TasksQuery{Limit: tasksShown})
		return &shown{d, list}, err
	}
}

func showShown(w io.Writer, v *shown) error {
	if v.tasks == nil {
		return showJob(w, v.Detail)
	}
	d, s := v.Detail, &details{}
	s.Line("Job", "%s %s", d.ID, jobName(&d.Job))
	s.Line("State", "%s", stateLine(d))
	s.Line("User", "%s", d.User)
	s.Line("Project", "%s", d.Project)
	s.Line("Priority", "%s", className(d.Priority))
	s.Line("GPUs", "%s", wants(&d.Job))
	s.Line("Command", "%s", table.Short(d.Command, 200))
	s.dates(&d.Job)
	s.array(d.Array)
	s.after(d.After)
	s.Head("Tasks")
	fmt.Fprint(s, taskTable(d.Array, v.tasks.Tasks).Fit(terminal.Columns(w)))
	if more := d.Array.Size - int64(len(v.tasks.Tasks)); more > 0 && len(v.tasks.Tasks) > 0 {
		fmt.Fprintf(s, "and %d more: berth tasks %s; one of them: berth show %s.%d\n", more, d.ID, d.ID, v.tasks.Tasks[0].Index)
	}
	s.why(d)
	_, err := io.WriteString(w, s.String())
	return err
}

func (s *details) array(a *wire.Array) {
	s.Line("Array", "%d tasks (%s): %d queued, %d running, %d completed, %d failed, %d canceled",
		a.Size, table.Clean(a.Indices), a.Queued, a.Running, a.Completed, a.Failed, a.Canceled)
	if a.Limit > 0 {
		s.Line("At once", "at most %s", cli.Plural(a.Limit, "task"))
	}
	s.Line("Sweep", "%s", table.Short(strings.Join(a.Params, " "), 200))
}

// dates prints the earliest start and the deadline of a job.
func (s *details) dates(j *wire.Job) {
	if !j.BeginAt.IsZero() {
		s.Line("Begin", "%s", table.Clock(j.BeginAt, time.Now()))
	}
	if !j.Deadline.IsZero() {
		s.Line("Deadline", "%s", table.Clock(j.Deadline, time.Now()))
	}
}

// after prints the jobs that a job waits for or has waited for.
func (s *details) after(list []wire.Dependency) {
	for _, d := range list {
		text := d.Kind + " of job " + d.JobID
		if d.Delay > 0 {
			text += fmt.Sprintf(" and %.0f minutes", d.Delay/60)
		}
		if d.JobState != "" {
			text += ", which is " + d.JobState
		}
		if d.Any {
			text += ", or another"
		}
		s.Line("After", "%s (%s)", text, d.State)
	}
}

// paramNames returns the names of a sweep's parameters in their order.
func paramNames(a *wire.Array) (names []string) {
	for _, line := range a.Params {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	return names
}

// paramsLine formats parameters as "lr=1e-3 seed=4".
func paramsLine(a *wire.Array, values map[string]string) string {
	var out []string
	for _, name := range paramNames(a) {
		out = append(out, name+"="+values[name])
	}
	return strings.Join(out, " ")
}

func newTasks() *cobra.Command {
	c := &cli.Connection{}
	var state string
	cmd := &cobra.Command{
		Use:   "tasks JOB",
		Short: "List the tasks of an array, with the values that a sweep gives them",
		Args:  cli.One(oneJob),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Reading(c, func(ctx context.Context, api *client.Client) (*taskList, error) {
				return askTasks(ctx, api, args[0], state)
			}, showTasks)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().StringVarP(&state, "state", "s", "", "only tasks in this `state`; several are separated by commas")
	return cmd
}

// taskList is the answer about the tasks of an array.
type taskList struct {
	*wire.Tasks
	array *wire.Array
}

func askTasks(ctx context.Context, api *client.Client, name, state string) (*taskList, error) {
	id, err := cli.FindJob(ctx, api, name, cli.Me(ctx, api))
	if err != nil {
		return nil, err
	}
	d, err := askRef(ctx, api, cli.Ref{Job: id})
	if err != nil {
		return nil, err
	}
	list, err := api.Lists().Tasks(ctx, id, client.TasksQuery{State: state})
	if d.Array == nil {
		d.Array = &wire.Array{}
	}
	return &taskList{list, d.Array}, err
}

func showTasks(w io.Writer, l *taskList) error {
	_, err := taskTable(l.array, l.Tasks.Tasks).WriteTo(w)
	return err
}

// taskTable returns a table of tasks with a column for each parameter.
func taskTable(a *wire.Array, tasks []wire.Task) *table.Table {
	names := paramNames(a)
	t := table.New(append(append([]string{">TASK"}, names...), "STATE", ">ATTEMPTS", ">ELAPSED", "NODELIST(REASON)")...)
	for i := range tasks {
		k := &tasks[i]
		cells := []string{strconv.FormatInt(k.Index, 10)}
		for _, name := range names {
			cells = append(cells, k.Params[name])
		}
		elapsed := ""
		if !k.StartedAt.IsZero() {
			elapsed = table.Seconds(k.RunSeconds)
		}
		where := placeOrReason(&wire.Job{AllocatedGPUs: k.AllocatedGPUs, Reason: k.Reason})
		t.Add(append(cells, k.State, strconv.FormatInt(k.Attempts, 10), elapsed, where)...)
	}
	return t
}
