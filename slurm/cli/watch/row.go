package watch

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/fleet"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/filename"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/request"
)

// normalQOS is the QOS of jobs that name none.
const normalQOS = "normal"

// row is a job, a task of an array, or several waiting tasks of one.
type row struct {
	job    wire.Job // of a task: with what is the task's own
	number uint64   // of the job
	tasks  []int    // of an array; several: they all wait
	detail *wire.Detail
	now    time.Time
	users  accounts
}

// rowOf returns the row of a job that is no array.
func (p *program) rowOf(job *wire.Job) *row {
	number, _ := strconv.ParseUint(job.ID, 10, 64)
	return &row{job: *job, number: number, now: p.now, users: p.users}
}

// taskOf returns the row of a task of an array.
func (p *program) taskOf(job *wire.Job, t *wire.Task) *row {
	r := p.rowOf(job)
	r.tasks = []int{int(t.Index)}
	j := &r.job
	j.State, j.Held, j.Reason, j.Stopping = t.State, t.Held, t.Reason, t.Stopping
	j.Attempts, j.StartedAt, j.RunsSince, j.EndedAt, j.RunSeconds = t.Attempts, t.StartedAt, t.RunsSince, t.EndedAt, t.RunSeconds
	j.ExitCode, j.Signal, j.Granted, j.AllocatedGPUs, j.OnNodes, j.Last = t.ExitCode, t.Signal, t.Granted, t.AllocatedGPUs, t.OnNodes, t.Last
	return r
}

// several reports whether the row stands for more than one task.
func (r *row) several() bool { return len(r.tasks) > 1 }

// indices returns the numbers of the waiting tasks of an array as Slurm shows them, such as 3-7%2.
func (r *row) indices() string {
	text := form.Array{Indices: r.tasks}.Berth()
	if r.job.Array != nil && r.job.Array.Limit > 0 && r.job.State == wire.StateQueued {
		text += "%" + strconv.FormatInt(r.job.Array.Limit, 10)
	}
	return text
}

// id returns the job's id as Slurm shows it: 12, 12_3 or 12_[3-7%2].
func (r *row) id() string {
	text := strconv.FormatUint(r.number, 10)
	switch {
	case r.several():
		return text + "_[" + r.indices() + "]"
	case len(r.tasks) == 1:
		return text + "_" + strconv.Itoa(r.tasks[0])
	}
	return text
}

// raw returns the number by which programs know the job or the task.
func (r *row) raw() string {
	if len(r.tasks) == 1 {
		return strconv.FormatUint(form.TaskNumber(r.number, r.tasks[0]), 10)
	}
	return strconv.FormatUint(r.number, 10)
}

// slurm returns what the job asked for in Slurm's language; an empty request if the job is in another.
func (r *row) slurm() *request.Request {
	if r.job.Slurm == nil {
		return &request.Request{}
	}
	return r.job.Slurm
}

func (r *row) state() format.State { return words.State(&r.job) }

// why returns the explanation of a job that waits; nil: it was not asked for.
func (r *row) why() *wire.Explanation {
	if r.detail == nil {
		return nil
	}
	return r.detail.Explanation
}

func (r *row) reason() string { return words.Reason(&r.job, r.why()) }

// name returns the name of the job; of one without a name its run's id, else its program.
func (r *row) name() string {
	if name := cmp.Or(r.job.Name, r.job.RunID); name != "" {
		return name
	}
	if word, _, _ := strings.Cut(strings.TrimSpace(r.job.Command), " "); word != "" {
		return path.Base(word)
	}
	return "berth"
}

func (r *row) partition() string { return cmp.Or(r.slurm().Partition, fleet.DefaultPartition) }
func (r *row) qos() string       { return cmp.Or(r.slurm().QOS, normalQOS) }

func (r *row) account() *user.User { return r.users.get(r.job.User) }

// start returns when the job last started; zero: it has not, or waits again.
func (r *row) start() time.Time {
	switch {
	case r.job.State == wire.StateQueued:
		return time.Time{}
	case r.job.Last != nil:
		return r.job.Last.StartedAt
	case !r.job.RunsSince.IsZero():
		return r.job.RunsSince
	}
	return r.job.StartedAt
}

