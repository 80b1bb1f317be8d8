package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Host is a node of a simulated cluster. Its GPUs are alike.
type Host struct {
	Name     string // empty: a number
	GPUs     int
	Model    string
	MemoryMB uint32 // of each GPU
	Labels   string // in the form of [model.Labels]
}

// id returns the name of the n-th host, from 0.
func (h *Host) id(n int) string { return cmp.Or(h.Name, fmt.Sprintf("node-%04d", n+1)) }

// anyModel is the model of GPUs without a given model.
const anyModel = "GPU"

// hosts returns the nodes of a simulation.
func (o *Options) hosts() []Host {
	if o.Hosts != nil {
		return o.Hosts
	}
	return slices.Repeat([]Host{{GPUs: o.GPUs, Model: anyModel, MemoryMB: 80_000}}, o.Nodes)
}

// total counts GPUs.
func total(hosts []Host) (gpus int) {
	for _, h := range hosts {
		gpus += h.GPUs
	}
	return gpus
}

// largest is the GPUs of the node with the most.
func largest(hosts []Host) (gpus int) {
	for _, h := range hosts {
		gpus = max(gpus, h.GPUs)
	}
	return gpus
}

// Ended is a task that a cluster has run. Of the job, Submit and Ended are computed; its GPUs are
// those of its newest attempt, to which the known run time belongs.
type Ended struct {
	Job

	Eligible time.Time // since when it could have run, had there been room
	Done     time.Time
}

// History is what a cluster has run, as a trace for its own nodes.
type History struct {
	Jobs  []Job     // in order of submission
	Hosts []Host    // on which it is to be played
	Left  int       // tasks that were left out: these nodes could not run them
	Begin time.Time // of the trace

	// What came before From, since the beginning, is simulated and not measured. It is 0, or the
	// first end where earlier tasks are not known: from then on all tasks that ran and waited are
	// known, as far as they have ended.
	From     time.Duration
	Measured int // tasks that came since
}

