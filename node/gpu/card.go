package gpu

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// card is one GPU under observation. The monitor's lock guards the fields below it.
type card struct {
	id       model.GPUID
	turn     chan struct{} // holds a token during a call of the driver about the GPU
	sweeping atomic.Bool   // the look of a sweep is under way

	device model.Device
	record judge.Record
	last   Look // that the driver has answered
	ring   ring
	unused judge.Unused
	warned bool // of its being unused
}

func newCard(d model.Device, r judge.Record) *card {
	return &card{id: d.ID, turn: make(chan struct{}, 1), device: d, record: r}
}

// silent returns the look of a GPU whose call does not return.
func silent() Look {
	return Look{Reading: judge.Reading{Trouble: judge.TroubleSilent, Detail: fmt.Sprintf("a call takes longer than %s", patience)}}
}

// ask looks at a GPU, unless its driver did not answer lately.
func (m *Monitor) ask(c *card, called time.Time) Look {
	m.mu.Lock()
	mute := c.record.Silent()
	m.mu.Unlock()
	if mute {
		return silent()
	}
	return m.look(c, called, false)
}

// look reads a GPU and applies what is seen: nothing that ended before the call. With sweep, the look is one
// of those that come once a second.
func (m *Monitor) look(c *card, called time.Time, sweep bool) Look {
	hangs, stop := await()
	defer stop()
	seen := make(chan Look, 1)
	select {
	case c.turn <- struct{}{}:
		go func() {
			defer func() { <-c.turn }()
			l := m.Probe.Look(c.id, called)
			m.mu.Lock()
			owner := m.owner
			m.mu.Unlock()
			l.own(owner, c.id)
			m.take(c, l, sweep)
			seen <- l
		}()
	case driver := <-hangs:
		return m.mute(c, driver)
	}
	select {
	case l := <-seen:
		return l
	case driver := <-hangs:
		select {
		case l := <-seen: // it came at the same time
			return l
		default:
			return m.mute(c, driver)
		}
	}
}

// mute returns the look of a GPU about which there is no answer. It is the driver's fault only if this process could have taken an answer.
func (m *Monitor) mute(c *card, driver bool) Look {
	if driver {
		m.take(c, silent(), false)
	}
	return silent()
}

// The patience with a driver is counted in spans. One that is over much later than it should be does not count: this process, and so
// perhaps the driver's answer, got no processor.
const (
	span     = patience / 10
	lateSpan = span / 2
	mostSpan = 60 // after so many there is no answer, whatever the cause
)

// waited counts the spans of a call.
type waited struct{ all, onTime int }

// add counts a span that has taken so long, and reports whether the wait is over, and whether the driver is to blame for it.
func (w *waited) add(took time.Duration) (over, driver bool) {
	if w.all++; took < span+lateSpan {
		w.onTime++
	}
	driver = time.Duration(w.onTime)*span >= patience
	return driver || w.all >= mostSpan, driver
}

// await returns a channel on which comes whether the driver is to blame, once a call has taken too long.
func await() (hangs <-chan bool, stop func()) {
	end, quit := make(chan bool, 1), make(chan struct{})
	go func() {
		t := time.NewTimer(span)
		defer t.Stop()
		for w, began := (waited{}), time.Now(); ; began = time.Now() {
			select {
			case <-quit:
				return
			case <-t.C:
			}
			if over, driver := w.add(time.Since(began)); over {
				end <- driver
				return
			}
			t.Reset(span)
		}
	}()
	return end, func() { close(quit) }
}

// own marks which of the processes are the owner's and which are foreign. Without an owner none is foreign.
func (l *Look) own(o Owner, id model.GPUID) {
	for i := range l.Processes {
		p := &l.Processes[i]
		if p.Managed = o == nil || o.Mine(int(p.PID), id); !p.Managed {
			l.Strangers = append(l.Strangers, judge.Stranger{PID: p.PID, Name: p.Name, User: p.User, MemoryMB: p.MemoryMB})
		}
	}
	l.Idle = len(l.Processes) == 0
	if o != nil {
		l.holder = o.Holder(id)
	}
}

// take applies a look at a GPU.
func (m *Monitor) take(c *card, l Look, sweep bool) {
	m.mu.Lock()
	now := time.Now()
	before := c.record
	after, events := m.Judge.Next(c.record, now, l.Reading)
	c.record = after
	warning := ""
	if l.Trouble == judge.TroubleNone {
		l.Point.At = now
		c.last = l
		if sweep {
			warning = c.remark(m.Judge, now, l)
		}
	}
	m.mu.Unlock()
	if warning != "" {
		m.Log.Warn("GPU warning", "gpu", c.id, "warning", warning)
	}
	for _, e := range events {
		m.Log.Warn("GPU error", "gpu", c.id, "xid", e.Xid, "class", e.Class.String(), "pid", e.PID)
	}
	if was, is := before.Verdict(), after.Verdict(); was != is {
		m.tell(c, was, is)
	}
	if before.Fault() != after.Fault() {
		m.keep()
	}
}

// remark stores the measurements, and returns a new warning about them; "": none.
func (c *card) remark(j judge.Config, now time.Time, l Look) string {
	c.ring.add(l.Point, points)
	if l.Point.Unmeasured {
		l.holder = ""
	}
	c.unused = c.unused.Next(now, l.holder, l.Point.Utilization)
	warning := j.Warning(c.unused, now)
	said := c.warned
	if c.warned = warning != ""; said {
		return ""
	}
	return warning
}

// tell logs a changed verdict and notifies the owner.
func (m *Monitor) tell(c *card, was, is judge.Verdict) {
	if is.Health.Usable() {
		m.Log.Info("GPU usable", "gpu", c.id, "health", is.Health.String(), "why", is.Why, "was", was.Health.String())
	} else {
		m.Log.Warn("GPU unusable", "gpu", c.id, "health", is.Health.String(), "why", is.Why, "pid", is.PID)
	}
	m.notify()
}
