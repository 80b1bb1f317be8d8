package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

// summedUpTo is how many tasks of an array are added up for a list.
const summedUpTo = 1000

// View converts a state to the API's forms.
type View struct {
	State *state.State
	Now   model.Time

	Sees func(*model.Job) bool // whether the command of a job is shown; nil: of all jobs
}

// Job converts a job to an entry of a list.
func (v *View) Job(j *model.Job) wire.Job {
	spec := &j.Spec
	out := wire.Job{
		ID: j.ID.String(), RunID: spec.RunID, Name: spec.Name, User: spec.User, Project: spec.Project, Command: commandLine(spec),
		Priority: int64(spec.Priority), GPUs: int64(spec.GPUs), Nodes: int64(spec.Nodes), GPUType: spec.GPUModel,
		CPUs: int64(spec.CPUs), HostMemory: state.HostGigabytes(spec.MemoryMB),
		GPUMemoryGB: float64(spec.GPUMemoryMB) / 1000, SubmittedAt: j.Submitted.Time(), EndedAt: j.Ended.Time(),
		PurgedAt: j.Purged.Time(), BeginAt: spec.Begin.Time(), Deadline: spec.Deadline.Time(),
		TimeLimitSeconds: spec.TimeLimit.Seconds(), EstimateSeconds: spec.Estimate.Seconds(), IdleStopSeconds: spec.IdleStop.Seconds(),
		MaxRetries: int64(spec.MaxRetries), Yields: spec.Preemptible, Constraint: spec.Constraint, Nodelist: listed(spec.Nodelist),
		Exclude:   listed(spec.Exclude),
		Placement: spec.Placement, MinGPUs: int64(spec.MinGPUs),
	}
	if j.Place.Moved() && j.Open > 0 {
		out.Moved = j.Place.Before.String()
	}
	if first, _ := v.State.FirstTask(j.ID); first.Eligible() > j.Submitted {
		out.Eligible = first.Eligible().Time()
	}
	out.State, out.Stopping = v.Stand(j)
	if j.Array() {
		v.addArray(j, &out)
		v.addSums(j, &out, summedUpTo)
	} else {
		first, _ := v.State.FirstTask(j.ID)
		out.StartedAt = first.Started.Time()
		v.addTask(&first, &out)
		out.WaitSeconds = Seconds(v.waited(j, &first))
	}
	if spec.Slurm != "" {
		out.Slurm, _ = request.Decode(spec.Slurm) // nil: a newer version wrote what this one cannot read
	}
	if why := v.Awaits(j); why != "" {
		out.Reason = why
	}
	v.cover(j, &out)
	return out
}

// waited returns for how long a task of a job waited until it first started or ended, or has waited so far, without the time
// in which it has run or waited for other jobs.
func (v *View) waited(j *model.Job, t *model.Task) time.Duration {
	switch {
	case t.State == model.TaskQueued && j.Hinders(t):
		return 0
	case t.State == model.TaskQueued && t.Started > 0: // it waits again
		return t.NotRunAt(v.Now)
	case t.Started > 0:
		return t.Waited
	case t.Ended > 0:
		return t.NotRunAt(t.Ended)
	}
	return t.NotRunAt(v.Now)
}

// addTask adds the values of a job of one task, or of one task of an array.
func (v *View) addTask(t *model.Task, out *wire.Job) {
	out.Held, out.Reason = t.Held, v.reason(t)
	out.Attempts, out.Retries = int64(t.Attempts), int64(t.Retries)
	out.RunSeconds, out.LostGPUHours = Seconds(v.ran(t)), Hours(t.Wasted.Seconds())
	if t.State.Terminal() && t.Attempts > 0 && t.Reason == model.ReasonExit {
		code := int64(t.ExitCode)
		out.ExitCode, out.Signal = &code, int64(t.Signal)
	}
	if job, _ := v.State.Jobs.Get(t.Key.Job); job.Spec.MinGPUs > 0 {
		a, _ := v.State.Attempts.Get(t.Newest())
		out.Granted = int64(a.GPUs)
	}
	out.Last = v.last(t)
	if t.State.Live() {
		if a, _ := v.State.Attempts.Get(t.Newest()); a.Started > t.Started {
			out.RunsSince = a.Started.Time()
		}
		out.SilentNodes = v.silent(t)
		for _, r := range v.State.RanksOf(t.Newest()) {
			out.AllocatedGPUs = append(out.AllocatedGPUs, v.gpus(&r)...)
			if r.Holds() != (model.Room{}) {
				out.OnNodes = append(out.OnNodes, string(r.Node))
			}
		}
	}
}

// silent returns the nodes of a live task that are out of contact, as far as ranks of it may run there.
func (v *View) silent(t *model.Task) (out []wire.SilentNode) {
	a, _ := v.State.Attempts.Get(t.Newest())
	for _, r := range v.State.RanksOf(t.Newest()) {
		if n, _ := v.State.Nodes.Get(r.Node); n.Status == model.NodeUp || r.Phase.Ended() {
			continue
		}
		lease, _ := v.State.Leases.Get(r.Node)
		out = append(out, wire.SilentNode{NodeID: string(r.Node), Since: lease.At.Time(), Holds: a.Frozen.OnLost == model.OnLostHold})
	}
	return out
}

// last returns the newest attempt of a task that has ended; nil: it was never placed, or has not ended.
func (v *View) last(t *model.Task) *wire.Last {
	if !t.State.Terminal() || t.Attempts == 0 {
		return nil
	}
	a, _ := v.State.Attempts.Get(t.Newest())
	out := &wire.Last{StartedAt: a.Started.Time(), StoppedBy: a.StopBy, Nodes: []string{}}
	for _, r := range v.State.RanksOf(t.Newest()) {
		out.Nodes = append(out.Nodes, string(r.Node))
		out.OutOfMemory = out.OutOfMemory || r.Exit.OOM
	}
	return out
}

