package history

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// rec returns a record with one known value.
func rec(m Minute, term uint64, allocated int64) Record {
	v := noValues()
	v[GPUsAllocated] = allocated
	return Record{Minute: m, Term: term, Values: v}
}

func (r *Ring) fill(now Minute, list ...Record) *Ring {
	for _, one := range list {
		r.Put(one, now)
	}
	return r
}

// Of two records for one minute the one of the higher term counts, in whatever order they come.
func TestTheHigherTermCounts(t *testing.T) {
	t.Parallel()
	low, high := rec(100, 2, 5), rec(100, 3, 1)
	for _, order := range [][]Record{{low, high}, {high, low}} {
		var r Ring
		if got := r.fill(100, order...).Between(0, 1000); !reflect.DeepEqual(got, []Record{high}) {
			t.Errorf("%+v", got)
		}
	}
	a, b := rec(7, 2, 5), rec(7, 2, 6) // against the protocol; all agree all the same
	var one, other Ring
	if !reflect.DeepEqual(one.fill(7, a, b), other.fill(7, b, a)) {
		t.Error("two records of one term depend on their order")
	}
}

// A ring holds 24 hours and takes nothing that is older, or far ahead of the cluster's clock.
func TestARingIsBounded(t *testing.T) {
	t.Parallel()
	var r Ring
	const now = 10_000
	for m := Minute(now - 2*Kept); m <= now+100; m++ {
		want := m > now-Kept && m <= now+ahead
		if r.Put(rec(m, 1, 1), now) != want {
			t.Fatalf("minute %d of %d: taken %t", m, now, !want)
		}
	}
	if len(r.list) != Kept+ahead || r.Put(rec(now, 1, 1), now) {
		t.Errorf("%d records, or one taken twice", len(r.list))
	}
	if r.Forget(now) || !r.Forget(now+10) || r.Has(now-Kept+10) || !r.Has(now-Kept+11) || !r.Has(now+ahead) {
		t.Errorf("%d records are left, from %d", len(r.list), r.list[0].Minute)
	}
	if r.Forget(3); len(r.list) != Kept+ahead-10 {
		t.Errorf("an old clock costs records: %d are left", len(r.list))
	}
}

// What another peer lacks follows from the runs that it has: gaps, what comes later, and lower terms.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	var mine, other Ring
	for m := Minute(100); m < 200; m++ {
		if m < 140 || m >= 150 {
			mine.Put(rec(m, 3, int64(m)), 200)
		}
		switch {
		case m < 110:
			other.Put(rec(m, 3, int64(m)), 200)
		case m < 120:
			other.Put(rec(m, 2, 9), 200)
		case m >= 145 && m < 160:
			other.Put(rec(m, 4, 8), 200)
		}
	}
	if got := other.Runs(); !reflect.DeepEqual(got, []Run{{100, 10, 3}, {110, 10, 2}, {145, 15, 4}}) {
		t.Fatalf("runs %+v", got)
	}
	missing := mine.Missing(other.Runs())
	if len(missing) != 10+20+40 || missing[0].Minute != 110 || missing[30].Minute != 160 {
		t.Fatalf("%d are missing: %+v", len(missing), missing)
	}
	back := other.Missing(mine.Runs())
	other.fill(200, missing...)
	mine.fill(200, back...)
	if !reflect.DeepEqual(mine, other) || len(mine.Missing(other.Runs())) != 0 {
		t.Errorf("they differ after an exchange: %+v and %+v", mine.Runs(), other.Runs())
	}
	if all := mine.Missing(nil); len(all) != len(mine.list) {
		t.Errorf("a peer without records lacks %d of %d", len(all), len(mine.list))
	}
}

// A step has the mean or the greatest of its values; a gap is none, and counts for nothing in a longer step.
func TestColumns(t *testing.T) {
	t.Parallel()
	var r Ring
	r.fill(110, rec(100, 1, 10), rec(101, 1, 20), rec(103, 1, None), rec(104, 1, 40), rec(105, 1, 7))
	show := func(list []*float64) (out []float64) {
		for _, v := range list {
			if v == nil {
				out = append(out, None)
				continue
			}
			out = append(out, *v)
		}
		return out
	}
	mean, most := Column{Series: GPUsAllocated}, Column{Series: GPUsAllocated, Max: true}
	for _, c := range []struct {
		from        Minute
		step, steps int
		column      Column
		want        []float64
	}{
		{100, 1, 6, mean, []float64{10, 20, None, None, 40, 7}},
		{99, 1, 3, mean, []float64{None, 10, 20}},
		{98, 2, 5, mean, []float64{None, 15, None, 23.5, None}},
		{98, 2, 5, most, []float64{None, 20, None, 40, None}},
		{100, 5, 1, mean, []float64{23.33}},
		{102, 1, 2, most, []float64{None, None}},
	} {
		if got := show(Columns(r.Between(c.from, c.from+Minute(c.step*c.steps)), c.from, c.step, c.steps,
			[]Column{c.column})[0]); !reflect.DeepEqual(got, c.want) {
			t.Errorf("from %d in steps of %d: %v, want %v", c.from, c.step, got, c.want)
		}
	}
}

