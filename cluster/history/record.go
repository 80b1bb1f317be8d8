package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Minute is a minute of the time of day, counted from 1970-01-01 UTC.
type Minute int64

// MinuteOf returns the minute that contains an instant.
func MinuteOf(t model.Time) Minute { return Minute(time.Duration(t) / time.Minute) }

// Time returns when the minute begins.
func (m Minute) Time() model.Time { return model.Time(time.Duration(m) * time.Minute) }

// Series is what is recorded. The numbers are part of the protocol between peers: new series come at the end.
type Series int

// The series.
const (
	GPUsTotal Series = iota
	GPUsAllocated
	GPUsBusy
	GPUsIdleHeld
	GPUsFree
	GPUsUnhealthy
	JobsWaiting
	JobsRunning
	WaitP50
	WaitP95
	OldestWait
	Utilization
	MemoryUsed
	Power
	Nodes
	NodesReady
	count // of the series
)

// properties are those of a series.
type properties struct {
	name  string
	scale float64 // a record has the value times this as a whole number
	what  string
}

var table = [count]properties{
	GPUsTotal:     {"gpus_total", 1, "GPUs of the cluster"},
	GPUsAllocated: {"gpus_allocated", 1, "GPUs that are held"},
	GPUsBusy:      {"gpus_busy", 1, "held GPUs that were measured and are not idle"},
	GPUsIdleHeld:  {"gpus_idle_held", 1, "held GPUs that their job has left at 0 % for a minute or longer"},
	GPUsFree:      {"gpus_free", 1, "GPUs that are free and healthy"},
	GPUsUnhealthy: {"gpus_unhealthy", 1, "GPUs with a fault, or of a node that is not in contact"},
	JobsWaiting:   {"jobs_waiting", 1, "tasks of jobs that wait"},
	JobsRunning:   {"jobs_running", 1, "tasks of jobs with GPUs, or cores of a node"},
	WaitP50:       {"wait_p50_seconds", 10, "median time from when a task could have run to its start, of the tasks that first started in the hour before"},
	WaitP95:       {"wait_p95_seconds", 10, "95th percentile of the same"},
	OldestWait:    {"oldest_wait_seconds", 1, "how long the task has waited that has waited longest for its turn"},
	Utilization:   {"utilization_percent", 10, "mean utilization of all GPUs that were measured"},
	MemoryUsed:    {"memory_used_gb", 10, "memory in use on all GPUs that were measured"},
	Power:         {"power_watts", 1, "power of all GPUs that were measured"},
	Nodes:         {"nodes", 1, "GPU hosts"},
	NodesReady:    {"nodes_ready", 1, "GPU hosts that are in contact and can start jobs"},
}

// AllSeries returns all series, in order.
func AllSeries() []Series {
	out := make([]Series, count)
	for i := range out {
		out[i] = Series(i)
	}
	return out
}

// String returns the name of the series, which ends with its unit unless it is a number of things.
func (s Series) String() string {
	if s < 0 || s >= count {
		return fmt.Sprintf("series %d", int(s))
	}
	return table[s].name
}

// What describes the series.
func (s Series) What() string { return table[s].what }

// maxSuffix is in the name of a column with the greatest value of each step.
const maxSuffix = "_max"

// Column is a series in steps: the mean or the greatest value of each step.
type Column struct {
	Series Series
	Max    bool
}

// String returns the name of the column.
func (c Column) String() string {
	if c.Max {
		return c.Series.String() + maxSuffix
	}
	return c.Series.String()
}

// ColumnOf returns the column of a name; false if there is none.
func ColumnOf(name string) (Column, bool) {
	short, most := strings.CutSuffix(name, maxSuffix)
	i := slices.IndexFunc(table[:], func(p properties) bool { return p.name == short })
	return Column{Series: Series(i), Max: most}, i >= 0
}

// None is the value of a series that could not be measured.
const None = -1

// Values are those of one minute, by series and in its scale; [None] where there is none.
type Values [count]int64

// noValues returns values of which none is known.
func noValues() (v Values) {
	for i := range v {
		v[i] = None
	}
	return v
}

// set sets the value of a series.
func (v *Values) set(s Series, value float64) {
	v[s] = int64(max(value, 0)*table[s].scale + 0.5)
}

// Get returns the value of a series; false if there is none.
func (v *Values) Get(s Series) (float64, bool) {
	if v[s] < 0 {
		return 0, false
	}
	return float64(v[s]) / table[s].scale, true
}

// Record is what the leader of a term has recorded for a minute.
type Record struct {
	Minute Minute
	Term   uint64
	Values Values
}

// wins reports whether a record counts, and not another one for the same minute. Equal terms with different values
// are against the protocol; the order of the values decides, so that all peers agree all the same.
func (r *Record) wins(o *Record) bool {
	if r.Term != o.Term {
		return r.Term > o.Term
	}
	return slices.Compare(r.Values[:], o.Values[:]) > 0
}
