package simulate

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// past is a task that asked for GPUs from one second on and ran from another to a third.
func past(id string, gpus uint32, eligible, began, ended int, change ...func(*Job)) Ended {
	at := time.Unix(1_700_000_000, 0)
	e := Ended{
		Job:      Job{ID: id, User: "ann", GPUs: gpus, Duration: time.Duration(ended-began) * time.Second},
		Eligible: at.Add(time.Duration(eligible) * time.Second), Done: at.Add(time.Duration(ended) * time.Second),
	}
	for _, c := range change {
		c(&e.Job)
	}
	return e
}

func ids(jobs []Job) (out []string) {
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

// A history is in order of submission, from the first on, and has what its nodes can
// run.
func TestNewHistory(t *testing.T) {
	hosts := []Host{{GPUs: 8, Model: "A", MemoryMB: 80_000}, {GPUs: 4, Model: "B", MemoryMB: 40_000}}
	ask := func(nodes uint32, kind string, memory uint32) func(*Job) {
		return func(j *Job) { j.Nodes, j.Told.Model, j.Told.MemoryMB = nodes, kind, memory }
	}
	h := NewHistory(hosts, []Ended{
		past("late", 1, 50, 60, 70), past("first", 12, 10, 20, 30), past("gang", 8, 20, 20, 21, ask(2, "", 0)), past("kind", 8, 21, 30, 31, ask(0, "A", 80_000)),
		past("too large", 13, 30, 40, 50), past("too wide", 10, 30, 40, 50, ask(2, "", 0)), past("other kind", 5, 30, 40, 50, ask(0, "B", 0)),
		past("no such kind", 1, 30, 40, 50, ask(0, "C", 0)), past("more memory", 9, 30, 40, 50, ask(0, "", 80_000)),
		past("never ran", 1, 30, 50, 50), past("ran before it came", 1, 40, 30, 45),
	}, false)
	if got := ids(h.Jobs); !slices.Equal(got, []string{"first", "gang", "kind", "ran before it came", "late"}) || h.Left != 6 {
		t.Errorf("%v, and %d are left out", got, h.Left)
	}
	if j := h.Jobs[4]; j.Submit != 40*time.Second || j.Ended != time.Minute || h.Begin.Unix() != 1_700_000_010 {
		t.Errorf("%+v from %s", j, h.Begin)
	}
	if j := h.Jobs[3]; j.Duration != 5*time.Second {
		t.Errorf("it ran for %s, and was there for 5 s", j.Duration)
	}
}

// What really happened is measured as a play is: by hand-made figures.
func TestActual(t *testing.T) {
	h := NewHistory([]Host{{GPUs: 8}}, []Ended{
		past("a", 8, 0, 0, 100), past("b", 4, 50, 150, 200), past("c", 2, 150, 160, 210),
	}, false)
	r := h.Actual(h.Hosts)
	// From 50 to 100 s jobs ask for 12 GPUs and 8 work; before they ask for just 8.
	if r.Policy != "actual" || r.Jobs != 3 || r.Loaded != 100 || math.Abs(r.Utilization-100) > 1e-9 || r.Makespan != 210 {
		t.Errorf("%+v", r)
	}
	if r.AvgWait != 110.0/3 || r.MaxWait*3600 != 100 || r.AvgJCT != 310.0/3 {
		t.Errorf("%+v", r)
	}
	h = NewHistory([]Host{{GPUs: 4}}, []Ended{past("a", 2, 0, 0, 100), past("b", 2, 20, 60, 100)}, false)
	if r := h.Actual(h.Hosts); r.Loaded != 80 || math.Abs(r.Utilization-100*(2*40+4*40)/(4*80.0)) > 1e-9 {
		t.Errorf("two GPUs idle for 40 s of 80: %+v", r)
	}
	if r := h.Actual([]Host{{GPUs: 40}}); r.Loaded != 0 || r.Utilization != 0 {
		t.Errorf("never all asked for: %+v", r)
	}
	// Played, the same tasks need not have waited.
	o := options("fcfs")
	o.Hosts = h.Hosts
	if r, err := Play(t.Context(), h.Jobs, o); err != nil || r.Makespan != 100 || r.AvgWait != 0 || math.Abs(r.Utilization-100) > 1e-9 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Where earlier tasks are not known, what counts begins with the first end: before it
// something unknown may have run.
func TestCutHistory(t *testing.T) {
	ended := []Ended{past("a", 4, 0, 50, 100), past("b", 4, 20, 100, 200), past("c", 4, 100, 200, 300), past("d", 4, 150, 300, 400)}
	hosts := []Host{{GPUs: 4}}
	whole, cut := NewHistory(hosts, ended, false), NewHistory(hosts, ended, true)
	if whole.Measured != 4 || whole.From != 0 || cut.Measured != 2 || cut.From != 100*time.Second || len(cut.Jobs) != 4 {
		t.Errorf("%+v, %+v", whole, cut)
	}
	if r := whole.Actual(hosts); r.Jobs != 4 || r.AvgWait != (50+80+100+150)/4.0 || r.Loaded != 400 || r.Utilization != 100*350/400.0 {
		t.Errorf("all: %+v", r)
	}
	if r := cut.Actual(hosts); r.Jobs != 2 || r.AvgWait != (100+150)/2.0 || r.Loaded != 300 || r.Utilization != 100 {
		t.Errorf("since the first end: %+v", r)
	}
	o := options("fcfs")
	o.Hosts, o.From = hosts, cut.From
	// Played, the four run from 0 to 50, 150, 250 and 350.
	if r, err := Play(t.Context(), cut.Jobs, o); err != nil || r.Jobs != 2 || r.AvgWait != (50+100)/2.0 || r.Loaded != 250 ||
		r.Makespan != 350 {
		t.Errorf("played: %+v, %v", r, err)
	}
	if h := NewHistory(hosts, ended[:2], true); h.Measured != 2 || h.From != 0 {
		t.Errorf("all came before the first end: %+v", h)
	}
}

// Jobs of a history are played as their users told of them.
func TestPlayAsTold(t *testing.T) {
	o := options("priority")
	o.Hosts, o.Estimates, o.Preemptible = []Host{{GPUs: 8, Model: "A", MemoryMB: 1000}, {GPUs: 2, Model: "B", MemoryMB: 1000}},
		Estimates{Told: true}, -1
	jobs := []Job{
		{ID: "a", User: "u", GPUs: 8, Duration: 100 * time.Second, Told: Told{Model: "A"}},
		{ID: "b", User: "u", Submit: time.Second, GPUs: 8, Duration: 100 * time.Second, Told: Told{Class: model.ClassLow, Model: "A"}},
		{ID: "c", User: "u", Submit: 2 * time.Second, GPUs: 8, Duration: 100 * time.Second, Told: Told{Class: model.ClassNormal, Model: "A"}},
		{ID: "d", User: "u", Submit: 3 * time.Second, GPUs: 2, Nodes: 1, Duration: 10 * time.Second, Told: Told{Model: "B"}},
	}
	r, err := Play(t.Context(), jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Makespan != 300 || r.MaxWait*3600 != 199 || r.Preemptions != 0 || r.P50JCT != 100 {
		t.Errorf("%+v", r)
	}
	o.Policy, o.Tuning.MinRun = "sjf", 0
	jobs = []Job{
		{ID: "a", User: "u", GPUs: 8, Duration: 10000 * time.Second, Told: Told{Model: "A", Preemptible: true, Estimate: 10000 * time.Second}},
		{ID: "b", User: "u", Submit: 1000 * time.Second, GPUs: 8, Duration: 600 * time.Second, Told: Told{Model: "A", Estimate: 600 * time.Second}},
	}
	if r, err := Play(t.Context(), jobs, o); err != nil || r.Preemptions != 1 {
		t.Errorf("one that yields: %+v, %v", r, err)
	}
	jobs[0].Told.Preemptible = false
	if r, err := Play(t.Context(), jobs, o); err != nil || r.Preemptions != 0 {
		t.Errorf("one that does not: %+v, %v", r, err)
	}
}

// A state's history is of the newest tasks that ran and have ended, and of nodes that
// take work.
func TestHistoryOf(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	c.Node("n2", 2)
	c.Do(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
	n.Inventory(func(d *model.Device) {
		if d.Index == 3 {
			d.Health = model.HealthQuarantined
		}
	})
	run := func(key model.TaskKey, ran time.Duration) {
		a := c.PlaceTask(key)
		c.Start(a)
		c.Wait(ran)
		c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Ran: ran}}))
		n.Clean()
	}
	old := c.Submit(1)
	run(model.TaskKey{Job: old}, time.Minute)
	canceled := c.Submit(1)
	c.Do(&command.Cancel{Job: canceled, Task: model.AllTasks})
	array := c.Submit(2, func(b *command.Submit) {
		b.Tasks, b.Spec.Name, b.Spec.Preemptible, b.Spec.Estimate, b.Spec.Class = 2, "sweep", true, time.Hour, model.ClassHigh
	})
	c.Wait(10 * time.Second)
	run(model.TaskKey{Job: array}, time.Minute)
	run(model.TaskKey{Job: array, Task: 1}, 2*time.Minute)
	c.Start(c.Place(c.Submit(1)))

	h := HistoryOf(&c.State, 10, c.Now.Time())
	if got := ids(h.Jobs); !slices.Equal(got, []string{"1", "3", "3.1"}) || h.Left != 0 || h.From != 0 {
		t.Fatalf("%v, and %d are left out; measured from %s", got, h.Left, h.From)
	}
	if len(h.Hosts) != 1 || h.Hosts[0].GPUs != 3 || h.Hosts[0].Model == "" || h.Hosts[0].MemoryMB == 0 {
		t.Errorf("on %+v", h.Hosts)
	}
	j := h.Jobs[2]
	want := Told{Name: "sweep", Class: model.ClassHigh, Estimate: time.Hour, Preemptible: true}
	if j.Told.Project, j.Told.TimeLimit = "", 0; j.Told != want || j.Duration != 2*time.Minute || j.Ended-j.Submit < 190*time.Second {
		t.Errorf("%+v", j)
	}
	if h := HistoryOf(&c.State, 3, c.Now.Time()); h.From == 0 || h.Measured != 2 {
		t.Errorf("as many as are asked for: %d from %s", h.Measured, h.From)
	}
	if got := ids(HistoryOf(&c.State, 1, c.Now.Time()).Jobs); !slices.Equal(got, []string{"3"}) {
		t.Errorf("of one: %v", got)
	}
	first, _ := c.State.Jobs.Get(1)
	if h := HistoryOf(&c.State, 10, first.Ended.Time()); !slices.Equal(ids(h.Jobs), []string{"1"}) || h.From != 0 {
		t.Errorf("by the end of the first: %v, measured from %s", ids(h.Jobs), h.From)
	}
}

