package store

import (
	"sync"
	"time"
)

// Phase is what a fetch is doing.
type Phase uint8

// The phases of a fetch.
const (
	Resolving Phase = iota // asks the registry
	Waiting                // another process pulls the same image
	Pulling                // receives bytes, and unpacks what has arrived
	Unpacking              // unpacks only
)

// Progress is how far a fetch is.
type Progress struct {
	Phase Phase
	Done  int64 // bytes received, of an image of a registry; bytes read, of an archive
	Total int64 // bytes to receive or read; 0: not known
}

// meter reports the progress of a fetch when the phase changes and once a second. One call happens at a time.
type meter struct {
	report func(Progress)
	stop   chan struct{}
	ended  sync.WaitGroup

	mu  sync.Mutex
	now Progress
}

// newMeter begins to report. The caller ends the meter by close.
func newMeter(report func(Progress)) *meter {
	m := &meter{report: report, stop: make(chan struct{})}
	if report == nil {
		m.report = func(Progress) {}
		return m
	}
	m.ended.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.add(0, true)
			case <-m.stop:
				return
			}
		}
	})
	return m
}

func (m *meter) close() {
	close(m.stop)
	m.ended.Wait()
}

// enter begins a phase.
func (m *meter) enter(phase Phase, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Phase = phase
	if total > 0 {
		m.now.Total = total
	}
	m.report(m.now)
}

// add counts bytes; less than 0 takes back those of a try that failed.
func (m *meter) add(n int64, report bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Done += n
	if report {
		m.report(m.now)
	}
}
