package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Host is a node of a cluster that is played. Its GPUs are alike.
type Host struct {
	GPUs     int
	Model    string
	MemoryMB uint32 // of each GPU
}

// hosts are the nodes of a play.
func (o *Options) hosts() []Host {
	if o.Hosts != nil {
		return o.Hosts
	}
	return slices.Repeat([]Host{{GPUs: o.GPUs, Model: "GPU", MemoryMB: 80_000}}, o.Nodes)
}

// total counts GPUs.
func total(hosts []Host) (gpus int) {
	for _, h := range hosts {
		gpus += h.GPUs
	}
	return gpus
}

// Ended is a task that a cluster has run. Of the job, Submit and Ended are worked out.
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
	From  time.Time // beginning of the trace
}

// NewHistory makes a history of tasks that ended, in any order.
func NewHistory(hosts []Host, ended []Ended) *History {
	h := &History{Hosts: hosts}
	ended = slices.Clone(ended)
	slices.SortStableFunc(ended, func(a, b Ended) int {
		return cmp.Or(a.Eligible.Compare(b.Eligible), a.Done.Compare(b.Done), cmp.Compare(a.ID, b.ID))
	})
	for _, e := range ended {
		// What ran by its supervisor's clock may seem to have begun a moment too early.
		e.Duration = min(e.Duration, e.Done.Sub(e.Eligible))
		if e.Duration <= 0 || !fits(hosts, &e.Job) {
			h.Left++
			continue
		}
		if len(h.Jobs) == 0 {
			h.From = e.Eligible
		}
		e.Submit, e.Ended = e.Eligible.Sub(h.From), e.Done.Sub(h.From)
		h.Jobs = append(h.Jobs, e.Job)
	}
	return h
}

// fits says whether nodes that are empty can run a job.
func fits(hosts []Host, j *Job) bool {
	each, nodes, all := 0, uint32(0), 0
	if j.Nodes > 0 {
		each = int(j.GPUs / j.Nodes)
	}
	for _, h := range hosts {
		if j.Told.Model != "" && h.Model != j.Told.Model || h.MemoryMB < j.Told.MemoryMB {
			continue
		}
		all += h.GPUs
		if h.GPUs >= each {
			nodes++
		}
	}
	return int(j.GPUs) <= all && nodes >= j.Nodes
}

// Actual is what really came of it on nodes that there were, as far as is known: a task
// that ran more than once counts as having run in one piece before its end.
func (h *History) Actual(hosts []Host) *Result {
	m := newMeasure(total(hosts))
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
		d := c.at - now.at
		m.passed(uint64(now.demand), float64(now.busy)*d.Seconds(), d) //nolint:gosec // never negative
		now = change{c.at, now.demand + c.demand, now.busy + c.busy}
	}
	out := m.result(last)
	out.Policy = "actual"
	return out
}

// HistoryOf is what a state knows of the newest tasks that have ended and ran, at most
// so many, and the nodes that take work.
func HistoryOf(s *state.State, most int) *History {
	var ended []Ended
	for k := range s.Ended.Back() {
		if len(ended) == most {
			break
		}
		j, _ := s.Jobs.Get(k.Job)
		ended = append(ended, endedOf(s, &j, most-len(ended))...)
	}
	return NewHistory(hostsOf(s), ended)
}

// endedOf lists a job's tasks that ran.
func endedOf(s *state.State, j *model.Job, most int) (out []Ended) {
	spec := &j.Spec
	eligible := s.Eligible(j)
	for k, t := range s.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID || len(out) == most {
			break
		}
		if t.Executed <= 0 || t.Ended == 0 {
			continue
		}
		out = append(out, Ended{
			Eligible: eligible.Time(), Done: t.Ended.Time(),
			Job: Job{
				ID: k.String(), User: spec.User, GPUs: spec.GPUs, Nodes: spec.Nodes, Duration: t.Executed,
				Told: Told{
					Name: spec.Name, Project: spec.Project, Class: t.Class, Estimate: spec.Estimate, TimeLimit: spec.TimeLimit,
					Preemptible: spec.Preemptible, Model: spec.GPUModel, MemoryMB: spec.GPUMemoryMB,
				},
			},
		})
	}
	return out
}

// hostsOf lists nodes with the GPUs of theirs that can be used.
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
			at[g.Node], hosts = i, append(hosts, Host{Model: g.Model, MemoryMB: g.MemoryMB})
		}
		hosts[i].GPUs++
		hosts[i].MemoryMB = min(hosts[i].MemoryMB, g.MemoryMB)
	}
	return hosts
}