// A history keeps where tasks may run, and how many GPUs they really got of which they would have taken more.
func TestHistoryKeepsPlaces(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	c.Node("n2", 4)
	c.Do(&command.SetNodeLabels{Node: "n1", Changes: "ssd,zone=a"})
	id := c.Submit(8, func(b *command.Submit) {
		s := &b.Spec
		s.MinGPUs, s.Constraint, s.Nodelist, s.Exclude, s.Placement = 2, "zone=a", "n1,n2", "n3", "spread"
	})
	a := c.PlaceTask(model.TaskKey{Job: id})
	c.Start(a)
	c.Wait(time.Minute)
	c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Ran: time.Minute}}))
	n.Clean()
	h := HistoryOf(&c.State, 10, c.Now.Time())
	if len(h.Jobs) != 1 {
		t.Fatalf("%+v", h)
	}
	had, _ := c.State.Jobs.Get(id)
	spec, err := specOf(&h.Jobs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	want := had.Spec.Shape()
	if want.GPUs, want.MinGPUs = 4, 0; spec.Shape() != want {
		t.Errorf("played as %+v, not %+v", spec.Shape(), want)
	}
	if len(h.Hosts) != 2 || h.Hosts[0].Name != "n1" || h.Hosts[0].Labels != "ssd,zone=a" || h.Hosts[1].Labels != "" {
		t.Errorf("on %+v", h.Hosts)
	}
	o := options("fcfs")
	o.Hosts, o.Estimates = h.Hosts, Estimates{Told: true}
	var log bytes.Buffer
	o.Log = &log
	if _, err := Play(t.Context(), append(h.Jobs, h.Jobs...), o); err != nil || strings.Contains(log.String(), "n2:") {
		t.Errorf("%v, played on another node:\n%s", err, log.String())
	}
	if h := NewHistory(h.Hosts[1:], []Ended{{Job: h.Jobs[0], Done: time.Unix(60, 0)}}, false); h.Left != 1 {
		t.Errorf("no node that is left has the label: %+v", h)
	}
}