// The values of a moment, from the state and what GPUs have measured.
func TestTake(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 8)
	c.Node("n2", 4)
	value := func(v Values, s Series, want float64) {
		t.Helper()
		if got, known := v.Get(s); got != want || known != (want >= 0) && want != 0 {
			t.Errorf("%s is %g (%t), want %g", s, got, known, want)
		}
	}
	var samples []model.Sample
	now := func() model.Time { return c.State.Settings().Clock }
	v := Take(&c.State, samples, now())
	for s, want := range map[Series]float64{
		GPUsTotal: 12, GPUsFree: 12, GPUsAllocated: 0, GPUsBusy: 0, JobsWaiting: 0, OldestWait: 0,
		Nodes: 2, NodesReady: 2,
	} {
		value(v, s, want)
	}
	for _, s := range []Series{WaitP50, WaitP95, Utilization, Power, MemoryUsed} {
		if got, known := v.Get(s); known {
			t.Errorf("%s is %g with nothing to measure", s, got)
		}
	}
	for i, wait := range []time.Duration{10 * time.Second, 20 * time.Second, 90 * time.Second} {
		job := c.Submit(uint32(1 + i))
		c.Wait(wait)
		c.Start(c.Place(job))
	}
	c.Submit(1)
	c.Wait(7 * time.Second)
	c.Submit(1)
	samples = measured(&c.State)
	n.Renew()
	v = Take(&c.State, samples, now())
	for s, want := range map[Series]float64{
		GPUsTotal: 12, GPUsFree: 6, GPUsAllocated: 6, GPUsIdleHeld: 1, GPUsBusy: 4, JobsWaiting: 2, JobsRunning: 3,
		WaitP50: 20, WaitP95: 90, OldestWait: 7, Power: 1200, MemoryUsed: 12, Utilization: 18.2,
	} {
		value(v, s, want)
	}
	c.Wait(time.Hour)
	if v = Take(&c.State, nil, now()); v[WaitP50] != None || v[GPUsBusy] != None || v[Utilization] != None {
		t.Errorf("an hour later, without samples: %v", v)
	}
}

// The longest wait is one without run time: a job that has run for long and waits again has not waited for that time.
func TestTheLongestWaitIsWithoutRunTime(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 1)
	job := c.Submit(1)
	c.Wait(time.Minute)
	a := c.Place(job)
	c.Start(a)
	c.Wait(time.Hour)
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks})
	c.Report(model.Progress{
		Rank: a.Rank(0), Phase: model.RankExited,
		Exit: model.Exit{Signal: 15, Delivered: model.ReasonRequeue, Ran: time.Hour},
	})
	c.Wait(10 * time.Second)
	n.Renew()
	v := Take(&c.State, nil, c.Now)
	if got, _ := v.Get(OldestWait); got != 70 {
		t.Errorf("the longest wait is %g s", got)
	}
	c.Submit(1)
	c.Wait(2 * time.Minute)
	n.Renew()
	v = Take(&c.State, nil, c.Now)
	if got, _ := v.Get(OldestWait); got != 190 {
		t.Errorf("later it is %g s", got)
	}
}

// measured returns samples of all GPUs: of those that are held one is idle, one does not know its utilization, and the
// others are at 50 %.
func measured(s *state.State) (samples []model.Sample) {
	held := 0
	for id := range s.GPUs.All() {
		slot, _ := s.Slots.Get(model.SlotKey{GPU: id})
		one := model.Sample{GPU: id, PowerWatts: 100, MemoryUsedMB: 1024}
		if slot.Owner != model.OwnerNone {
			held++
			switch one.Utilization = 50; held {
			case 1:
				one.Utilization, one.Unused = 0, time.Minute
			case 2:
				one.Utilization, one.Unmeasured = 0, true
			}
		}
		samples = append(samples, one)
	}
	return append(samples, model.Sample{GPU: "GPU-of-another-cluster", PowerWatts: 9999})
}

// Names lead to columns and back.
func TestNamesOfColumns(t *testing.T) {
	t.Parallel()
	for _, s := range AllSeries() {
		for _, c := range []Column{{Series: s}, {Series: s, Max: true}} {
			if got, found := ColumnOf(c.String()); !found || got != c {
				t.Errorf("%s gives %+v, %t", c, got, found)
			}
		}
		if s.What() == "" {
			t.Errorf("%s has no meaning", s)
		}
	}
	for _, name := range []string{"", "gpus", "gpus_total_max_max", "_max", "series 99"} {
		if c, found := ColumnOf(name); found {
			t.Errorf("%q gives %s", name, c)
		}
	}
}

// A book that has nothing to write copies none of its records, each second.
func TestNothingToSaveCostsNothing(t *testing.T) {
	b := NewBook(Config{Path: filepath.Join(t.TempDir(), "cluster.json")})
	b.opened = true
	for m := range Minute(Kept) {
		b.ring.Put(rec(m+1, 1, 1), Kept)
	}
	if n := testing.AllocsPerRun(10, func() { b.save("c1") }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}
