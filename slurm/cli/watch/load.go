package watch

import (
	"errors"
	"slices"
	"strconv"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/form"
)

// pageSize is how many jobs one request returns.
const pageSize = 1000

// live are the states of tasks with GPUs.
const live = "scheduled,allocating,running"

// queue returns all jobs that wait or run, of one user if it is not empty, and so many of those that ended last.
func (p *program) queue(user string, ended int) (jobs []wire.Job, err error) {
	api, err := p.api()
	if err != nil {
		return nil, err
	}
	q := client.QueueQuery{User: user, State: wire.StateQueued, Limit: pageSize}
	for {
		page, err := api.Queue(p.ctx, q)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page.Queued...)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	// Asked for last, so that a job that starts meanwhile is in one of the answers at least.
	rest, err := api.Queue(p.ctx, client.QueueQuery{User: user, State: live})
	if err != nil {
		return nil, err
	}
	started := make(map[string]bool, len(rest.Running))
	for i := range rest.Running {
		started[rest.Running[i].ID] = true
	}
	jobs = slices.DeleteFunc(jobs, func(j wire.Job) bool { return started[j.ID] })
	jobs = append(jobs, rest.Running...)
	if ended > 0 {
		last, err := api.Queue(p.ctx, client.QueueQuery{User: user, State: "completed,failed,canceled", Ended: ended, Limit: 1})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, last.Ended...)
	}
	return jobs, nil
}

// tasksOf returns the tasks of an array in some states; empty: in all.
func (p *program) tasksOf(job *wire.Job, states string) (tasks []wire.Task, err error) {
	api, err := p.api()
	if err != nil {
		return nil, err
	}
	q := client.TasksQuery{State: states}
	for {
		page, err := api.Lists().Tasks(p.ctx, job.ID, q)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, page.Tasks...)
		if q.After = page.Next; q.After == "" {
			return tasks, nil
		}
	}
}

// rows returns the rows of jobs. Waiting tasks of an array are one row if together, and those that are held another one.
// States are those of tasks that count; empty: all.
func (p *program) rows(jobs []wire.Job, together bool, states string) (rows []*row, err error) {
	for i := range jobs {
		job := &jobs[i]
		if job.Array == nil {
			rows = append(rows, p.rowOf(job))
			continue
		}
		list, err := p.arrayRows(job, together, states)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	return rows, nil
}

// arrayRows returns the rows of an array.
func (p *program) arrayRows(job *wire.Job, together bool, states string) (rows []*row, err error) {
	if all, whole := p.untouched(job); whole && together {
		return []*row{all}, nil
	}
	tasks, err := p.tasksOf(job, states)
	if err != nil {
		return nil, err
	}
	if err := p.explainTasks(job, tasks); err != nil {
		return nil, err
	}
	var waiting [2]*row // those that may start, and those that are held
	for i := range tasks {
		t := &tasks[i]
		r := p.taskOf(job, t)
		if t.State != wire.StateQueued || !together {
			rows = append(rows, r)
			continue
		}
		at := 0
		if t.Held {
			at = 1
		}
		if waiting[at] == nil {
			waiting[at] = r
			rows = append(rows, r)
			continue
		}
		waiting[at].tasks = append(waiting[at].tasks, int(t.Index))
	}
	return rows, nil
}

// explainTasks adds why tasks wait to those of an array of which others run: lists say it only of arrays that wait as a whole.
func (p *program) explainTasks(job *wire.Job, tasks []wire.Task) error {
	why := job.Reason
	if job.State != wire.StateQueued {
		why = ""
	}
	at := slices.IndexFunc(tasks, func(t wire.Task) bool { return t.State == wire.StateQueued && !t.Held && t.Reason == "" })
	switch {
	case at < 0:
		return nil
	case why != "":
	case job.Array.Limit > 0 && job.Array.Running >= job.Array.Limit:
		why = "throttle"
	default:
		api, err := p.api()
		if err != nil {
			return err
		}
		d, _, err := api.Job(p.ctx, job.ID, client.JobQuery{})
		if err != nil {
			return err
		}
		if e := d.Explanation; e != nil && len(e.Blockers) > 0 {
			why = e.Blockers[0].Code
		}
	}
	for i := range tasks {
		if t := &tasks[i]; t.State == wire.StateQueued && t.Reason == "" {
			t.Reason = why
		}
	}
	return nil
}

// untouched returns the row of an array of which all tasks wait, and reports whether the job is one: no request is needed.
func (p *program) untouched(job *wire.Job) (*row, bool) {
	if job.Array.Queued != job.Array.Size || job.Array.Size < 2 {
		return nil, false
	}
	a, err := form.ParseArray(job.Array.Indices)
	if job.Array.Indices == "" {
		a, err = form.Array{Indices: make([]int, job.Array.Size)}, nil
		for i := range a.Indices {
			a.Indices[i] = i
		}
	}
	if err != nil || job.Attempts > 0 {
		return nil, false
	}
	r := p.rowOf(job)
	r.tasks = a.Indices
	return r, true
}

// errNoJob is the error of a job or a task that the cluster does not have.
var errNoJob = errors.New("Invalid job id specified") //nolint:staticcheck // Slurm's words

// whole is in place of a task's number for a job as a whole.
const whole = -1

// one returns a job, or a task of it, with all details.
func (p *program) one(ref form.JobRef, task int) (*row, error) {
	api, err := p.api()
	if err != nil {
		return nil, err
	}
	q := client.JobQuery{}
	if task != whole {
		q.Task = strconv.Itoa(task)
	}
	d, _, err := api.Job(p.ctx, strconv.FormatUint(ref.Job, 10), q)
	if err != nil {
		return nil, err
	}
	r := p.rowOf(&d.Job)
	r.detail = d
	if d.Array != nil && task != whole {
		r.tasks = []int{task}
	}
	return r, nil
}

// named returns the jobs and tasks that a reference names, with all details of a job that is no array. Waiting tasks are one row
// if together.
func (p *program) named(ref form.JobRef, together bool) ([]*row, error) {
	if len(ref.Tasks) == 1 {
		r, err := p.one(ref, ref.Tasks[0])
		if err == nil && r.job.Array == nil { // the API has task 0 of every job
			return nil, errNoJob
		}
		return []*row{r}, err
	}
	r, err := p.one(ref, whole)
	switch {
	case err != nil:
		return nil, err
	case r.job.Array == nil && (len(ref.Tasks) > 0 || ref.All):
		return nil, errNoJob
	case r.job.Array == nil:
		return []*row{r}, nil
	}
	rows, err := p.arrayRows(&r.job, together && len(ref.Tasks) == 0, "")
	if err != nil || len(ref.Tasks) == 0 {
		return rows, err
	}
	var picked []*row
	for _, row := range rows {
		if len(row.tasks) == 1 && slices.Contains(ref.Tasks, row.tasks[0]) {
			picked = append(picked, row)
		}
	}
	if len(picked) == 0 {
		return nil, errNoJob
	}
	return picked, nil
}
