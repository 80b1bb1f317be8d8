package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// settling is for how long the GPUs of a job count as busy from its start on: their measurements may be older
// than that, and few programs use GPUs from the first moment on.
const settling = 30 * time.Second

// loads returns how busy nodes are, if a plan needs that. A GPU whose job has not started or has only just
// started counts as busy: it has no measurements so far. A node with an unmeasured GPU in service is left
// out.
func loads(s *state.State, now model.Time, c *Config) place.Loads {
	if c.Busy == nil || !sched.Weighs(s) {
		return nil
	}
	out := place.Loads{}
	for id, n := range s.Nodes.All() {
		if n.Schedulable() {
			if load, known := load(s, now, c, id); known {
				out[id] = load
			}
		}
	}
	return out
}

// load returns the mean utilisation of a node's GPUs in service.
func load(s *state.State, now model.Time, c *Config, id model.NodeID) (percent uint32, known bool) {
	var sum, gpus uint32
	for k := range s.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		if g, _ := s.GPUs.Get(k.GPU); !g.Usable() {
			continue
		}
		busy, measured := c.Busy(id, k.GPU)
		slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU})
		if a, _ := s.Attempts.Get(slot.Rank.Attempt()); slot.Owner == model.OwnerAttempt && (a.Started == 0 || now.Sub(a.Started) < settling) {
			busy, measured = 100, true
		}
		if !measured {
			return 0, false
		}
		sum += busy
		gpus++
	}
	if gpus == 0 {
		return 0, false
	}
	return sum / gpus, true
}
