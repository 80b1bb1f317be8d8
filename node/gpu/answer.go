package gpu

import (
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Changed yields whenever the inventory may have changed by itself.
func (m *Monitor) Changed() <-chan struct{} { return m.changed }

// Inventory returns the GPUs, at most model.MaxDevices. A GPU that cannot be read is listed as it was read
// last.
func (m *Monitor) Inventory() []model.Device {
	cards, called := m.snapshot(), time.Now()
	cards = cards[:min(len(cards), model.MaxDevices)]
	each(cards, func(c *card) { m.ask(c, called) })
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]model.Device, 0, len(cards))
	for _, c := range cards {
		d, v := c.device, c.record.Verdict()
		d.Health, d.Why, d.Idle = v.Health, model.Clip(v.Why), c.last.Idle && !c.last.Leftover
		d.Gone = c.record.Gone()
		out = append(out, d)
	}
	return out
}

// Check finds the processes on GPUs.
func (m *Monitor) Check(ids []model.GPUID) []Verdict {
	out := make([]Verdict, len(ids))
	cards, called := m.snapshot(), time.Now()
	m.mu.Lock()
	listed := m.searched && m.trouble == ""
	m.mu.Unlock()
	var work sync.WaitGroup
	for i, id := range ids {
		out[i].GPU = id
		if at := slices.IndexFunc(cards, func(c *card) bool { return c.id == id }); at >= 0 {
			work.Go(func() { out[i] = m.check(cards[at], called) })
		} else {
			out[i].Gone = listed
		}
	}
	work.Wait()
	return out
}

func (m *Monitor) check(c *card, called time.Time) Verdict {
	l := m.ask(c, called)
	m.mu.Lock()
	defer m.mu.Unlock()
	judged := c.record.Verdict()
	v := Verdict{
		GPU: c.id, Index: c.device.Index, Known: l.Trouble == judge.TroubleNone, Busy: l.Leftover,
		Health: judged.Health, Why: model.Clip(judged.Why), Gone: l.Trouble == judge.TroubleLost && c.record.Gone(),
	}
	for _, p := range l.Processes {
		v.Processes = append(v.Processes, p.Process)
	}
	return v
}

// Samples returns the last measurements of each readable GPU.
func (m *Monitor) Samples() []model.Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]model.Sample, 0, len(m.cards))
	for _, c := range m.cards {
		p := c.last.Point
		if time.Since(p.At) > patience {
			continue
		}
		s := model.Sample{
			GPU: c.id, Utilization: p.Utilization, MemoryUsedMB: p.MemoryUsedMB, Temperature: p.Temperature, PowerWatts: p.PowerWatts,
			Unmeasured: p.Unmeasured,
			Warning:    m.Judge.Warning(c.unused, time.Now()), Unused: c.unused.For(),
		}
		for _, process := range c.last.Processes {
			s.Processes = append(s.Processes, process.Process)
		}
		out = append(out, s)
	}
	return out
}

// History returns the measurements of each GPU since an instant, of at most model.MaxDevices GPUs.
func (m *Monitor) History(since time.Time) []Track {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Track
	for _, c := range m.cards[:min(len(m.cards), model.MaxDevices)] {
		out = append(out, Track{Device: c.device, Points: c.ring.since(since)})
	}
	return out
}

// Warnings returns the GPUs that are held by a job and have been idle for long.
func (m *Monitor) Warnings() (out []Warning) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.cards {
		if text := m.Judge.Warning(c.unused, time.Now()); text != "" {
			out = append(out, Warning{GPU: c.id, Text: text})
		}
	}
	return out
}
