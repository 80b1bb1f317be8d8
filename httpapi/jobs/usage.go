package jobs

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// usageInput is the input of GET /usage.
type usageInput struct {
	By      string    `query:"by" maxLength:"64" default:"user" doc:"columns to group by: user, project, name, or several of them separated by commas"`
	User    string    `query:"user" maxLength:"128" doc:"of this user only"`
	Project string    `query:"project" maxLength:"128" doc:"of this project only"`
	Since   time.Time `query:"since" doc:"from this time on; by default thirty days before the end"`
	Until   time.Time `query:"until" doc:"up to this time; by default now"`
}

// ErrTooMuch is the error of a span with too much data for one answer.
var ErrTooMuch = errors.New("this span has too many jobs to add up in time: ask for a shorter one")

func (a pasts) usage(ctx context.Context, in *usageInput) (*core.Answer[wire.Usage], error) {
	by, err := groupings(in.By)
	if err != nil {
		return nil, err
	}
	s, stand, err := core.Archived(ctx, a.api, lastEnd)
	if err != nil {
		return nil, err
	}
	now := a.api.Now(&s)
	b := &bill{by: by, user: in.User, project: in.Project, until: now, rows: map[payer]*row{}}
	if !in.Until.IsZero() {
		b.until = min(view.TimeOf(in.Until), now)
	}
	b.since = max(b.until.Add(-usageSpan), 0)
	if !in.Since.IsZero() {
		b.since = view.TimeOf(in.Since)
	}
	if b.since >= b.until {
		return nil, problem.Invalid("since", "must be before the end, and not in the future")
	}
	within, cancel := context.WithTimeoutCause(ctx, usageTime, ErrTooMuch)
	defer cancel()
	err = a.ended(within, &s, archive.HistoryKey{Index: 1<<64 - 1}, func(e *ended) bool {
		if e.parts[0].Job.Ended < b.since {
			return false
		}
		b.addEnded(e)
		return true
	})
	if errors.Is(err, ErrTooMuch) {
		return nil, problem.Refuse(wire.CodeInvalid, err.Error())
	} else if err != nil {
		return nil, core.ArchiveFault(err)
	}
	b.addOpen(&s)
	out := b.tell(int64(s.Slots.Len()))
	out.ArchiveStanding = view.Standing(&stand)
	return &core.Answer[wire.Usage]{Index: s.Index, Body: out}, nil
}

// groupings parses the names of columns by which rows are grouped.
func groupings(text string) ([]string, error) {
	list := strings.Split(text, ",")
	for i, v := range list {
		if v != "user" && v != "project" && v != "name" || slices.Contains(list[:i], v) {
			return nil, problem.Invalid("by", "must be user, project, name, or several of them separated by commas")
		}
	}
	return list, nil
}

// bill sums up GPU time within a span.
type bill struct {
	by            []string
	user, project string // only theirs; empty: that of all
	since, until  model.Time
	rows          map[payer]*row
	all           row
}

// payer is the key of a row.
type payer struct{ user, project, name string }

// row is the use of one payer.
type row struct {
	time  gpuTime
	ended [3]int64 // all, failed, canceled
	waits []time.Duration
	gpus  int64
}

// of returns the row of a job, and whether the job counts.
func (b *bill) of(spec *model.Spec) (*row, bool) {
	if b.user != "" && spec.User != b.user || b.project != "" && spec.Project != b.project {
		return nil, false
	}
	var key payer
	for _, what := range b.by {
		switch what {
		case "user":
			key.user = spec.User
		case "project":
			key.project = spec.Project
		case "name":
			key.name = model.Called(spec)
		}
	}
	r := b.rows[key]
	if r == nil {
		r = &row{}
		b.rows[key] = r
	}
	return r, true
}

func (b *bill) addEnded(e *ended) {
	job := &e.parts[0].Job
	r, counts := b.of(&job.Spec)
	if !counts {
		return
	}
	first, waited := model.Time(0), time.Duration(0)
	for i := range e.parts {
		for j := range e.parts[i].Attempts {
			b.addAttempt(r, &e.parts[i].Attempts[j])
		}
		for j := range e.parts[i].Tasks {
			if one := &e.parts[i].Tasks[j]; one.Started > 0 && (first == 0 || one.Started < first) {
				first, waited = one.Started, one.Waited
			}
		}
	}
	if job.Ended > b.until {
		return
	}
	for _, to := range []*row{r, &b.all} {
		to.ended[0]++
		if how := e.state(); how == model.TaskFailed {
			to.ended[1]++
		} else if how == model.TaskCanceled {
			to.ended[2]++
		}
		if first > 0 {
			to.waits = append(to.waits, waited)
		}
	}
}

// addAttempt adds an attempt of an ended job, or of a running one.
func (b *bill) addAttempt(r *row, a *model.Attempt) {
	spent := timeWithin(a, b.since, b.until)
	r.time.add(spent)
	b.all.time.add(spent)
}

// addOpen adds jobs that have not ended.
func (b *bill) addOpen(s *state.State) {
	for _, a := range s.Attempts.All() {
		job, found := s.Jobs.Get(a.Key.Job)
		if !found || job.EndIndex > 0 {
			continue
		}
		r, counts := b.of(&job.Spec)
		if !counts {
			continue
		}
		b.addAttempt(r, &a)
		if a.Live() {
			r.gpus += int64(a.GPUs)
			b.all.gpus += int64(a.GPUs)
		}
	}
}

// tell converts the bill to the API's form, for a cluster with a number of GPUs.
func (b *bill) tell(gpus int64) *wire.Usage {
	out := &wire.Usage{Since: b.since.Time(), Until: b.until.Time(), By: b.by, Rows: []wire.UsageRow{}, GPUs: gpus}
	there := b.until.Sub(b.since).Seconds() * float64(gpus)
	for key, r := range b.rows { // order-free: sorted below
		if r.time.held == 0 && r.ended[0] == 0 {
			continue
		}
		v := r.tell(b.all.time.held, there)
		v.User, v.Project, v.Name = key.user, key.project, key.name
		out.Rows = append(out.Rows, v)
	}
	slices.SortFunc(out.Rows, func(x, y wire.UsageRow) int { return byUse(&x, &y) })
	out.Total = b.all.tell(b.all.time.held, there)
	return out
}

func (r *row) tell(all, there float64) wire.UsageRow {
	t := &r.time
	out := wire.UsageRow{
		GPUHours: view.Hours(t.held), LostHours: view.Hours(t.lost), Measured: view.Hours(t.measured), Idle: view.Hours(t.idle), Jobs: r.ended[0],
		Failed: r.ended[1], Canceled: r.ended[2], GPUs: r.gpus,
	}
	if all > 0 {
		out.Share = percent(t.held / all)
	}
	if there > 0 {
		out.OfCluster = percent(t.held / there)
	}
	if n := len(r.waits); n > 0 {
		slices.Sort(r.waits)
		median, most := view.Seconds(r.waits[(n-1)/2]), view.Seconds(r.waits[(n*95+99)/100-1])
		out.WaitMedian, out.WaitMost = &median, &most
	}
	return out
}

// percent is a part in percent, to a tenth.
func percent(part float64) float64 { return math.Round(part*1000) / 10 }
