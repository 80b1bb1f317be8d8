package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of looking at what ranks do with their GPUs.
const (
	watchEvery = time.Second
	watchLong  = 5 * time.Second // more than this between two looks was not looked at
)

// use is what a rank was seen to do with its GPUs. What happens between two looks is not
// seen, nor is what happens while no agent runs.
type use struct {
	peak          uint32        // the most memory in use on any of them, in MiB
	watched, idle time.Duration // GPU time that was looked at, and that of it at 0 %
}

// onto writes it into a rank's end.
func (u *use) onto(e *model.Exit) {
	e.PeakMB = u.peak
	e.Watched, e.Idle = uint64(u.watched/time.Second), uint64(u.idle/time.Second) //nolint:gosec // never negative
}

// watcher looks at what ranks do with their GPUs.
type watcher struct{ last time.Time }

// note looks at what the GPUs measured last.
func (w *watcher) note(b *book) {
	if !due(w.last.Add(watchEvery)) {
		return
	}
	now := later(0)
	since := min(now.Sub(w.last), watchLong)
	w.last = now
	measured := map[model.GPUID]model.Sample{}
	for _, s := range b.GPUs.Samples() {
		measured[s.GPU] = s
	}
	for _, u := range b.units {
		if u.phase != model.RankRunning {
			continue
		}
		for _, g := range u.record.GPUs {
			if s, known := measured[g.ID]; known {
				u.use.add(&s, since)
			}
		}
	}
}

func (u *use) add(s *model.Sample, since time.Duration) {
	u.peak = min(max(u.peak, s.MemoryUsedMB), model.MaxPeakMB)
	if s.Unmeasured {
		return
	}
	u.watched += since
	if s.Utilization == 0 {
		u.idle += since
	}
}
