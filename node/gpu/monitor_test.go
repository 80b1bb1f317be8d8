package gpu

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// driver is a probe whose GPUs a test bends.
type driver struct {
	mu      sync.Mutex
	devices []model.Device
	err     error
	looks   map[model.GPUID]Look
	hangs   map[model.GPUID]chan struct{}
	calls   map[model.GPUID]int
	most    int // calls of Look at one time for one GPU
}

func newDriver(ids ...model.GPUID) *driver {
	d := &driver{looks: map[model.GPUID]Look{}, hangs: map[model.GPUID]chan struct{}{}, calls: map[model.GPUID]int{}}
	for i, id := range ids {
		d.devices = append(d.devices, model.Device{ID: id, Index: uint32(i), PCI: "pci-" + string(id)})
		d.looks[id] = Look{Reading: judge.Reading{Recovery: judge.RecoveryNone}}
	}
	return d
}

func (d *driver) List() ([]model.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hang := d.hangs["list"]; hang != nil {
		d.mu.Unlock()
		<-hang
		d.mu.Lock()
	}
	return append([]model.Device(nil), d.devices...), d.err
}

func (d *driver) Look(id model.GPUID, _ time.Time) Look {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[id]++
	d.most = max(d.most, d.calls[id])
	defer func() { d.calls[id]-- }()
	if hang := d.hangs[id]; hang != nil {
		d.mu.Unlock()
		<-hang
		d.mu.Lock()
	}
	l := d.looks[id]
	d.looks[id] = func(l Look) Look { l.Xids = nil; return l }(l)
	l.Processes = append([]Process(nil), l.Processes...)
	return l
}

func (d *driver) Watch(ctx context.Context) { <-ctx.Done() }

// bend changes the driver.
func (d *driver) bend(change func(*driver)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// owner has one process, and one GPU.
type owner struct{}

func (owner) Mine(pid int, _ model.GPUID) bool { return pid == 1 }

func (owner) Holder(id model.GPUID) string {
	if id == "a" {
		return "job"
	}
	return ""
}

// watch runs a monitor inside a bubble, until the returned function is called.
func watch(t *testing.T, o Options) (m *Monitor, stop func()) {
	t.Helper()
	m, err := NewMonitor(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx, owner{})
	}()
	return m, func() {
		cancel()
		<-done
	}
}

func healths(m *Monitor) string {
	var out []string
	for _, d := range m.Inventory() {
		out = append(out, string(d.ID)+" "+d.Health.String())
	}
	return strings.Join(out, ", ")
}

func process(pid int32) Process {
	return Process{Process: model.Process{PID: pid, User: "ann"}, Name: "python"}
}

// What a GPU measures is remembered for a quarter of an hour, and no longer.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a", "b")
		m, stop := watch(t, Options{Probe: d})
		start := time.Now()
		d.bend(func(d *driver) { d.looks["a"] = Look{Point: Point{Utilization: 7}} })
		time.Sleep(20*time.Minute + time.Millisecond)
		all := m.History(start)[0].Points
		if len(all) != points || all[0].At.Before(time.Now().Add(-Remembered-time.Second)) || all[0].Utilization != 7 {
			t.Errorf("%d points since %s", len(all), all[0].At)
		}
		for i := range all[1:] {
			if all[i+1].At.Sub(all[i].At) != time.Second {
				t.Fatalf("point %d comes %s after the one before", i+1, all[i+1].At.Sub(all[i].At))
			}
		}
		if last := m.History(time.Now().Add(-10 * time.Second))[0].Points; len(last) != 10 {
			t.Errorf("%d points of the last ten seconds", len(last))
		}
		if h := m.History(time.Now().Add(time.Hour)); len(h) != 2 || h[1].Device.ID != "b" || len(h[1].Points) != 0 {
			t.Errorf("the future: %+v", h)
		}
		stop()
	})
}

// A call that hangs blocks no caller for longer than patience, concerns no other GPU, is never made twice,
// and quarantines after a while.
func TestHangingDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a", "b")
		m, stop := watch(t, Options{Probe: d})
		hang := make(chan struct{})
		d.bend(func(d *driver) { d.hangs["a"] = hang })
		began := time.Now()
		if v := m.Check([]model.GPUID{"a", "b"}); v[0].Known || !v[1].Clean() {
			t.Errorf("%+v", v)
		}
		if waited := time.Since(began); waited > patience {
			t.Errorf("a check took %s", waited)
		}
		began = time.Now()
		if got := healths(m); got != "a healthy, b healthy" || time.Since(began) > 0 {
			t.Errorf("at first: %s, after %s", got, time.Since(began))
		}
		time.Sleep(2 * time.Minute)
		if got := healths(m); got != "a quarantined, b healthy" {
			t.Errorf("later: %s", got)
		}
		if s := m.Samples(); len(s) != 1 || s[0].GPU != "b" {
			t.Errorf("samples: %+v", s)
		}
		d.bend(func(d *driver) { delete(d.hangs, "a"); close(hang) })
		time.Sleep(time.Minute)
		most := 0
		d.bend(func(d *driver) { most = d.most })
		if got := healths(m); got != "a healthy, b healthy" || most != 1 {
			t.Errorf("in the end: %s, with up to %d calls at a time", got, most)
		}
		stop()
	})
}

