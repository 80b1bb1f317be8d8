package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// cleaner verifies that nothing of their last owners is left on GPUs.
type cleaner struct {
	*core
	units    *units
	reporter *reporter
	busy     map[model.Cleaned]bool // slots that are being verified
	retry    time.Time
	logged   time.Time // when a GPU was last logged as not clean
}

func newCleaner(c *core, b *units, t *reporter) *cleaner {
	return &cleaner{core: c, units: b, reporter: t, busy: map[model.Cleaned]bool{}}
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
	c.background(func() func() {
		verdicts := c.GPUs.Check(gpus)
		let := make([]bool, len(words))
		for i, v := range verdicts {
			let[i] = v.Clean() || v.Gone && len(v.Processes) == 0 && c.processesGone(left[i])
		}
		return func() {
			for i, v := range verdicts {
				delete(c.busy, words[i])
				if let[i] {
					c.reporter.addClean(words[i])
					continue
				}
				c.retry = later(againSoon)
				c.sweep(words[i].Rank)
				if time.Since(c.logged) > 2*againLater {
					c.logged = time.Now()
					c.Log.Warn("GPU not clean yet", "gpu", v.GPU, "rank", words[i].Rank, "processes", len(v.Processes))
				}
			}
		}
	})
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
