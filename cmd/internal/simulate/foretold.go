package simulate

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/model"
)

// Foretold is how far what was foretold came true: of each job that had to wait what was expected of its start when
// it was submitted, against when it started.
type Foretold struct {
	Jobs    int     `json:"jobs"` // of which a start was foretold
	InRange float64 `json:"in_range_percent"`
	Sooner  float64 `json:"sooner_percent"` // than the soonest that was foretold
	Later   float64 `json:"later_percent"`  // than the latest
	P50Off  float64 `json:"p50_off_seconds"`
	P90Off  float64 `json:"p90_off_seconds"` // from the expected start
}

// foretells notes what is expected of the starts of jobs.
type foretells struct {
	starts         map[model.TaskKey]sched.Range
	off            []float64 // seconds, of those that have started
	sooner, within int
}

// ask notes what is expected of the jobs that have been submitted last, and wait.
func (f *foretells) ask(r *Run, submitted []*live) {
	if f == nil || !slices.ContainsFunc(submitted, func(j *live) bool { return j.started == 0 }) {
		return
	}
	for _, c := range sched.Foresee(&r.cluster.State, r.cluster.Now).Waiting {
		if c.Start.Known && slices.ContainsFunc(submitted, func(j *live) bool { return j.task == c.Task && j.Submit >= r.options.From }) {
			f.starts[c.Task] = c.Start
		}
	}
}

// started compares what was expected of a job's first start.
func (f *foretells) started(task model.TaskKey, now model.Time) {
	if f == nil {
		return
	}
	v, known := f.starts[task]
	if !known {
		return
	}
	delete(f.starts, task)
	f.off = append(f.off, now.Sub(v.Expected).Abs().Seconds())
	switch {
	case now < v.Soonest:
		f.sooner++
	case now <= v.Latest:
		f.within++
	}
}

// result is what came of it; nil: nobody asked.
func (f *foretells) result() *Foretold {
	if f == nil {
		return nil
	}
	n := len(f.off)
	if n == 0 {
		return &Foretold{}
	}
	slices.Sort(f.off)
	of := func(n int) float64 { return 100 * float64(n) / float64(len(f.off)) }
	return &Foretold{
		Jobs: n, InRange: of(f.within), Sooner: of(f.sooner), Later: of(n - f.within - f.sooner),
		P50Off: quantile(f.off, 50), P90Off: quantile(f.off, 90),
	}
}
