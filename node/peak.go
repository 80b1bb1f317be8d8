package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// peakEvery is how often GPUs are asked how much of their memory is in use.
const peakEvery = time.Second

// peaks notes the most memory that each rank is seen to use on any of its GPUs. What is
// used between two looks is not seen, nor what was while no agent ran.
type peaks struct{ next time.Time }

// note looks at what the GPUs measured last.
func (p *peaks) note(b *book) {
	if !due(p.next) {
		return
	}
	p.next = later(peakEvery)
	used := map[model.GPUID]uint32{}
	for _, s := range b.GPUs.Samples() {
		used[s.GPU] = s.MemoryUsedMB
	}
	for _, u := range b.units {
		if u.phase != model.RankRunning {
			continue
		}
		for _, g := range u.record.GPUs {
			u.peak = min(max(u.peak, used[g.ID]), model.MaxPeakMB)
		}
	}
}
