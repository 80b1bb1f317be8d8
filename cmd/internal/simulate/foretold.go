package simulate

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/fsm/model"
)

// Foretold is how accurate forecasts were: the expected start of each job that had to wait, at its
// submission, against its real start.
type Foretold struct {
	Jobs    int     `json:"jobs"` // with a forecast
	InRange float64 `json:"in_range_percent"`
	Sooner  float64 `json:"sooner_percent"` // than the soonest start of the forecast
	Later   float64 `json:"later_percent"`  // than the latest
	P50Off  float64 `json:"p50_off_seconds"`
	P90Off  float64 `json:"p90_off_seconds"` // from the expected start
}

// foretells records the expected starts of jobs.
type foretells struct {
	starts         map[model.TaskKey]forecast.Range
	off            []float64 // seconds, of those that have started
	sooner, within int
}

// ask records the forecasts of the newest jobs that wait.
func (f *foretells) ask(r *Run, submitted []*live) {
	if f == nil || !slices.ContainsFunc(submitted, func(j *live) bool { return j.started == 0 }) {
		return
	}
	for _, c := range forecast.Foresee(&r.cluster.State, r.cluster.Now).Waiting {
		if c.Start.Known && slices.ContainsFunc(submitted, func(j *live) bool { return j.task == c.Task && j.Submit >= r.options.From }) {
			f.starts[c.Task] = c.Start
		}
	}
}

// started compares the forecast of a job with its first start.
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

// result returns the accuracy; nil: no forecasts were made.
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