// elapsed returns for how long the job has run since its last start.
func (r *row) elapsed() time.Duration {
	start := r.start()
	switch {
	case start.IsZero():
		return 0
	case !r.job.EndedAt.IsZero():
		return max(r.job.EndedAt.Sub(start), 0)
	case r.job.Attempts <= 1:
		return seconds(r.job.RunSeconds)
	}
	return max(r.now.Sub(start), 0)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// limit returns the time limit.
func (r *row) limit() time.Duration {
	if r.job.TimeLimitSeconds <= 0 {
		return form.Unlimited
	}
	return seconds(r.job.TimeLimitSeconds)
}

// left returns the time to the limit.
func (r *row) left() time.Duration {
	if r.limit() == form.Unlimited {
		return form.Unlimited
	}
	return max(r.limit()-r.elapsed(), 0)
}

// expected returns when the job is expected to start, or has started; zero: unknown.
func (r *row) expected() time.Time {
	if r.job.State == wire.StateQueued && r.job.PlannedStart != nil {
		return r.job.PlannedStart.Expected
	}
	return r.start()
}

// finish returns when the job ended, or ends at the latest; zero: unknown.
func (r *row) finish() time.Time {
	start := r.expected()
	switch {
	case !r.job.EndedAt.IsZero():
		return r.job.EndedAt
	case r.limit() == form.Unlimited || start.IsZero():
		return time.Time{}
	}
	return start.Add(r.limit())
}

// exit returns the exit code of the job in Slurm's form, CODE:SIGNAL.
func (r *row) exit() string {
	switch r.state() { //nolint:exhaustive // the others follow from the exit code
	case format.OutOfMemory:
		return "0:125"
	case format.NodeFail:
		return "1:0"
	case format.Failed:
		if r.job.ExitCode == nil {
			return "1:0"
		}
	}
	switch {
	case r.job.Signal > 0:
		return fmt.Sprintf("0:%d", r.job.Signal)
	case r.job.ExitCode != nil:
		return fmt.Sprintf("%d:0", *r.job.ExitCode)
	}
	return "0:0"
}

// ended reports whether the job has ended.
func (r *row) ended() bool { return r.state().Ended() }

// workdir returns the folder that the job starts in; empty: unknown, or its own.
func (r *row) workdir() string {
	if r.detail != nil && r.detail.WorkDir != "" {
		return r.detail.WorkDir
	}
	return r.slurm().SubmitDir
}

// eligible returns from when on the job could start.
func (r *row) eligible() time.Time {
	switch {
	case !r.job.Eligible.IsZero():
		return r.job.Eligible
	case r.job.BeginAt.After(r.job.SubmittedAt):
		return r.job.BeginAt
	case r.job.State == wire.StateQueued && (r.job.Held || r.reason() == "Dependency"):
		return time.Time{}
	}
	return r.job.SubmittedAt
}

// dependency returns what the job waits for, in Slurm's form. Lists of jobs have the dependency that was asked for, not which parts are
// met.
func (r *row) dependency() string {
	var parts []string
	separator := ","
	if r.detail == nil {
		d, err := form.ParseDependency(r.slurm().Asked.Dependency)
		if err != nil || r.job.State != wire.StateQueued || r.reason() != "Dependency" && !r.job.Held {
			return ""
		}
		for _, c := range d.Conditions {
			parts = append(parts, c.String()+"(unfulfilled)")
		}
		if d.Any {
			separator = "?"
		}
		return strings.Join(parts, separator)
	}
	for _, d := range r.detail.After {
		if word := map[string]string{"waiting": "unfulfilled", "never": "failed"}[d.State]; word != "" {
			parts = append(parts, d.Kind+":"+d.JobID+words.Minutes(d.Delay)+"("+word+")")
		}
		if d.Any {
			separator = "?"
		}
	}
	return strings.Join(parts, separator)
}

// canceledBy returns the number of the account of the user that canceled the job; empty: unknown.
func (r *row) canceledBy() string {
	actor := ""
	if r.job.Last != nil {
		actor = r.job.Last.StoppedBy
	}
	if r.detail != nil {
		for _, e := range slices.Backward(r.detail.Timeline) {
			if strings.HasPrefix(e.Event, "cancel") && e.Actor != "" {
				actor = e.Actor
				break
			}
		}
	}
	kind, name, found := strings.Cut(actor, ":")
	if !found || kind != "user" {
		return ""
	}
	if id := r.users.get(name).Uid; id != noID {
		return id
	}
	return ""
}

// moment returns a time in Slurm's form, local and without a zone unless a variable says otherwise; zero is the given word.
func moment(t time.Time, zero string) string {
	if t.IsZero() {
		return zero
	}
	return form.FormatMoment(t.Local(), time.Now(), os.Getenv(form.TimeFormat))
}

// files returns the paths of a job's output and input.
func (r *row) files() (stdout, stderr, stdin string) {
	q := r.slurm()
	v := filename.Values{Job: r.number, ArrayTask: filename.NoTask, Name: r.name(), User: r.job.User, Step: filename.Batch}
	usual := "slurm-%j.out"
	if len(r.tasks) > 0 {
		usual, v.ArrayJob, v.ArrayTask = "slurm-%A_%a.out", r.number, r.tasks[0]
		v.Job = form.TaskNumber(r.number, r.tasks[0])
	}
	if nodes := r.nodes(); len(nodes) > 0 {
		v.Node = nodes[0]
	}
	whole := func(pattern string) string {
		name := filename.Expand(pattern, v)
		if !path.IsAbs(name) {
			name = path.Join(r.workdir(), name)
		}
		return name
	}
	stdout = whole(cmp.Or(q.Stdout, usual))
	if stderr, stdin = stdout, "/dev/null"; q.Stderr != "" {
		stderr = whole(q.Stderr)
	}
	if q.Stdin != "" {
		stdin = whole(q.Stdin)
	}
	return stdout, stderr, stdin
}
