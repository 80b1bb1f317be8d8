package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// verdict is what the demo has found, and the faults.
type verdict struct {
	ends     ends
	lost     int
	twice    int
	failover failover
	share    float64 // of all GPUs' time in use, in percent, from the first start to the last end
	busy     time.Duration
	faults   []string
}

// ends counts jobs by how they ended.
type ends struct{ submitted, completed, failed, canceled, retried int }

// failover is how the cluster went on after the leader's death.
type failover struct {
	killed, successor string
	took              time.Duration
	meanwhile         int // jobs that were submitted while there was no leader
}

func (v *verdict) blame(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// judge compares the cluster's record of each job with the marks of the job's own processes.
func judge(ctx context.Context, api *client.Client, jobs []*job, marks string, gpus int, v *verdict) error {
	spans, err := readMarks(marks)
	if err != nil {
		return err
	}
	var uses []use
	known := map[run]bool{}
	for _, j := range jobs {
		v.ends.submitted++
		detail, _, err := api.Job(ctx, j.id, client.JobQuery{})
		if err != nil {
			v.lost++
			v.blame("job %s (%s) was acknowledged and cannot be found: %v", j.id, j.name, err)
			continue
		}
		v.state(j, detail)
		uses = append(uses, v.runs(j, detail, spans, known)...)
	}
	for r := range spans { // order-free: faults are sorted
		if !known[r] {
			v.twice++
			v.blame("a process of job %s ran as attempt %d, rank %d, which the cluster does not know", r.job, r.attempt, r.rank)
		}
	}
	v.overlaps(uses)
	v.use(uses, gpus)
	slices.Sort(v.faults)
	return nil
}

// state checks how a job ended.
func (v *verdict) state(j *job, d *wire.Detail) {
	want, attempts := model.TaskCompleted, int64(1)
	switch j.fate {
	case completesAtSecond:
		attempts = 2
	case fails:
		want = model.TaskFailed
	case isCanceled:
		want = model.TaskCanceled
	case completes:
	}
	switch d.State {
	case wire.StateCompleted:
		v.ends.completed++
	case wire.StateFailed:
		v.ends.failed++
	case wire.StateCanceled:
		v.ends.canceled++
	}
	if d.Retries > 0 {
		v.ends.retried++
	}
	if d.State != want.String() {
		v.blame("job %s (%s) is %s (%s), and should be %s", j.id, j.name, d.State, d.Reason, want)
	}
	if d.Attempts != attempts {
		v.blame("job %s (%s) took %d attempts, and should have taken %d", j.id, j.name, d.Attempts, attempts)
	}
}

// use is the time in which a process had a GPU.
type use struct {
	gpu  string
	run  run
	span span
}

// runs checks the marks of a job's processes against its attempts.
func (v *verdict) runs(j *job, d *wire.Detail, spans map[run]*span, known map[run]bool) (out []use) {
	var before time.Time
	for _, a := range d.History {
		var last time.Time
		for _, r := range a.Ranks {
			key := run{j.id, a.Number, r.Rank}
			known[key] = true
			s := spans[key]
			switch {
			case s == nil || s.starts == 0:
				v.lost++
				v.blame("attempt %d of job %s (%s) left no mark of rank %d", a.Number, j.id, j.name, r.Rank)
				continue
			case s.starts > 1:
				v.twice++
				v.blame("attempt %d of job %s (%s) was started %d times on rank %d", a.Number, j.id, j.name, s.starts, r.Rank)
			case s.begin.Before(before):
				v.twice++
				v.blame("attempt %d of job %s (%s) began before the one before it had ended", a.Number, j.id, j.name)
			}
			if s.end.IsZero() {
				v.blame("rank %d of attempt %d of job %s (%s) has no mark of its end", r.Rank, a.Number, j.id, j.name)
				continue
			}
			if s.end.After(last) {
				last = s.end
			}
			for _, gpu := range s.gpus {
				out = append(out, use{gpu, key, *s})
			}
		}
		before = last
	}
	return out
}

// overlaps checks that no GPU had two processes at a time.
func (v *verdict) overlaps(uses []use) {
	slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(a.gpu, b.gpu), a.span.begin.Compare(b.span.begin)) })
	for i := 1; i < len(uses); i++ {
		a, b := uses[i-1], uses[i]
		if a.gpu == b.gpu && b.span.begin.Before(a.span.end) {
			v.blame("GPU %s was used by jobs %s and %s at the same time", a.gpu, a.run.job, b.run.job)
		}
	}
}

// use computes how much of the GPUs' time was used while there was work.
func (v *verdict) use(uses []use, gpus int) {
	if len(uses) == 0 || gpus == 0 {
		return
	}
	first, last, total := uses[0].span.begin, uses[0].span.end, time.Duration(0)
	for _, u := range uses {
		if u.span.begin.Before(first) {
			first = u.span.begin
		}
		if u.span.end.After(last) {
			last = u.span.end
		}
		total += u.span.end.Sub(u.span.begin)
	}
	v.busy = last.Sub(first)
	v.share = 100 * float64(total) / (float64(gpus) * float64(v.busy))
}

// print shows the summary.
func (v *verdict) print(w io.Writer) {
	t := table.New("RESULT", ">", "")
	add := func(name, value, note string) { t.Add(name, value, note) }
	count := func(name string, n int, note string) { add(name, fmt.Sprint(n), note) }
	count("jobs submitted", v.ends.submitted, fmt.Sprintf("%d of them while there was no leader", v.failover.meanwhile))
	count("completed", v.ends.completed, "")
	count("failed as meant", v.ends.failed, "exit code 7, no retry allowed")
	count("canceled as meant", v.ends.canceled, "by its user, while it ran")
	count("retried", v.ends.retried, "failed once, queued again, completed")
	count("lost", v.lost, "acknowledged and gone, or ended without having run")
	count("run twice", v.twice, "by the marks that the jobs' processes left")
	add("failover", table.About(v.failover.took), fmt.Sprintf("kill -9 of %s to the next accepted submission; %s leads", v.failover.killed, v.failover.successor))
	add("GPU utilization", fmt.Sprintf("%.0f %%", v.share), "of all GPUs, over "+table.About(v.busy)+" of work")
	_, _ = t.WriteTo(w)
}
