package jobs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// pasts returns jobs that have ended, from the archive.
type pasts struct{ api *core.API }

// Bounds of the data that one answer reads.
const (
	mostScanned = 50_000           // parts of histories, for a page
	usageTime   = 20 * time.Second // under that of an answer
	usageSpan   = 30 * 24 * time.Hour
)

// endedInput is the input of GET /history.
type endedInput struct {
	Since  time.Time `query:"since" doc:"with an end not before this time"`
	Until  time.Time `query:"until" doc:"with an end not after this time"`
	Before string    `query:"before" maxLength:"8192" doc:"next of the previous page"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (a pasts) route(doc huma.API) {
	o := historyTable().Describe(core.Op("history", http.MethodGet, "/history", "Jobs that have ended, the last one first"))
	o.Description = "From the archive of the answering peer, which keeps jobs after they have left the queue. Another sort than ended_at from the last to the first, " +
		"and count, need a span of time (since, until) in which no more than about 50,000 jobs have ended."
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

// endedSort is the usual sort of what has ended: by the log entries of the ends.
const endedSort = "ended_at"

// historyTable returns the fields of GET /history.
func historyTable() *listing.Table[*ended] {
	of := func(get func(entry) string) func(*ended) string { return func(e *ended) string { return get(&e.row) } }
	texts := func(name, doc string, get func(entry) string) listing.Field[*ended] {
		return listing.Field[*ended]{
			Name: name, Doc: doc, Parse: listing.Texts(of(get)),
			Key: func(e *ended) listing.Key { return listing.Key{Text: get(&e.row)} },
		}
	}
	number := func(name, doc string, get func(*ended) int64) listing.Field[*ended] {
		return listing.Field[*ended]{
			Name: name, Doc: doc, Parse: listing.Numbers(get),
			Key: func(e *ended) listing.Key { return listing.Key{Number: get(e)} },
		}
	}
	state := func(e *ended) string { return e.state().String() }
	return &listing.Table[*ended]{
		Sort: endedSort, Desc: true, Entry: reflect.TypeFor[wire.EndedJob](),
		ID: func(e *ended) listing.Key { return listing.Key{Number: int64(e.key.Job)} },
		Fields: []listing.Field[*ended]{
			{Name: endedSort, Key: func(e *ended) listing.Key { return listing.Key{Number: int64(e.key.Index)} }},
			number("id", "", func(e *ended) int64 { return int64(e.key.Job) }).NoFilter(),
			{Name: "ids", Doc: "with these ids" + docNumbers, Parse: listing.Numbers(func(e *ended) int64 { return int64(e.key.Job) })},
			texts("user", "of this user"+docTexts, entry.User),
			texts("project", "of this project"+docTexts, entry.Project),
			{
				Name: "name", Doc: "with this name, in which * is any text; of a job without one its run's id, else its command, as lists show it",
				Parse: listing.Pattern(of(entry.Name)), Key: func(e *ended) listing.Key { return listing.Key{Text: e.row.Name()} },
			},
			{Name: "run_id", Doc: "of this run" + docTexts, Parse: listing.Texts(func(e *ended) string { return e.row.Job.Spec.RunID })},
			{
				Name: "state", Doc: "completed, failed or canceled" + docTexts, Parse: listing.Words(state, endedStates()...),
				Key: func(e *ended) listing.Key { return listing.Key{Text: state(e)} },
			},
			number("gpu_count", "that asked for so many GPUs"+docNumbers, func(e *ended) int64 { return e.row.GPUs() }),
			texts("gpu_type", "that asked for this type of GPU"+docTexts, entry.GPUType),
			{Name: "q", Doc: "of which id, name, run, user, project or command contains this text", Parse: listing.Search(func(e *ended) []string { return e.row.Texts() })},
			number("submitted_at", "", func(e *ended) int64 { return int64(e.row.Job.Submitted) }).NoFilter(),
			number("gpu_hours", "", func(e *ended) int64 { return int64(1000 * e.time().held) }).NoFilter(),
			number("lost_gpu_hours", "", func(e *ended) int64 { return int64(1000 * e.time().lost) }).NoFilter(),
		},
	}
}

// endedStates returns the names of the final states.
func endedStates() []string {
	return []string{model.TaskCompleted.String(), model.TaskFailed.String(), model.TaskCanceled.String()}
}

func (a pasts) history(ctx context.Context, in *endedInput) (*core.Answer[wire.History], error) {
	selected, err := historyTable().Select(ctx)
	if err != nil {
		return nil, err
	}
	at, err := selected.Places("before", in.Before, 1)
	if err != nil {
		return nil, err
	}
	s, stand, err := core.Archived(ctx, a.api, lastEnd)
	if err != nil {
		return nil, err
	}
	sort, desc := selected.Sort()
	scan := &pastScan{
		pasts: a, state: &s, sees: a.api.Sees(ctx, &s), since: view.TimeOf(in.Since), until: view.TimeOf(in.Until),
		from: archive.HistoryKey{Index: 1<<64 - 1},
	}
	inOrder := sort == endedSort && desc
	if inOrder && at[0].Begun && !selected.Counts() {
		scan.from = archive.HistoryKey{Index: uint64(at[0].Last.Number), Job: model.JobID(at[0].ID.Number)}
	}
	page, next, total := listing.Page(selected, at[0], in.Limit, inOrder, scan.rows(ctx), func(e *ended) ended { return *e })
	switch {
	case scan.err != nil:
		return nil, core.ArchiveFault(scan.err)
	case scan.stopped && (!inOrder || selected.Counts()):
		return nil, problem.Invalid("since", fmt.Sprintf("must be later, or until earlier: more than %d parts of histories would have to be read to sort or count them", mostScanned))
	case scan.stopped && next.Over:
		next = listing.Place{Begun: true, Last: listing.Key{Number: int64(scan.last.Index)}, ID: listing.Key{Number: int64(scan.last.Job)}}
	}
	out := &wire.History{ArchiveStanding: view.Standing(&stand), Jobs: []wire.EndedJob{}, Next: selected.Cursor(next)}
	for i := range page {
		out.Jobs = append(out.Jobs, page[i].tell(scan.sees))
	}
	if selected.Counts() {
		out.Total = &total
	}
	return &core.Answer[wire.History]{Index: s.Index, Body: out}, nil
}

// pastScan reads jobs that have ended, up to a bound.
type pastScan struct {
	pasts        pasts
	state        *state.State
	sees         func(*model.Job) bool
	since, until model.Time
	from         archive.HistoryKey // jobs before it

	stopped bool // at the bound
	last    archive.HistoryKey
	err     error
}

// rows yields the jobs, newest first.
func (c *pastScan) rows(ctx context.Context) iter.Seq[*ended] {
	return func(yield func(*ended) bool) {
		v, seen := view.View{Sees: c.sees}, 0
		c.err = c.pasts.ended(ctx, c.state, c.from, func(e *ended) bool {
			job := &e.parts[0].Job
			if job.Ended < c.since {
				return false
			}
			if c.stopped = seen > mostScanned; c.stopped {
				return false
			}
			c.last, seen = e.key, seen+len(e.parts)
			e.row = view.Row{View: &v, Job: *job}
			return c.until > 0 && job.Ended > c.until || yield(e)
		})
	}
}

// ended is a job that has ended, with all its parts, in order.
type ended struct {
	key   archive.HistoryKey // of its first part
	parts []state.History
	row   view.Row // of the job, for lists
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
	all := e.time()
	out.GPUHours, out.LostGPUHours, out.MeasuredGPUHours, out.IdleGPUHours = view.Hours(all.held), view.Hours(all.lost),
		view.Hours(all.measured), view.Hours(all.idle)
	if all.held > 0 {
		v := all.kept()
		out.Efficiency = &v
	}
	return out
}

// time returns the GPU time of all attempts.
func (e *ended) time() (all gpuTime) {
	for i := range e.parts {
		for j := range e.parts[i].Attempts {
			all.add(timeWithin(&e.parts[i].Attempts[j], 0, e.parts[0].Job.Ended))
		}
	}
	return all
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
