package compat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/places"
	"github.com/berth-gpu/berth/httpapi/seal"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// exports exports the cluster as state files.
type exports struct{ api *core.API }

func (a exports) route(doc huma.API) {
	o := core.Op("snapshot", http.MethodGet, "/snapshot", "The cluster as state files, at one place of its log")
	o.Description = "It contains users' commands and environments, and is for administrators only."
	core.Handle(a.api, doc, o, func(ctx context.Context, _ *struct{}) (*core.Answer[wire.Snapshot], error) {
		s, err := a.api.Fresh(ctx, peer.Linearizable)
		if err != nil {
			return nil, err
		}
		out, err := a.all(ctx, &s)
		if err != nil {
			return nil, err
		}
		return &core.Answer[wire.Snapshot]{Index: s.Index, Body: out}, nil
	})
}

// all returns a state in the forms of the API's other answers, with all that a restore needs. All
// times in it are by the state's clock, and nothing depends on this peer's caches and forecasts, so
// that any peer exports the same for the same state. Data that is not in the state is the answering
// peer's: telemetry of GPUs and the passes of the leader's scheduler.
func (a exports) all(ctx context.Context, s *state.State) (*wire.Snapshot, error) {
	saved := wire.Saved{Format: wire.SnapshotFormat, Index: int64(s.Index), At: s.Settings().Clock.Time()}
	p, cache := view.Page{View: view.View{State: s, Now: s.Settings().Clock}}, places.New()
	if s.Queue.Len()+s.CPUQueue.Len() > 0 {
		p.Starts, _ = view.Starts(cache.Foresee(s, p.Now))
	}
	queued := p.Queued()
	jobs, err := savedJobs(s, a.api.Config.Sealing)
	if err != nil {
		return nil, err
	}
	jobs.Saved = saved
	set, err := savedSettings(s)
	if err != nil {
		return nil, err
	}
	out := &wire.Snapshot{
		ClusterState: wire.ClusterStateFile{ClusterState: *clusterStates(a).state(ctx, s), Saved: saved},
		JobQueue:     wire.JobQueueFile{QueuedJobs: p.Brief(queued), Statistics: view.Statistics(s, cache.Rate(s)), Saved: *jobs},
		Orchestrator: wire.OrchestratorStateFile{
			Orchestrator: *a.api.Orchestrator(ctx, s), Policies: *view.Policies(s),
			Saved: wire.SavedSettings{Saved: saved, Arrangement: *set},
		},
		Allocation: wire.GPUAllocationFile{
			Runs: holding(&p.View, cache), Allocations: p.Waiting(), Saved: wire.SavedServices{Saved: saved, Services: view.SavedServices(&p.View)},
		},
	}
	for _, one := range s.Allocations.All() {
		if one.State == model.AllocationActive {
			out.Allocation.Allocations = append(out.Allocation.Allocations, p.Allocation(&one))
		}
	}
	return out, nil
}

// holding returns the jobs that have GPUs.
func holding(v *view.View, cache *places.Cache) []wire.Run {
	out := []wire.Run{}
	last := model.JobID(0)
	for k := range v.State.Live() {
		if k.Job == last {
			continue
		}
		last = k.Job
		job, _ := v.State.Jobs.Get(k.Job)
		out = append(out, runOf(v, &job, cache))
	}
	return out
}

// saver exports jobs, and each script and environment that they share once.
type saver struct {
	s     *state.State
	ring  *sealing.Ring
	err   error // of the first text that cannot be opened
	out   *wire.SavedQueue
	extra model.JobID // number of the next further piece of a job
}

