package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of measuring how ranks use their GPUs.
const (
	watchEvery = time.Second
	watchLong  = 5 * time.Second // more than this between two looks was not looked at
)

// use is how a rank used its GPUs, as far as measured. What happens between two measurements, or while no
// agent runs, is missing.
type use struct {
	peak          uint32        // the most memory in use on any of them, in MiB
	watched, idle time.Duration // GPU time that was looked at, and that of it at 0 %
}

// onto writes the use into a rank's end.
func (u *use) onto(e *model.Exit) {
	e.PeakMB = u.peak
	e.Watched, e.Idle = uint64(u.watched/time.Second), uint64(u.idle/time.Second)
}

// watcher records how ranks use their GPUs.
type watcher struct{ last time.Time }

// note records the GPUs' last measurements.
func (w *watcher) note(b *units) {
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
	for _, u := range b.byName {
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
