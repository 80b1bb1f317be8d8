package sched_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// scene is a cluster that a case's commands act upon. It begins as a new cluster
// does, under the default policy and tuning.
type scene struct {
	*schedtest.Cluster

	line    string // that is carried out
	began   model.Time
	outlook *search.Outlook // of the last search
}

func newScene(t *testing.T) *scene {
	c := schedtest.New(t, model.DefaultPolicy)
	c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
	return &scene{Cluster: c, began: c.Now}
}

// verbs are the commands of a case.
func verbs() map[string]func(*scene, words) []string {
	return map[string]func(*scene, words) []string{
		"policy":   quiet(func(s *scene, w words) { s.Must(&command.SetPolicy{Policy: w.names[0]}) }),
		"tune":     quiet((*scene).retune),
		"node":     quiet((*scene).addNode),
		"cordon":   quiet(func(s *scene, w words) { s.mode(w, model.ModeCordoned) }),
		"open":     quiet(func(s *scene, w words) { s.mode(w, model.ModeOpen) }),
		"limit":    quiet((*scene).setLimit),
		"share":    quiet((*scene).setShare),
		"pools":    quiet((*scene).setPools),
		"broken":   quiet(breakGPU),
		"label":    quiet(labelNode),
		"book":     quiet(bookGPUs),
		"maintain": quiet(bookNodes),
		"submit":   quiet((*scene).submitJob),
		"service":  quiet(askFor),
		"release":  quiet(func(s *scene, w words) { s.Must(&command.Release{Job: s.job(w), Task: model.AllTasks}) }),
		"hold":     quiet(func(s *scene, w words) { s.Must(&command.Hold{Job: s.job(w), Task: model.AllTasks}) }),
		"cancel":   quiet(func(s *scene, w words) { s.Must(&command.Cancel{Job: s.job(w), Task: model.AllTasks}) }),
		"priority": quiet(func(s *scene, w words) { s.Must(&command.SetPriority{Job: s.job(w), Class: classNamed(w)}) }),
		"start":    quiet(func(s *scene, _ words) { s.Must(&command.SetRunning{Running: true}) }),
		"stop":     quiet(func(s *scene, _ words) { s.Must(&command.SetRunning{}) }),
		"wait":     quiet(func(s *scene, w words) { s.pass(w.names[0]) }),
		"running":  quiet((*scene).runs),
		"end":      quiet((*scene).ends),
		"settle":   quiet(func(s *scene, _ words) { schedtest.Settle(s.Cluster) }),
		"plan":     (*scene).planned,
		"search":   searched,
		"between":  between,
		"order":    (*scene).inOrder,
		"explain":  (*scene).explained,
		"foresee":  (*scene).foreseen,
	}
}

func quiet(do func(*scene, words)) func(*scene, words) []string {
	return func(s *scene, w words) []string {
		do(s, w)
		return nil
	}
}

func (s *scene) number(w words, key string, otherwise uint32) uint32 {
	text, given := w.named[key]
	if !given {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		s.T.Fatalf("%s: %v", s.line, err)
	}
	return uint32(n)
}

func (s *scene) span(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.T.Fatalf("%s: %v", s.line, err)
	}
	return d
}

func (s *scene) job(w words) model.JobID {
	n, err := strconv.ParseUint(w.names[0], 10, 64)
	if err != nil {
		s.T.Fatalf("%s: %v", s.line, err)
	}
	return model.JobID(n)
}

// tasks are those that are named, as job or job_task.
func (s *scene) tasks(w words) (keys []model.TaskKey) {
	for _, name := range w.names {
		job, task, _ := strings.Cut(name, "_")
		j, err := strconv.ParseUint(job, 10, 64)
		n, _ := strconv.ParseUint(task, 10, 32)
		if err != nil {
			s.T.Fatalf("%s: %v", s.line, err)
		}
		keys = append(keys, model.TaskKey{Job: model.JobID(j), Task: uint32(n)})
	}
	return keys
}

func classNamed(w words) model.Class {
	for c := model.ClassLow; c <= model.ClassCritical; c++ {
		if c.String() == w.named["class"] {
			return c
		}
	}
	return model.ClassNormal
}

// pass lets time go by, the state's clock with it, and has reservations begin and end
// as a leader does.
func (s *scene) pass(span string) {
	s.Now = s.Now.Add(s.span(span))
	s.Must(&command.AdvanceClock{})
	b := &command.TurnBookings{}
	for id, v := range s.State.Bookings.All() {
		if v.End <= s.Now || v.Start <= s.Now && !v.Begun {
			b.IDs = append(b.IDs, id)
		}
	}
	if len(b.IDs) > 0 {
		s.Must(b)
	}
}

func (s *scene) retune(w words) {
	s.Tune(func(t *model.Tuning) {
		for name, value := range w.named {
			if err := t.Set(name, value); err != nil {
				s.T.Fatalf("%s: %v", s.line, err)
			}
		}
	})
}

