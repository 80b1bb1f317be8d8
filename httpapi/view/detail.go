package view

import (
	"math"
	"net/url"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// notifyOf adds the events and the address of a job's own webhook.
func notifyOf(out *wire.Detail, job *model.Job) {
	if job.Spec.WebhookURL != "" {
		out.Notify, out.WebhookURL = job.Spec.Notify.Names(), ShortURL(job.Spec.WebhookURL)
	}
}

// About returns everything about a job: an array as a whole if n is [WholeJob], else one task.
func (v *View) About(j *model.Job, t *model.Task, n int64) *wire.Detail {
	out := &wire.Detail{
		Job: v.Job(j), WorkDir: j.Spec.WorkDir, OnLost: j.Spec.OnLost.String(), Timeline: []wire.Event{}, History: []wire.Attempt{},
	}
	out.After, out.Dependents, out.Similar = v.dependencies(j), v.Dependents(j.ID), v.similar(&j.Spec)
	notifyOf(out, j)
	if whole := j.Array() && n == WholeJob; whole {
		v.addSums(j, &out.Job, model.MaxTasks)
		waits, _ := FirstWaiting(v.State, j.ID)
		v.explain(&waits, out)
	} else {
		v.addDetail(j, t, out)
	}
	if v.hides(j) {
		out.WorkDir, out.WebhookURL, out.Params = "", "", nil
	}
	return out
}

// explain adds why a task waits, if it does.
func (v *View) explain(t *model.Task, out *wire.Detail) {
	e, waits := explain.Task(v.State, v.Now, t.Key)
	if !waits {
		return
	}
	out.Explanation = Explanation(&e)
	out.Position, out.PositionExact = e.Position, e.Exact
	if out.Array != nil {
		out.Explanation.Task = new(int64(t.Key.Task))
	}
}

// addDetail adds the details of a single task.
func (v *View) addDetail(j *model.Job, t *model.Task, out *wire.Detail) {
	out.Task, out.Folded = new(int64(t.Key.Task)), int64(t.Folded)
	if j.Array() {
		out.Params = paramsOf(gridOf(&j.Spec), t.Key.Task)
		out.State, out.Stopping = t.State.String(), v.stopping(t)
		out.StartedAt, out.EndedAt = t.Started.Time(), t.Ended.Time()
		v.addTask(t, &out.Job)
		out.WaitSeconds = Seconds(v.waited(j, t))
	}
	for k, e := range v.State.Events.From(model.EventKey{Job: t.Key.Job, Task: t.Key.Task}) {
		if k.Job != t.Key.Job || k.Task != t.Key.Task {
			break
		}
		out.Timeline = append(out.Timeline, wire.Event{
			At: e.At.Time(), Event: e.What.String(), Actor: e.Actor, Attempt: int64(e.N), Reason: e.Reason.String(), Detail: e.Detail,
		})
	}
	for k, a := range v.State.Attempts.From(t.Key.Attempt(0)) {
		if k.TaskKey() != t.Key {
			break
		}
		out.History = append(out.History, v.attempt(&a))
	}
	v.explain(t, out)
}

// rankRan returns for how long the process of a rank has run.
func rankRan(r *model.Rank, now model.Time) time.Duration {
	if r.Phase == model.RankRunning {
		return max(now.Sub(r.Started), 0)
	}
	return r.Exit.Ran
}

func (v *View) attempt(a *model.Attempt) wire.Attempt {
	out := wire.Attempt{
		Number: int64(a.Key.N), State: a.State.String(), PlacedAt: a.Placed.Time(), StartedAt: a.Started.Time(),
		EndedAt: a.Ended.Time(), End: a.End.String(), Signal: int64(a.Signal), Ranks: []wire.Rank{},
		LostGPUHours: Hours(a.Wasted.Seconds()), MeasuredGPUHours: Hours(a.Watched), IdleGPUHours: Hours(a.Idle),
	}
	if a.End == model.ReasonExit {
		code := int64(a.ExitCode)
		out.ExitCode = &code
	}
	for _, r := range v.State.RanksOf(a.Key) {
		rank := wire.Rank{
			Rank: int64(r.Key.Rank), NodeID: string(r.Node), Phase: r.Phase.String(), StartedAt: r.Started.Time(),
			RunSeconds: Seconds(rankRan(&r, v.Now)), Signal: int64(r.Exit.Signal), OOM: r.Exit.OOM, Stopped: r.Exit.Delivered.String(),
			GPUs: v.gpus(&r), GPUFault: r.Exit.GPUFault, Fenced: r.Exit.Fenced, Disk: r.Exit.DiskText(),
			SavedAt: Seconds(max(r.Saved, r.Exit.Saved)),
		}
		if r.Phase == model.RankExited || r.Late {
			code := int64(r.Exit.Code)
			rank.ExitCode = &code
		}
		out.Ranks = append(out.Ranks, rank)
	}
	return out
}

// Explanation converts the scheduler's explanation to the API's form.
func Explanation(e *explain.Explanation) *wire.Explanation {
	out := &wire.Explanation{
		Summary: e.Summary, Policy: e.Policy, Position: e.Position, Exact: e.Exact, AheadN: e.AheadN, At: e.At.Time(),
		Blockers: []wire.Blocker{}, Ahead: []wire.Ahead{}, Unblock: []wire.Unblock{},
	}
	for _, f := range e.Factors {
		out.Factors = append(out.Factors, wire.Factor{Name: f.Name, Value: f.Value})
	}
	for i := range e.Blockers {
		b := &e.Blockers[i]
		w := wire.Blocker{Code: string(b.Code), Message: b.Message(), Need: b.Need, Have: b.Have}
		if b.Scope.Kind != 0 {
			w.Scope = b.Scope.String()
		}
		if w.Until = b.Until.Time(); b.On > 0 {
			w.JobID, w.State = b.On.String(), b.State.String()
		} else if b.Task.Job > 0 && b.Service == "" {
			w.JobID = b.Task.Job.String()
		}
		if b.Booking.ID > 0 {
			w.Reservation = b.Booking.ID.String()
		}
		out.Blockers = append(out.Blockers, w)
	}
	for _, j := range e.Ahead {
		w := wire.Ahead{
			Service: string(j.Service), User: j.User, Tasks: int64(j.Tasks), GPUs: int64(j.GPUs), Priority: int64(j.Priority), Name: j.Name,
		}
		if j.Job > 0 {
			w.JobID = j.Job.String()
		}
		out.Ahead = append(out.Ahead, w)
	}
	for i := range e.Unblock {
		u := &e.Unblock[i]
		w := wire.Unblock{Message: u.Message()}
		if len(u.Ends) == 1 {
			if w.Service = string(u.Ends[0].Allocation); w.Service == "" {
				w.JobID = u.Ends[0].Task.Job.String()
			}
		}
		out.Unblock = append(out.Unblock, w)
	}
	return out
}

// similar returns the run times of jobs like those of a spec; nil if there were too few.
func (v *View) similar(spec *model.Spec) *wire.Similar {
	past := v.State.Past(spec)
	out := &wire.Similar{Runs: int64(past.Count)}
	for percent, to := range map[uint32]*float64{25: &out.P25Seconds, 50: &out.P50Seconds, 75: &out.P75Seconds} { // order-free: each by itself
		q, known := state.Quantile(&past, percent)
		if !known {
			return nil
		}
		*to = math.Round(q.Seconds())
	}
	return out
}

// ShortURL returns an address without the part after its host, which many services treat as a
// secret.
func ShortURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	short := u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		short += "/..."
	}
	return short
}