// addArray adds how many tasks of an array are in which state.
func (v *View) addArray(j *model.Job, out *wire.Job) {
	out.Array = &wire.Array{
		Size: int64(j.Tasks), Limit: int64(j.Throttle), Queued: int64(j.Open - j.Live), Running: int64(j.Live),
		Failed: int64(j.Failed), Canceled: int64(j.Canceled), Completed: int64(j.Tasks - j.Open - j.Failed - j.Canceled),
		Indices: j.Spec.Array,
	}
	if j.Spec.Sweep != "" {
		out.Array.Params = strings.Split(j.Spec.Sweep, "\n")
	}
}

// addSums adds up the first tasks of an array, up to a limit.
func (v *View) addSums(j *model.Job, out *wire.Job, most int) {
	var ran time.Duration
	var started model.Time   // the first
	var waited time.Duration // until then
	held, seen := 0, 0
	out.Attempts, out.Retries = 0, 0
	for k, t := range v.State.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID || seen == most {
			break
		}
		seen++
		if seen == 1 || t.Started > 0 && (started == 0 || t.Started < started) {
			started, waited = t.Started, v.waited(j, &t)
		}
		ran += v.ran(&t)
		out.Attempts += int64(t.Attempts)
		out.Retries += int64(t.Retries)
		if t.Held {
			held++
		}
	}
	out.RunSeconds, out.Held = Seconds(ran), held > 0 && held == int(j.Open)
	out.StartedAt = started.Time()
	out.WaitSeconds = Seconds(waited)
}

// Stand returns the state of a job, and whether it is being stopped. For an array it depends on all
// tasks.
func (v *View) Stand(j *model.Job) (string, *wire.Stopping) {
	if j.Array() {
		return v.State.Stand(j).String(), nil
	}
	t, _ := v.State.FirstTask(j.ID)
	return t.State.String(), v.stopping(&t)
}

func (v *View) stopping(t *model.Task) *wire.Stopping {
	if !t.State.Live() {
		return nil
	}
	a, _ := v.State.Attempts.Get(t.Newest())
	if a.Stop == model.ReasonNone {
		return nil
	}
	f := &a.Frozen
	return &wire.Stopping{
		Reason: a.Stop.String(), By: a.StopBy, Deadline: a.StopAt.Add(f.CheckpointGrace + f.Grace + f.Kill).Time(),
	}
}

// ran returns the run time of all attempts, including the present one.
func (v *View) ran(t *model.Task) time.Duration {
	ran := t.Executed
	if t.State == model.TaskRunning {
		if a, _ := v.State.Attempts.Get(t.Newest()); a.Started > 0 {
			ran += max(0, v.Now.Sub(a.Started))
		}
	}
	return ran
}

// reason returns in a few words why a task waits, or how it ended.
func (v *View) reason(t *model.Task) string {
	switch {
	case t.State == model.TaskQueued && t.Held:
		return "held"
	case t.State == model.TaskQueued && t.NotBefore > v.Now && t.Attempts == 0:
		return "begins at " + t.NotBefore.Time().Format(time.RFC3339)
	case t.State == model.TaskQueued && t.NotBefore > v.Now:
		return "retried at " + t.NotBefore.Time().Format(time.RFC3339)
	case t.State == model.TaskQueued && t.Attempts == 0, t.State == model.TaskCompleted, t.State.Live():
		return ""
	case t.Reason == model.ReasonExit && t.Signal > 0:
		return "killed by signal " + strconv.Itoa(int(t.Signal))
	case t.Reason == model.ReasonExit:
		return "exit code " + strconv.Itoa(int(t.ExitCode))
	case t.Reason == model.ReasonNone && t.State == model.TaskCanceled:
		return model.ReasonCancel.String()
	case t.Reason == model.ReasonNone:
		return ""
	}
	return t.Reason.String()
}

// gpus returns the GPUs that a rank has or had.
func (v *View) gpus(r *model.Rank) []wire.GPURef {
	out := make([]wire.GPURef, 0, r.GPUs)
	for k, g := range v.State.RankGPUs.From(model.RankGPUKey{Rank: r.Key}) {
		if k.Rank != r.Key {
			break
		}
		out = append(out, wire.GPURef{NodeID: string(r.Node), Index: int64(g.Index), UUID: string(k.GPU)})
	}
	slices.SortFunc(out, func(a, b wire.GPURef) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// commandLine returns what runs, as a user would type it.
func commandLine(s *model.Spec) string {
	if !s.Argv {
		return s.Command
	}
	words := strings.Split(s.Command, "\x00")
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`|&;<>()*?[]#~!{}") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Hours converts GPU-seconds to GPU-hours, rounded to the precision of seconds.
func Hours[T uint64 | float64](seconds T) float64 {
	return math.Round(float64(seconds)/3600*10_000) / 10_000
}

// Seconds converts a duration, rounded to milliseconds and never negative.
func Seconds(d time.Duration) float64 { return math.Round(max(0, d).Seconds()*1000) / 1000 }

// Variables returns the variables of an environment, "NAME=value" texts joined by NUL; nil: there is none.
func Variables(environment string) map[string]string {
	if environment == "" {
		return nil
	}
	values := map[string]string{}
	for line := range strings.SplitSeq(environment, "\x00") {
		name, value, _ := strings.Cut(line, "=")
		values[name] = value
	}
	return values
}