func (s *scene) addNode(w words) {
	name := w.named["model"]
	if name == "" {
		name = "H100"
	}
	memory := s.number(w, "memory", 80_000)
	s.Node(w.names[0], int(s.number(w, "gpus", 8)), name, func(d *model.Device) { d.MemoryMB = memory })
}

func (s *scene) mode(w words, m model.NodeMode) {
	s.Must(&command.SetNodeMode{Node: model.NodeID(w.names[0]), Mode: m})
}

func scopeOf(w words) model.ScopeKey {
	switch w.names[0] {
	case "user":
		return model.ScopeKey{Kind: model.ScopeUser, Name: w.names[1]}
	case "project":
		return model.ScopeKey{Kind: model.ScopeProject, Name: w.names[1]}
	}
	return model.ScopeKey{Kind: model.ScopeCluster}
}

func (s *scene) setLimit(w words) {
	at := func(key string) int64 { return int64(int32(s.number(w, key, ^uint32(0)))) }
	l := model.Limit{
		Scope: scopeOf(w), GPUs: at("gpus"), Live: at("running"), Queued: at("queued"), GPUsPerJob: at("gpus_per_job"),
		RunTime: s.span(w.named["run_time"]), Reserved: int64(s.number(w, "owns", 0)),
		GPUTime: 3600 * int64(s.number(w, "gpu_hours", 0)), Period: s.span(w.named["period"]),
	}
	if w.named["over"] == "lower" {
		l.Over = model.OverLower
	}
	s.Must(&command.SetLimit{Limit: l})
}

func (s *scene) setPools(w words) {
	for m := model.PoolDynamic; m <= model.PoolHybrid; m++ {
		if m.String() == w.names[0] {
			s.Must(&command.SetPools{Mode: m, Part: s.number(w, "percent", 30) * 10})
		}
	}
}

// breakGPU has a node say that one of its GPUs is not to be used.
func breakGPU(s *scene, w words) {
	node, _ := s.State.Nodes.Get(model.NodeID(w.names[0]))
	b := &command.Inventory{Node: node.ID, Incarnation: model.Incarnation{1}, Epoch: node.Epoch}
	for k := range s.State.NodeGPUs.From(model.AddressKey{Node: node.ID}) {
		if k.Node != node.ID {
			break
		}
		g, _ := s.State.GPUs.Get(k.GPU)
		d := model.Device{ID: g.ID, Index: g.Index, Model: g.Model, MemoryMB: g.MemoryMB, Health: g.Health, Idle: true}
		if fmt.Sprint(g.Index) == w.names[1] {
			d.Health, d.Why = model.HealthQuarantined, "broken"
		}
		b.Devices = append(b.Devices, d)
	}
	s.Must(b)
}

func (s *scene) setShare(w words) {
	s.Must(&command.SetWeight{Weight: model.Weight{Scope: scopeOf(w), Shares: s.number(w, "shares", 100)}})
}

func (s *scene) submitJob(w words) {
	b := &command.Submit{Spec: schedtest.Spec(w.names[0], s.number(w, "gpus", 1), s.number(w, "nodes", 0)), Tasks: s.number(w, "tasks", 1)}
	b.Throttle = s.number(w, "throttle", 0)
	v := &b.Spec
	v.Class, v.Name, v.Project = classNamed(w), w.named["name"], w.named["project"]
	v.GPUModel, v.GPUMemoryMB = w.named["model"], s.number(w, "memory", 0)
	v.TimeLimit, v.Estimate = s.span(w.named["limit"]), s.span(w.named["estimate"])
	v.Preemptible, v.Held = w.named["preemptible"] == "yes", w.named["held"] == "yes"
	v.MaxRetries = s.number(w, "retries", 0)
	v.Constraint, v.Nodelist, v.Exclude = w.named["constraint"], w.named["nodelist"], w.named["exclude"]
	v.Placement, v.MinGPUs = w.named["placement"], s.number(w, "min", 0)
	v.Begin, v.Deadline = fromNow(s, w, "begin"), fromNow(s, w, "deadline")
	if on := s.number(w, "after", 0); on > 0 {
		b.After = []dependency.After{{Job: model.JobID(on), Kind: dependency.AfterOK}}
	}
	s.Must(b)
}

// runs has all ranks of tasks report that their processes run.
func (s *scene) runs(w words) {
	for _, key := range s.tasks(w) {
		s.Begin(key)
	}
}

// ends has all ranks of tasks end, by the signal if they are being stopped, and
// their GPUs be clean.
func (s *scene) ends(w words) {
	for _, key := range s.tasks(w) {
		task, _ := s.State.Tasks.Get(key)
		a, _ := s.State.Attempts.Get(task.Newest())
		exit := model.Exit{Code: int32(s.number(w, "code", 0)), Delivered: a.Stop, Ran: s.Now.Sub(a.Started)}
		if a.Started == 0 {
			exit.Ran = 0
		}
		s.Report(key, model.Progress{Phase: model.RankExited, Exit: exit})
	}
}