// NewHistory returns a history of the tasks that ended last, in any order. cut: there were others
// before.
func NewHistory(hosts []Host, ended []Ended, cut bool) *History {
	h := &History{Hosts: hosts}
	ended = slices.Clone(ended)
	slices.SortStableFunc(ended, func(a, b Ended) int {
		return cmp.Or(a.Eligible.Compare(b.Eligible), a.Done.Compare(b.Done), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range ended {
		// By its supervisor's clock a task may seem to have started a moment too early.
		e.Duration = min(e.Duration, e.Done.Sub(e.Eligible))
		if e.Duration <= 0 || !fits(hosts, &e.Job) {
			h.Left++
			continue
		}
		if len(h.Jobs) == 0 {
			h.Begin = e.Eligible
		}
		e.Submit, e.Ended = e.Eligible.Sub(h.Begin), e.Done.Sub(h.Begin)
		h.Jobs = append(h.Jobs, e.Job)
	}
	if h.Measured = len(h.Jobs); cut {
		h.measureFromFirstEnd()
	}
	return h
}

// measureFromFirstEnd excludes the time before the first end, unless nothing would be left.
func (h *History) measureFromFirstEnd() {
	first := time.Duration(math.MaxInt64)
	for i := range h.Jobs {
		first = min(first, h.Jobs[i].Ended)
	}
	since := 0
	for i := range h.Jobs {
		if h.Jobs[i].Submit >= first {
			since++
		}
	}
	if since > 0 {
		h.From, h.Measured = first, since
	}
}

// fits reports whether empty nodes can run a job.
func fits(hosts []Host, j *Job) bool {
	each, nodes, all := 0, uint32(0), 0
	if j.Nodes > 0 {
		each = int(j.GPUs / j.Nodes)
	}
	sites := j.Told.Where.Sites()
	for i, h := range hosts {
		node := model.Node{ID: model.NodeID(h.id(i)), Labels: h.Labels}
		if !model.OfModel(j.Told.Model, h.Model) || h.MemoryMB < j.Told.MemoryMB || !sites.Has(&node) {
			continue
		}
		all += h.GPUs
		if h.GPUs >= each {
			nodes++
		}
	}
	return int(j.GPUs) <= all && nodes >= j.Nodes
}

// Actual returns the real result on the nodes that there were, as far as is known: a task that ran
// more than once counts as if it had run in one piece before its end.
func (h *History) Actual(hosts []Host) *Result {
	m := newMeasure(total(hosts), h.From)
	type change struct {
		at           time.Duration
		demand, busy int
	}
	var changes []change
	var last time.Duration
	for i := range h.Jobs {
		j := &h.Jobs[i]
		n := int(j.GPUs)
		changes = append(changes, change{j.Submit, n, 0}, change{j.Ended - j.Duration, 0, n}, change{j.Ended, -n, -n})
		m.ended(j, j.Ended)
		last = max(last, j.Ended)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var now change
	for _, c := range changes {
		m.passed(now.at, c.at, uint64(now.demand), float64(now.busy)*(c.at-now.at).Seconds())
		now = change{c.at, now.demand + c.demand, now.busy + c.busy}
	}
	out := m.result(last)
	out.Policy = "actual"
	return out
}

// HistoryOf returns the history of a state: the newest tasks that ran and whose jobs had ended by
// an instant, up to a limit, and the nodes that accept work.
func HistoryOf(s *state.State, most int, until time.Time) *History {
	var ended []Ended
	var known uint64
	for k := range s.Ended.Back() {
		if len(ended) == most {
			break
		}
		j, _ := s.Jobs.Get(k.Job)
		if known += uint64(j.Tasks); j.Ended > model.TimeOf(until) {
			continue
		}
		ended = append(ended, endedOf(s, &j, most-len(ended))...)
	}
	n := s.Settings().Totals
	return NewHistory(hostsOf(s), ended, len(ended) == most || known < n.Completed+n.Failed+n.Canceled)
}

// endedOf returns a job's tasks that ran.
func endedOf(s *state.State, j *model.Job, most int) (out []Ended) {
	spec := &j.Spec
	for k, t := range s.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID || len(out) == most {
			break
		}
		if t.Executed <= 0 || t.Ended == 0 {
			continue
		}
		had := *spec
		if a, known := s.Attempts.Get(t.Newest()); known {
			had = spec.Granted(a.GPUs, a.Ranks)
		}
		out = append(out, Ended{
			Eligible: t.Eligible().Time(), Done: t.Ended.Time(),
			Job: Job{
				ID: k.String(), User: spec.User, GPUs: had.GPUs, Nodes: had.Nodes, Duration: t.Executed,
				Told: Told{
					Name: spec.Name, Project: spec.Project, Class: t.Class, Estimate: spec.Estimate, TimeLimit: spec.TimeLimit,
					Preemptible: spec.Preemptible, Model: spec.GPUModel, MemoryMB: spec.GPUMemoryMB, Where: spec.Where(), Placement: spec.Placement,
				},
			},
		})
	}
	return out
}

// hostsOf returns the nodes with their usable GPUs.
func hostsOf(s *state.State) (hosts []Host) {
	at := map[model.NodeID]int{}
	for _, g := range s.GPUs.All() {
		n, _ := s.Nodes.Get(g.Node)
		if !g.Usable() || !n.Schedulable() {
			continue
		}
		i, known := at[g.Node]
		if !known {
			i = len(hosts)
			at[g.Node], hosts = i, append(hosts, Host{Name: string(g.Node), Model: g.Model, MemoryMB: g.MemoryMB, Labels: n.Is().String()})
		}
		hosts[i].GPUs++
		hosts[i].MemoryMB = min(hosts[i].MemoryMB, g.MemoryMB)
	}
	return hosts
}
