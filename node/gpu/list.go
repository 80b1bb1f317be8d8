package gpu

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/smallfile"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// list searches for GPUs, unless a search is under way. The channel is closed when it
// is over.
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

// listed takes the result of a search.
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
		m.Log.Error("this host has more GPUs than a node can have: the last ones are not used", "gpus", count, "limit", model.MaxDevices)
	}
	if news && err != nil {
		m.Log.Error("the GPUs cannot be listed; the agent goes on trying", "err", err)
	}
	if changed {
		m.keep()
		m.notify()
	}
}

// merge brings the cards in line with what there is, and reports whether that has
// changed anything. The lock is held.
//
// A GPU that is gone stays on the list, for its looks to tell that it is lost; but
// one that was divided, and a part that is no more, make way for what is in its
// place.
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

// replaced says that a GPU is no more, and something else is in its place.
func replaced(c *card, devices []model.Device) bool {
	is := func(d model.Device) bool { return d.ID == c.id }
	there := func(d model.Device) bool { return d.PCI != "" && d.PCI == c.device.PCI }
	return !slices.ContainsFunc(devices, is) && (strings.HasPrefix(string(c.id), "MIG-") || slices.ContainsFunc(devices, there))
}

// notify has the owner look at the inventory.
func (m *Monitor) notify() {
	select {
	case m.changed <- struct{}{}:
	default: // it is about to look
	}
}

// keep writes down what is to outlive the agent.
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
		m.Log.Error("the faults of GPUs cannot be kept: an agent that starts again does not know them", "file", m.File, "err", err)
	}
}