// planned makes a plan, carries it out and says what it did.
func (s *scene) planned(words) []string {
	bodies, _ := sched.Plan(&s.State, s.Now)
	return s.carryOut(bodies)
}

func (s *scene) carryOut(bodies []command.Body) (out []string) {
	before := s.State
	if len(bodies) > 0 {
		s.Must(bodies...)
	}
	for _, b := range bodies {
		switch b := b.(type) {
		case *command.Place:
			var slots []model.SlotKey
			for _, r := range b.Ranks {
				slots = append(slots, r.Slots...)
			}
			out = append(out, fmt.Sprintf("place %s on %s", b.Attempt.TaskKey(), gpusOf(&before, slots)))
		case *command.Grant:
			out = append(out, fmt.Sprintf("grant %s on %s", b.ID, gpusOf(&before, b.Placement.Slots)))
		case *command.Suspend:
			out = append(out, "suspend"+tasksOf(b.Attempts))
		case *command.Preempt:
			out = append(out, fmt.Sprintf("preempt%s for %s, which gets %s", tasksOf(b.Victims), calledIn(&before, b.Beneficiary), gpusOf(&before, b.Slots)))
		case *command.Steer: // what the next pass goes on from
		default:
			out = append(out, b.Kind().String())
		}
	}
	if len(out) == 0 {
		out = []string{"nothing"}
	}
	return out
}

func (s *scene) inOrder(words) (out []string) {
	for e := range queue.Order(&s.State, s.Now, 0) {
		line := fmt.Sprintf("%d. %s", e.Position, calledIn(&s.State, e.Task))
		if e.Held {
			line = "held: " + e.Task.String()
		}
		out = append(out, line)
	}
	return out
}

func (s *scene) explained(w words) []string {
	a, service := s.State.Allocations.Get(model.AllocationID(w.names[0]))
	e, waits := explain.Allocation(&s.State, s.Now, a.ID)
	if !service {
		e, waits = explain.Task(&s.State, s.Now, s.tasks(w)[0])
	}
	if !waits {
		return []string{"does not wait"}
	}
	if len(e.Blockers) == 0 {
		return []string{e.Summary}
	}
	out := []string{fmt.Sprintf("position %d", e.Position)}
	for _, v := range e.Ahead {
		if v.Service != "" {
			out = append(out, "after service "+string(v.Service))
		}
	}
	for _, b := range e.Blockers {
		out = append(out, string(b.Code)+": "+b.Message())
	}
	for _, u := range e.Unblock {
		out = append(out, "unless "+u.Message())
	}
	schedtest.CheckUnblock(s.T, s.Cluster, &e)
	return out
}

// foreseen says what is expected, in time from now.
func (s *scene) foreseen(w words) (out []string) {
	f := forecast.Foresee(&s.State, s.Now)
	if slices.Contains(w.names, "in-order") {
		f = forecast.ForeseeWithin(&s.State, s.Now, 0)
	}
	for _, c := range f.Running {
		out = append(out, fmt.Sprintf("%s runs on %v, ends %s", c.Task, c.Nodes, span3(s.Now, c.End))+pausesOf(s.Now, &c))
	}
	for _, c := range f.Waiting {
		line := fmt.Sprintf("%s starts %s", calledIn(&s.State, c.Task), span3(s.Now, c.Start))
		if c.Start.Known {
			line += fmt.Sprintf(" on %v, ends %s", c.Nodes, span3(s.Now, c.End))
			if _, job := s.Asks(c.Task); c.GPUs != job.Spec.GPUs {
				line += fmt.Sprintf(", with %d GPUs", c.GPUs)
			}
		}
		if c.Why != "" {
			line += ", after " + string(c.Why)
		}
		if c.Late {
			line += ", not before its deadline"
		}
		out = append(out, line+pausesOf(s.Now, &c))
	}
	if f.Beyond > 0 {
		out = append(out, fmt.Sprintf("and %d more", f.Beyond))
	}
	return out
}

// tasksOf is " 1 2_3", the tasks of attempts.
func tasksOf(attempts []model.AttemptKey) (out string) {
	for _, a := range attempts {
		out += " " + a.TaskKey().String()
	}
	return out
}

// gpusOf is "n1[0 1] n2[3]": GPUs by their places on their nodes.
func gpusOf(s *state.State, slots []model.SlotKey) string {
	at := map[model.NodeID][]uint32{}
	for _, k := range slots {
		g, _ := s.GPUs.Get(k.GPU)
		at[g.Node] = append(at[g.Node], g.Index)
	}
	var out []string
	for id := range s.Nodes.All() {
		if places := at[id]; len(places) > 0 {
			slices.Sort(places)
			out = append(out, fmt.Sprint(id, places))
		}
	}
	return strings.Join(out, " ")
}
