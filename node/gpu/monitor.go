package gpu

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Options are the settings of a monitor. Probe is required; a zero Judge means judge.Defaults, a nil Log
// none.
type Options struct {
	Probe Probe
	Judge judge.Config
	File  string // where faults and devices are kept; "": nowhere
	Boot  string // id of this life of the kernel
	Log   *slog.Logger
}

const (
	every    = time.Second      // between two looks at a GPU
	patience = 10 * time.Second // with a driver; a call that takes longer hangs
	relist   = time.Minute      // between two searches for GPUs that came or went
	points   = int(Remembered / every)
)

// Monitor is a Source, and its History.
type Monitor struct {
	Options

	changed chan struct{}
	keeping sync.Mutex // held while what is kept is written

	mu       sync.Mutex
	owner    Owner
	cards    []*card // in PCI order
	searched bool    // a search for GPUs has succeeded
	listing  bool    // a search for GPUs is under way
	trouble  string  // why the last one failed; "": it did not
	kept     kept    // from before
}

var (
	_ Source  = (*Monitor)(nil)
	_ History = (*Monitor)(nil)
)

// NewMonitor finds the GPUs and takes a first look at each. If the driver does not answer, the stored
// inventory is used; Run tries again.
func NewMonitor(o Options) (*Monitor, error) {
	if o.Judge.Settle == 0 {
		o.Judge = judge.Defaults()
	}
	if err := o.Judge.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Monitor{Options: o, changed: make(chan struct{}, 1)}
	m.kept, m.cards = remember(o)
	wait(m.list())
	called := time.Now()
	each(m.snapshot(), func(c *card) { m.look(c, called, false) })
	return m, nil
}

// remember makes cards of the GPUs that were there before in this boot.
func remember(o Options) (k kept, cards []*card) {
	if o.File == "" {
		return k, nil
	}
	k, restored, err := load(o.File)
	if restored != "" {
		o.Log.Warn("a file of the data folder was lost and is there again", "file", restored)
	}
	if err != nil {
		o.Log.Error("stored GPU faults lost", "err", err)
	}
	if k.Boot != o.Boot {
		return k, nil
	}
	for _, g := range k.GPUs {
		cards = append(cards, newCard(g.Device, judge.Restore(g.Fault, false)))
	}
	return k, cards
}

// wait waits for done with a time limit.
func wait(done <-chan struct{}) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// each runs do for all cards at the same time.
func each(cards []*card, do func(*card)) {
	var work sync.WaitGroup
	for _, c := range cards {
		work.Go(func() { do(c) })
	}
	work.Wait()
}

// snapshot returns the current cards.
func (m *Monitor) snapshot() []*card {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.cards)
}

// Run looks at the GPUs until the context ends, and then waits for looks that are under way. Those that hang
// are left behind.
func (m *Monitor) Run(ctx context.Context, owner Owner) {
	m.mu.Lock()
	m.owner = owner
	m.mu.Unlock()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		m.Probe.Watch(ctx)
	}()
	defer m.finish(watched)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for listed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		for _, c := range m.snapshot() {
			m.sweep(c, now)
		}
		if now.Sub(listed) >= relist {
			listed = now
			m.list()
		}
	}
}

// sweep begins the next look at a GPU, unless one is under way.
func (m *Monitor) sweep(c *card, now time.Time) {
	if !c.sweeping.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer c.sweeping.Store(false)
		m.look(c, now, true)
	}()
}

// finish waits, with a time limit, for the probe and for the looks that are under way.
func (m *Monitor) finish(watched <-chan struct{}) {
	limit := time.After(2 * every)
	select {
	case <-watched:
	case <-limit:
		return
	}
	for _, c := range m.snapshot() {
		select {
		case c.turn <- struct{}{}:
			<-c.turn
		case <-limit:
			return
		}
	}
}
