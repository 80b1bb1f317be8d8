package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
)

// Result is the result of a run. Times are in seconds unless their names contain another unit.
type Result struct {
	Policy      string  `json:"policy"`
	Backfill    string  `json:"backfill"` // none, skip, easy or conservative
	Jobs        int     `json:"jobs"`
	Loaded      float64 `json:"loaded_seconds"` // time in which jobs asked for all GPUs
	AvgWait     float64 `json:"avg_wait_seconds"`
	AvgJCT      float64 `json:"avg_jct_seconds"` // job completion time: from submission to end
	P50JCT      float64 `json:"p50_jct_seconds"`
	P99JCT      float64 `json:"p99_jct_seconds"`
	P50Wait     float64 `json:"p50_wait_seconds"` // completion time less run time: all waiting, restarts included
	P99Wait     float64 `json:"p99_wait_seconds"`
	MaxWait     float64 `json:"max_wait_hours"`
	Utilization float64 `json:"loaded_utilization_percent"` // useful work while running and waiting jobs ask for all GPUs
	Makespan    float64 `json:"makespan_seconds"`
	Preemptions int     `json:"preemptions"`
	Passes      int     `json:"passes"`
	Scheduler   float64 `json:"scheduler_seconds"`
	WorstTenant float64 `json:"worst_tenant_wait_ratio"` // mean wait of the user with the longest waits over the mean of users

	Foretold *Foretold `json:"foretold,omitempty"`

	gpus    int // of the cluster
	samples []sample
}

// measure adds up figures during a run.
type measure struct {
	gpus        int
	from        time.Duration // since the trace's beginning: earlier ones do not count
	loaded      time.Duration
	useful      float64 // GPU-seconds within it
	jct, wait   []float64
	byUser      map[string][]float64
	preemptions int
	passes      int
	spent       time.Duration
	samples     []sample
}

func newMeasure(gpus int, from time.Duration) *measure {
	return &measure{gpus: gpus, from: from, byUser: map[string][]float64{}}
}

// advance counts the time until the next event.
func (m *measure) advance(r *Run, to model.Time) {
	now := r.cluster.Now
	if to > now {
		var busy uint64
		for _, j := range r.ends {
			busy += uint64(j.GPUs)
		}
		m.samples = append(m.samples, sample{now.Sub(begin).Hours(), float64(busy), float64(r.demand - busy)})
	}
	var useful float64
	for _, j := range r.ends {
		useful += float64(j.GPUs) * (j.worked(to) - j.worked(now)).Seconds()
	}
	m.passed(now.Sub(begin), to.Sub(begin), r.demand, useful)
}

// passed adds a span of time in which jobs asked for demand GPUs and did useful GPU-seconds.
func (m *measure) passed(since, until time.Duration, demand uint64, useful float64) {
	if demand >= uint64(m.gpus) && since >= m.from && until > since {
		m.loaded += until - since
		m.useful += useful
	}
}

// ended adds a job that has ended, at a time since the trace's beginning.
func (m *measure) ended(j *Job, at time.Duration) {
	if j.Submit < m.from {
		return
	}
	jct := at - j.Submit
	m.jct = append(m.jct, jct.Seconds())
	wait := (jct - j.Duration).Seconds()
	m.wait = append(m.wait, wait)
	m.byUser[j.User] = append(m.byUser[j.User], wait)
}

func (m *measure) planned(d time.Duration) {
	m.passes++
	m.spent += d
}

// result returns the figures until the last end.
func (m *measure) result(last time.Duration) *Result {
	slices.Sort(m.jct)
	slices.Sort(m.wait)
	out := &Result{
		Jobs: len(m.jct), Loaded: m.loaded.Seconds(), AvgWait: mean(m.wait),
		AvgJCT: mean(m.jct), P50JCT: quantile(m.jct, 50), P99JCT: quantile(m.jct, 99),
		P50Wait: quantile(m.wait, 50), P99Wait: quantile(m.wait, 99), MaxWait: m.wait[len(m.wait)-1] / 3600,
		Makespan: last.Seconds(), Preemptions: m.preemptions, Passes: m.passes, Scheduler: m.spent.Seconds(),
		gpus: m.gpus, samples: m.samples,
	}
	if m.loaded > 0 {
		out.Utilization = 100 * m.useful / (m.loaded.Seconds() * float64(m.gpus))
	}
	var means []float64
	for _, waits := range m.byUser { // order-free: sorted below
		means = append(means, mean(waits))
	}
	slices.Sort(means)
	if all := mean(means); all > 0 {
		out.WorstTenant = means[len(means)-1] / all
	}
	return out
}

// backfillOf returns the mode of backfill in the form of berth simulate's flag: EASY is one
// reservation.
func backfillOf(t *model.Tuning) string {
	switch {
	case t.Backfill != model.BackfillReserve:
		return t.Backfill.String()
	case t.Depth == 1:
		return "easy"
	}
	return "conservative"
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile returns the nearest rank: the smallest value that percent of all values do not exceed.
func quantile(sorted []float64, percent int) float64 {
	return sorted[max((percent*len(sorted)+99)/100-1, 0)]
}

// log writes what happened: time in seconds, what, job, GPUs and where, so that
// another program can check the run.
func (r *Run) log(what string, j *live) {
	if r.options.Log == nil {
		return
	}
	line := []string{fmt.Sprintf("%.3f", r.cluster.Now.Sub(begin).Seconds()), what, j.ID, fmt.Sprint(j.GPUs)}
	if what != "submit" {
		for _, rank := range r.cluster.State.RanksOf(j.attempt) {
			line = append(line, fmt.Sprintf("%s:%d", rank.Node, rank.GPUs))
		}
	}
	out := table.NewCSV(r.options.Log)
	out.Write(line...)
	_ = out.Flush() // the writer's owner sees its errors
}
