package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/runner"
)

// cleaner verifies that nothing of their last owners is left on GPUs.
type cleaner struct {
	*core
	units    *units
	reporter *reporter
	contact  *contact
	busy     map[model.Cleaned]bool // slots that are being verified
	retry    time.Time
	logged   time.Time // when a GPU was last logged as not clean
}

func newCleaner(c *core, k *contact, b *units, t *reporter) *cleaner {
	return &cleaner{core: c, contact: k, units: b, reporter: t, busy: map[model.Cleaned]bool{}}
}

// show verifies all slots that a plan names, in one go. Slots that the set names only because it is older
// than the report about them are left out.
func (c *cleaner) show(steps []fence.Action, index uint64) {
	c.reporter.forget(index)
	if !due(c.retry) {
		return
	}
	var words []model.Cleaned
	var gpus []model.GPUID
	for _, step := range steps {
		if word := step.Cleaned(); !c.busy[word] && !c.reporter.hasClean(word) {
			c.busy[word] = true
			words, gpus = append(words, word), append(gpus, word.Slot.GPU)
		}
	}
	if len(words) == 0 {
		return
	}
	left := c.left(words)
	c.verify(words, gpus, left, func(verdicts []gpu.Verdict, clean []bool) {
		for i, v := range verdicts {
			if clean[i] {
				continue
			}
			c.retry = later(againSoon)
			c.sweep(words[i].Rank)
			if time.Since(c.logged) > 2*againLater {
				c.logged = time.Now()
				c.Log.Warn("GPU not clean yet", "gpu", v.GPU, "rank", words[i].Rank, "processes", len(v.Processes))
			}
		}
	})
}

// verify looks at the GPUs of slots, and reports those that are clean; left is what is known of the slots' owners. Then it calls done
// in the agent's goroutine.
func (c *cleaner) verify(words []model.Cleaned, gpus []model.GPUID, left [][]remains, done func(verdicts []gpu.Verdict, clean []bool)) {
	c.background(func() func() {
		verdicts := c.GPUs.Check(gpus)
		clean := make([]bool, len(words))
		for i, v := range verdicts {
			clean[i] = v.Clean() || v.Gone && len(v.Processes) == 0 && c.processesGone(left[i])
		}
		return func() {
			for i, word := range words {
				delete(c.busy, word)
				if clean[i] {
					c.reporter.addClean(word)
				}
			}
			done(verdicts, clean)
		}
	})
}

// early verifies the GPUs of a rank that has just ended before the cluster asks for that. The report of the end can then say that the
// GPUs are clean, and they are free at once.
func (c *cleaner) early(u *unit) {
	rank, now := u.record.Rank, model.Incarnation(u.record.Incarnation)
	var words []model.Cleaned
	for _, g := range u.record.IDs() {
		words = append(words, model.Cleaned{Slot: model.SlotKey{GPU: g}, Rank: rank})
	}
	for _, other := range c.units.byName {
		if other.record.Rank == rank && !other.phase.Ended() {
			return // the rank of a cluster that was restored since
		}
	}
	if len(words) == 0 || u.life.past || now != c.contact.known {
		return
	}
	for _, word := range words {
		c.busy[word] = true
	}
	u.life.checked = time.Now()
	c.verify(words, u.record.IDs(), c.left(words), func([]gpu.Verdict, []bool) { u.life.checked = time.Time{} })
}

// remains is what is known of a rank of which nothing should be left.
type remains struct {
	record *runner.Record
	status runner.Status
	alive  bool // its supervisor
}

// left returns what is known of the owners of slots to be verified; nothing for services.
func (c *cleaner) left(words []model.Cleaned) [][]remains {
	out := make([][]remains, len(words))
	for i, w := range words {
		for _, u := range c.units.byName {
			if u.record.Rank == w.Rank {
				out[i] = append(out[i], remains{u.record, u.status, u.life.alive})
			}
		}
	}
	return out
}

// processesGone reports whether no process of an owner is left. The driver has no answer for a GPU that is gone; but
// an ended process occupies no GPU, and a GPU unknown to the driver has no process.
func (c *cleaner) processesGone(left []remains) bool {
	for _, r := range left {
		if r.alive || c.Runner.Bury(r.record, r.status) != nil {
			return false
		}
	}
	return true
}

// sweep kills what an ended rank has nevertheless left.
func (c *cleaner) sweep(rank model.RankKey) {
	for _, u := range c.units.byName {
		if u.record.Rank == rank && u.phase.Ended() && !u.life.alive {
			record, status := u.record, u.status
			c.background(func() func() {
				_ = c.Runner.Bury(record, status) // the next look at the GPU shows the result
				return func() {}
			})
		}
	}
}
