package gpu

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// list searches for GPUs, unless a search is under way. The channel is closed when the search is over.
func (m *Monitor) list() <-chan struct{} {
	done := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listing {
		close(done)
		return done
	}
	m.listing = true
	go func() {
		defer close(done)
		devices, err := m.Probe.List()
		m.listed(devices, err)
	}()
	return done
}

// listed applies the result of a search.
func (m *Monitor) listed(devices []model.Device, err error) {
	trouble, changed := "", false
	m.mu.Lock()
	m.listing = false
	if err != nil {
		trouble = err.Error()
	} else {
		changed = m.merge(devices)
		m.searched = true
	}
	news := trouble != m.trouble
	m.trouble = trouble
	count := len(m.cards)
	m.mu.Unlock()
	if changed && count > model.MaxDevices {
		m.Log.Error("too many GPUs: the last ones are not used", "gpus", count, "limit", model.MaxDevices)
	}
	if news && err != nil {
		m.Log.Error("cannot list the GPUs, retrying", "err", err)
	}
	if changed {
		m.keep()
		m.notify()
	}
}

// merge updates the cards to the devices found, and reports whether anything has changed. The lock is held.
//
// A GPU that is gone stays on the list, so that its looks report it as lost; but a divided GPU, and a part
// that no longer exists, are replaced by the devices in their place.
func (m *Monitor) merge(devices []model.Device) (changed bool) {
	before := len(m.cards)
	m.cards = slices.DeleteFunc(m.cards, func(c *card) bool { return replaced(c, devices) })
	changed = len(m.cards) != before
	for _, d := range devices {
		i := slices.IndexFunc(m.cards, func(c *card) bool { return c.id == d.ID })
		switch {
		case i < 0:
			m.cards = append(m.cards, newCard(d, judge.Restore(m.kept.find(d.ID), m.kept.Boot != m.Boot)))
		case m.cards[i].device != d:
			m.cards[i].device = d
		default:
			continue
		}
		changed = true
	}
	slices.SortStableFunc(m.cards, func(a, b *card) int {
		return cmp.Or(cmp.Compare(a.device.Index, b.device.Index), a.id.Compare(b.id))
	})
	return changed
}

// replaced reports whether a GPU no longer exists, and other devices are in its place.
func replaced(c *card, devices []model.Device) bool {
	is := func(d model.Device) bool { return d.ID == c.id }
	there := func(d model.Device) bool { return d.PCI != "" && d.PCI == c.device.PCI }
	return !slices.ContainsFunc(devices, is) && (strings.HasPrefix(string(c.id), "MIG-") || slices.ContainsFunc(devices, there))
}

// notify makes the owner read the inventory.
func (m *Monitor) notify() {
	select {
	case m.changed <- struct{}{}:
	default: // it is about to look
	}
}

// keep writes what should outlive the agent.
func (m *Monitor) keep() {
	if m.File == "" {
		return
	}
	m.keeping.Lock()
	defer m.keeping.Unlock()
	k := kept{Boot: m.Boot}
	m.mu.Lock()
	for _, c := range m.cards {
		k.GPUs = append(k.GPUs, keptGPU{c.device, c.record.Fault()})
	}
	m.mu.Unlock()
	if err := smallfile.WriteTwin(m.File, k); err != nil {
		m.Log.Error("cannot store GPU faults: a restarted agent will not know them", "file", m.File, "err", err)
	}
}
