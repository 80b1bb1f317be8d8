package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of the pauses between searches. A long search over many jobs is repeated only after a pause of many
// times its duration: otherwise a large cluster with constant changes would search all the time. Changes
// during the pause are handled without a search.
const (
	searchCheap = 5 * time.Millisecond // takes no rest
	searchSmall = 256                  // GPUs and jobs: takes no rest however long a busy machine needs
	searchRest  = 20
	searchMost  = 3 * time.Second // rests no longer
)

// pace is the scheduling decider. It spaces searches.
type pace struct {
	outlook *search.Outlook // of the last search; nil: it was none, or needs no rest
	until   time.Duration   // as long as it rests, by the boot clock
}

// plan returns what to start and suspend on a state.
func (p *pace) plan(s *state.State, c *Config) ([]command.Body, time.Duration) {
	now := max(model.TimeOf(c.Clock.Wall()), s.Settings().Clock)
	begun := c.Clock.Boot()
	if bodies, ok := p.between(s, now, begun); ok {
		tell(c, bodies, begun)
		return bodies, p.until - begun
	}
	bodies, next, outlook := sched.PlanLoaded(s, now, loads(s, now, c))
	p.outlook = nil
	if took := tell(c, bodies, begun); outlook != nil && took > searchCheap && outlook.Size() > searchSmall {
		p.outlook, p.until = outlook, begun+took+min(searchRest*took, searchMost)
	}
	if next == 0 {
		return bodies, liveness.Never
	}
	return bodies, next.Sub(now)
}

// between returns what to do while the last search rests; false if the rest is over.
func (p *pace) between(s *state.State, now model.Time, boot time.Duration) ([]command.Body, bool) {
	if p.outlook == nil || boot >= p.until {
		return nil, false
	}
	o := p.outlook
	p.outlook = nil // for good if a defect ends this here
	bodies, ok := search.Between(s, now, o)
	p.outlook = o
	return bodies, ok
}

// tell reports a pass and its duration.
func tell(c *Config, bodies []command.Body, begun time.Duration) time.Duration {
	took := c.Clock.Boot() - begun
	if c.Passed != nil {
		c.Passed(Pass{Decided: len(bodies), Took: took})
	}
	return took
}