func savedJobs(s *state.State, ring *sealing.Ring) (*wire.SavedQueue, error) {
	w := &saver{s: s, ring: ring, extra: s.Settings().NextJob, out: &wire.SavedQueue{
		Jobs: []wire.SavedJob{}, Scripts: map[string]string{}, Environments: map[string]map[string]string{},
	}}
	var rest []wire.SavedJob
	for _, job := range s.Jobs.All() {
		if job.Open == 0 {
			w.out.LeftOut.EndedJobs++
			continue
		}
		after, doomed := w.awaits(&job)
		if doomed {
			w.out.LeftOut.DoomedJobs++
			continue
		}
		pieces, err := w.pieces(&job, after)
		if err = errors.Join(err, w.err); err != nil {
			return nil, err
		}
		w.out.Jobs = append(w.out.Jobs, pieces[0])
		rest = append(rest, pieces[1:]...)
	}
	w.out.Jobs = append(w.out.Jobs, rest...)
	for _, one := range s.Allocations.All() {
		if !one.State.Terminal() && one.For != "" {
			w.out.LeftOut.Services++
		}
	}
	w.out.LeftOut.Reservations, w.out.LeftOut.Tokens = int64(s.Bookings.Len()), int64(s.Tokens.Len())
	return w.out, nil
}

// awaits returns what a job still waits for; doomed reports a dependency that cannot be met and was
// not handled yet.
func (w *saver) awaits(job *model.Job) (list []string, doomed bool) {
	var after []dependency.After
	alternatives, lost, met := 0, 0, false
	for _, d := range w.s.DependenciesOf(job.ID) {
		if d.Any {
			alternatives++
		}
		on, found := w.s.Jobs.Get(d.Key.On)
		switch {
		case d.State == dependency.Never && d.Any:
			lost++
		case d.State != dependency.Waits, !found, on.EndIndex > 0 && d.Key.Kind == dependency.AfterBegin:
			continue
		}
		switch state := d.Key.Kind.Judge(&on); {
		case d.State == dependency.Never:
		case state == dependency.Waits, on.EndIndex == 0:
			after = append(after, d.After())
		case state == dependency.Met && d.Any:
			met = true
		case state == dependency.Never && d.Any:
			lost++
		case state == dependency.Never:
			return nil, true
		}
	}
	if met {
		after = slices.DeleteFunc(after, func(a dependency.After) bool { return a.Any })
	}
	return dependency.Texts(after), alternatives > 0 && lost == alternatives
}

