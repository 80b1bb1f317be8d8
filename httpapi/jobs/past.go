package jobs

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// pasts returns jobs that have ended, from the archive.
type pasts struct{ api *core.API }

// Bounds of the data that one answer reads.
const (
	pastScan  = 50_000           // parts of histories, for a page
	usageTime = 20 * time.Second // under that of an answer
	usageSpan = 30 * 24 * time.Hour
)

// endedInput is the input of GET /history.
type endedInput struct {
	User    string    `query:"user" maxLength:"128" doc:"of this user only"`
	Project string    `query:"project" maxLength:"128" doc:"of this project only"`
	Name    string    `query:"name" maxLength:"256" doc:"of this name only; the name of a job without one is its run's id, else its command, as lists show it"`
	State   string    `query:"state" maxLength:"64" doc:"completed, failed or canceled; several are separated by commas"`
	Since   time.Time `query:"since" doc:"with an end not before this time"`
	Until   time.Time `query:"until" doc:"with an end not after this time"`
	Before  string    `query:"before" maxLength:"64" doc:"next of the previous page"`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (a pasts) route(doc huma.API) {
	o := core.Op("history", http.MethodGet, "/history", "Jobs that have ended, the last one first")
	o.Description = "From the archive of the answering peer, which keeps jobs after they have left the queue."
	core.Handle(a.api, doc, o, a.history)
	o = core.Op("usage", http.MethodGet, "/usage", "GPU-hours of users, projects or jobs")
	o.Description = "GPU time of jobs within a span of time, from the archive of the answering peer and from running jobs. " +
		"GPUs that services hold without a job do not count."
	core.Handle(a.api, doc, o, a.usage)
}

// lastEnd returns the log entry that ended the job that ended last.
func lastEnd(s *state.State) uint64 {
	for k := range s.Ended.Back() {
		return k.Index
	}
	return 0
}

func (a pasts) history(ctx context.Context, in *endedInput) (*core.Answer[wire.History], error) {
	states, err := endedStates(in.State)
	if err != nil {
		return nil, err
	}
	before, err := cursorOf(in.Before)
	if err != nil {
		return nil, err
	}
	s, stand, err := core.Archived(ctx, a.api, lastEnd)
	if err != nil {
		return nil, err
	}
	out := &wire.History{ArchiveStanding: view.Standing(&stand), Jobs: []wire.EndedJob{}}
	since, until, seen := view.TimeOf(in.Since), view.TimeOf(in.Until), 0
	var last archive.HistoryKey
	sees := a.api.Sees(ctx, &s)
	err = a.ended(ctx, &s, before, func(e *ended) bool {
		job := &e.parts[0].Job
		if job.Ended < since {
			return false
		}
		if len(out.Jobs) == in.Limit || seen > pastScan {
			out.Next = cursor(last)
			return false
		}
		last, seen = e.key, seen+len(e.parts)
		spec := &job.Spec
		if until > 0 && job.Ended > until || in.User != "" && spec.User != in.User || in.Project != "" && spec.Project != in.Project ||
			in.Name != "" && model.Called(spec) != in.Name || len(states) > 0 && !slices.Contains(states, e.state()) {
			return true
		}
		out.Jobs = append(out.Jobs, e.tell(sees))
		return true
	})
	if err != nil {
		return nil, core.ArchiveFault(err)
	}
	return &core.Answer[wire.History]{Index: s.Index, Body: out}, nil
}

// endedStates parses a list of final states.
func endedStates(text string) (list []model.TaskState, err error) {
	if text == "" {
		return nil, nil
	}
	all := []model.TaskState{model.TaskCompleted, model.TaskFailed, model.TaskCanceled}
	for name := range strings.SplitSeq(text, ",") {
		at := slices.IndexFunc(all, func(s model.TaskState) bool { return s.String() == name })
		if at < 0 {
			return nil, problem.Invalid("state", "must be completed, failed or canceled, not "+strconv.Quote(name))
		}
		list = append(list, all[at])
	}
	return list, nil
}

// cursor formats a place between jobs that ended.
func cursor(k archive.HistoryKey) string { return fmt.Sprintf("%d.%d", k.Index, k.Job) }

// cursorOf parses a cursor; an empty one stands behind all jobs that have ended.
func cursorOf(text string) (k archive.HistoryKey, err error) {
	if text == "" {
		return archive.HistoryKey{Index: 1<<64 - 1}, nil
	}
	index, job, _ := strings.Cut(text, ".")
	at, errIndex := strconv.ParseUint(index, 10, 64)
	id, errJob := strconv.ParseUint(job, 10, 64)
	if errIndex != nil || errJob != nil {
		return k, problem.Invalid("before", "must be the next of a page before")
	}
	return archive.HistoryKey{Index: at, Job: model.JobID(id)}, nil
}

// ended is a job that has ended, with all its parts, in order.
type ended struct {
	key   archive.HistoryKey // of its first part
	parts []state.History
}

// ended passes jobs that ended before a key to look, newest first, until look returns false. A job
// that the state has as open, because a restore has undone its end, is left out.
func (a pasts) ended(ctx context.Context, s *state.State, before archive.HistoryKey, look func(*ended) bool) error {
	var e ended
	more := true
	flush := func() bool {
		if len(e.parts) > 0 {
			slices.Reverse(e.parts)
			if job, found := s.Jobs.Get(e.key.Job); !found || job.EndIndex == e.key.Index {
				more = look(&e)
			}
		}
		return more
	}
	err := a.api.Peer.Archive.Ends(ctx, before, func(p archive.Ended) bool {
		if p.Key.Job != e.key.Job || p.Key.Index != e.key.Index {
			if !flush() {
				return false
			}
			e.parts = nil
		}
		e.key = p.Key
		e.parts = append(e.parts, p.Outline)
		return true
	})
	if err == nil && more {
		flush()
	}
	return err
}

// state returns how the job ended as a whole.
func (e *ended) state() model.TaskState {
	var s state.State // no task of it is live
	return s.Stand(&e.parts[0].Job)
}

// tell converts the job to the API's form.
func (e *ended) tell(sees func(*model.Job) bool) wire.EndedJob {
	job := &e.parts[0].Job
	s := state.Recall(e.parts...)
	v := view.View{State: &s, Now: job.Ended, Sees: sees}
	out := wire.EndedJob{Job: v.Job(job)}
	var all gpuTime
	for i := range e.parts {
		for j := range e.parts[i].Attempts {
			all.add(timeWithin(&e.parts[i].Attempts[j], 0, job.Ended))
		}
	}
	out.GPUHours, out.LostGPUHours, out.MeasuredGPUHours, out.IdleGPUHours = view.Hours(all.held), view.Hours(all.lost), view.Hours(all.measured), view.Hours(all.idle)
	if all.held > 0 {
		v := all.kept()
		out.Efficiency = &v
	}
	return out
}

// gpuTime is GPU time in GPU-seconds.
type gpuTime struct {
	held           float64
	lost           float64 // of attempts that did not complete, after their last checkpoint
	measured, idle float64 // of attempts that have ended
}

// timeWithin returns the GPU time of an attempt within a span: it holds its GPUs from its placement
// to its end. What it lost counts when it ends; its measured use is taken to be spread evenly over
// its time.
func timeWithin(a *model.Attempt, since, until model.Time) (out gpuTime) {
	to := until
	if a.Ended > 0 {
		to = min(to, a.Ended)
	}
	out.held = max(to.Sub(max(a.Placed, since)), 0).Seconds() * float64(a.GPUs)
	if a.Ended == 0 || out.held == 0 {
		return out
	}
	if a.Ended >= since && a.Ended <= until {
		out.lost = a.Wasted.Seconds()
	}
	part := out.held / (a.Ended.Sub(a.Placed).Seconds() * float64(a.GPUs))
	out.measured, out.idle = part*float64(a.Watched), part*float64(a.Idle)
	return out
}

func (t *gpuTime) add(o gpuTime) {
	t.held, t.lost, t.measured, t.idle = t.held+o.held, t.lost+o.lost, t.measured+o.measured, t.idle+o.idle
}

// kept returns the part of it that was not lost, in percent.
func (t *gpuTime) kept() float64 {
	return max(0, float64(1000-int64(1000*t.lost/t.held))/10)
}

// byUse orders rows by use, the highest first.
func byUse(a, b *wire.UsageRow) int {
	return cmp.Or(cmp.Compare(b.GPUHours, a.GPUHours), cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Project, b.Project),
		cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
}