// The end does not wait for a driver that hangs.
func TestEndWhileHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a")
		_, stop := watch(t, Options{Probe: d})
		hang := make(chan struct{})
		d.bend(func(d *driver) { d.hangs["a"] = hang })
		time.Sleep(5 * time.Second)
		began := time.Now()
		stop()
		if waited := time.Since(began); waited > 2*every {
			t.Errorf("it waited for %s", waited)
		}
		close(hang)
	})
}

// A stranger makes a GPU unmanaged, the owner's process does not.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a", "b")
		d.looks["a"], d.looks["b"] = Look{Processes: []Process{process(1)}}, Look{Processes: []Process{process(1), process(2)}}
		m, stop := watch(t, Options{Probe: d})
		if got := healths(m); got != "a healthy, b healthy" {
			t.Errorf("before anybody can say whose they are: %s", got)
		}
		time.Sleep(time.Minute)
		all := m.Inventory()
		if healths(m) != "a healthy, b unmanaged" || all[0].Idle || all[1].Idle || !strings.Contains(all[1].Why, "python (pid 2) of ann") {
			t.Errorf("%+v", all)
		}
		if s := m.Samples(); !s[1].Processes[0].Managed || s[1].Processes[1].Managed {
			t.Errorf("%+v", s)
		}
		d.bend(func(d *driver) { d.looks["b"] = Look{} })
		time.Sleep(time.Minute)
		if all := m.Inventory(); healths(m) != "a healthy, b healthy" || !all[1].Idle {
			t.Errorf("after it: %+v", all)
		}
		stop()
	})
}

// A caller that waits for a change of a verdict is notified.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a")
		m, stop := watch(t, Options{Probe: d})
		<-m.Changed() // the GPU was found
		d.bend(func(d *driver) { d.looks["a"] = Look{Reading: judge.Reading{Xids: []judge.Xid{{Code: 79}}}} })
		began := time.Now()
		<-m.Changed()
		if waited := time.Since(began); waited > every {
			t.Errorf("it took %s", waited)
		}
		if got := healths(m); got != "a quarantined" {
			t.Error(got)
		}
		stop()
	})
}

// A job that holds a GPU without using it causes one warning.
func TestWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a", "b")
		m, stop := watch(t, Options{Probe: d})
		time.Sleep(29 * time.Minute)
		if w := m.Warnings(); len(w) != 0 {
			t.Errorf("too early: %+v", w)
		}
		time.Sleep(2 * time.Minute)
		if w := m.Warnings(); len(w) != 1 || w[0].GPU != "a" || !strings.Contains(w[0].Text, "0 %") {
			t.Errorf("%+v", w)
		}
		if s := m.Samples(); s[0].Unused < 30*time.Minute || s[1].Unused != 0 {
			t.Errorf("unused for %s and %s", s[0].Unused, s[1].Unused)
		}
		d.bend(func(d *driver) { d.looks["a"] = Look{Point: Point{Utilization: 1}} })
		time.Sleep(2 * time.Second)
		if w := m.Warnings(); len(w) != 0 {
			t.Errorf("it works again: %+v", w)
		}
		stop()
	})
}

// An agent that gets no processor does not blame its driver: a span of the wait counts only if it ended in time, and after many that
// did not there is no answer and no fault.
func TestOnlyAnAttentiveWaitBlamesTheDriver(t *testing.T) {
	starved := func(took time.Duration, spans int) (w waited, over, driver bool) {
		for range spans {
			if over, driver = w.add(took); over {
				break
			}
		}
		return w, over, driver
	}
	if w, over, driver := starved(span, 100); !over || !driver || w.all != int(patience/span) {
		t.Errorf("a driver that hangs: over %t, to blame %t after %d spans", over, driver, w.all)
	}
	if w, over, driver := starved(3*span, 100); !over || driver || w.all != mostSpan {
		t.Errorf("an agent without a processor: over %t, to blame %t after %d spans", over, driver, w.all)
	}
	if _, over, _ := starved(3*span, 20); over {
		t.Error("an agent without a processor gives up at once")
	}
}