// pieces returns the job; or several, if it is an array with so many separate open tasks that their
// numbers do not fit into one.
func (w *saver) pieces(job *model.Job, after []string) ([]wire.SavedJob, error) {
	var open, held model.Indices
	live := false
	for k, t := range w.s.Tasks.From(model.TaskKey{Job: job.ID}) {
		if k.Job != job.ID {
			break
		}
		if t.State.Terminal() {
			continue
		}
		live = live || t.State.Live()
		if open = append(open, k.Task); t.Held {
			held = append(held, k.Task)
		}
	}
	first := wire.SavedJob{
		ID: job.ID.String(), SubmittedAt: job.Submitted.Time(), State: w.s.Stand(job).String(),
		Script: w.script(job.Script), Environment: w.environment(job.Env), Stdin: w.script(job.Stdin), SubmitEnv: w.environment(job.SubmitEnv),
	}
	if live {
		first.State = model.TaskRunning.String()
	}
	request := intake.Request(job)
	request.Dependencies, request.Hold = after, new(len(held) == len(open))
	var out []wire.SavedJob
	for _, part := range portions(open, held) {
		j := first
		if j.Tasks = int64(len(part)); job.Array() {
			j.Open = part.String()
			if !*request.Hold {
				j.Held = among(held, part).String()
			}
		}
		if len(out) > 0 {
			j.ID, w.extra = w.extra.String(), w.extra+1
		}
		if job.Array() && job.Spec.Sweep == "" {
			request.Indices = j.Open
		}
		var err error
		if j.Request, err = json.Marshal(request); err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// portions divides tasks so that their numbers, and those of held ones, can be written as an
// array's.
func portions(open, held model.Indices) []model.Indices {
	if len(open.String()) <= model.MaxIndices && len(among(held, open).String()) <= model.MaxIndices {
		return []model.Indices{open}
	}
	half := len(open) / 2
	return append(portions(open[:half], held), portions(open[half:], held)...)
}

func among(some, of model.Indices) (out model.Indices) {
	for _, n := range some {
		if of.Has(n) {
			out = append(out, n)
		}
	}
	return out
}

func (w *saver) content(hash model.Hash) string {
	text, err := seal.Content(w.ring, w.s, hash)
	if w.err == nil {
		w.err = err
	}
	return text
}

// nameOf returns the name of a text in an export: its SHA-256, which the hash in the state is not if the text is sealed there.
func nameOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (w *saver) script(hash model.Hash) string {
	text := w.content(hash)
	if text == "" {
		return ""
	}
	name := nameOf(text)
	w.out.Scripts[name] = text
	return name
}

func (w *saver) environment(hash model.Hash) string {
	text := w.content(hash)
	values := view.Variables(text)
	if values == nil {
		return ""
	}
	name := nameOf(text)
	w.out.Environments[name] = values
	return name
}

// savedSettings returns the cluster's settings, users and projects.
func savedSettings(s *state.State) (*wire.Arrangement, error) {
	set := s.Settings()
	caps, pools := set.Booking.OrDefault(), view.Pools(s)
	out := &wire.Arrangement{
		Running: &set.Running, Policy: set.Policy, Parameters: view.Policies(s).Config.Parameters,
		Allocation: &wire.SetAllocation{Mode: pools.Mode, Ratio: &pools.Ratio},
		Reservation: &wire.SetReservationLimits{
			Percent: new(int64(caps.Percent)), PerUser: new(int64(caps.PerUser)), UserPercent: new(int64(caps.UserPercent)),
			Ahead: new(wire.Duration(caps.Ahead)), Longest: new(wire.Duration(caps.Longest)),
		},
		Retention: &wire.SavedRetention{Jobs: int64(set.Retention.Jobs), Age: wire.Duration(set.Retention.Age)},
	}
	var err error
	if out.Defaults, err = intake.SavedDefaults(&set.Defaults); err != nil {
		return nil, err
	}
	for _, u := range s.Users.All() {
		known := view.User(s, &u, 0)
		out.Users = append(out.Users, wire.SavedUser{Name: known.Name, Role: known.Role, Projects: known.Projects, Account: known.Account})
	}
	for scope, l := range s.Limits.All() {
		out.Quotas = append(out.Quotas, wire.SavedQuota{Scope: scope.Kind.String(), Name: scope.Name, Limits: unlimit(&l)})
	}
	for scope, w := range s.Weights.All() {
		out.Shares = append(out.Shares, wire.Weight{Scope: scope.Kind.String(), Name: scope.Name, Shares: int64(w.Shares)})
	}
	return out, nil
}

// unlimit converts a limit to the request that would set it: the inverse of [intake.Limits].
func unlimit(l *model.Limit) wire.SetQuota {
	number := func(f model.LimitField) *wire.OrNone[int64] {
		if v := l.Get(f); v != model.Unlimited {
			return &wire.OrNone[int64]{Value: v}
		}
		return nil
	}
	out := wire.SetQuota{
		GPUs: number(model.LimitGPUs), Running: number(model.LimitLive), Queued: number(model.LimitQueued),
		GPUsPerJob: number(model.LimitGPUsPerJob), ReservedGPUs: number(model.LimitReserved),
		GPUsPerUser: number(model.LimitUserGPUs), MaxCPUs: number(model.LimitCPUs),
	}
	if l.RunTime > 0 {
		out.MaxRunTime = &wire.OrNone[wire.Duration]{Value: wire.Duration(l.RunTime)}
	}
	if l.GPUTime > 0 {
		out.GPUHours = &wire.OrNone[float64]{Value: float64(l.GPUTime) / time.Hour.Seconds()}
		out.Period, out.OverQuota = new(wire.Duration(l.Period)), l.Over.String()
	}
	if l.Yields != model.YieldUnsaid {
		out.Preemptible = &wire.OrNone[bool]{Value: l.Yields == model.YieldAlways}
	}
	return out
}
