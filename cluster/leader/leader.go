package leader

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Peer is the deciders' access to the peer that they run in.
type Peer interface {
	// Barrier returns once the state holds everything that was committed before this peer's present term; an
	// error if that cannot be reached.
	Barrier(ctx context.Context) error
	// Propose commits commands and returns their results, in order, once this peer's own state holds them.
	// After an error their fate is unknown.
	Propose(ctx context.Context, commands ...command.Command) ([]command.Result, error)
	// State returns this peer's newest state.
	State() state.State
	// Changed returns a channel that is closed when the last index of any of the topics exceeds after. It may
	// be closed already.
	Changed(topics model.TopicSet, after uint64) <-chan struct{}
}

// Clock is this host's clocks.
type Clock interface {
	Boot() time.Duration // CLOCK_BOOTTIME
	Wall() time.Time
}

// Pass is one pass of the scheduler over the queue.
type Pass struct {
	Decided int           // placements and grants in its plan
	Took    time.Duration // to make the plan, by the boot clock
}

// Config is the configuration of Run. All fields but Log, Liveness, Wake, Archived, Beats, Use and Report are
// required.
type Config struct {
	ID       model.PeerID
	Peer     Peer
	Clock    Clock
	Log      *slog.Logger // nil: none
	Liveness liveness.Config

	// Clocks returns the time on which a majority of the peers' clocks agree within two seconds; false while
	// they do not.
	Clocks func() (agreed model.Time, ok bool)
	// Members returns the cluster's peers; empty while they are unknown.
	Members func() []model.Peer
	// Programs returns what is known of the peers' programs; nil: the feature level rises as soon as the state's list of peers permits.
	Programs func() upgrade.Cluster
	// Wake receives when Members may have changed. Without it a change is noticed within about a minute.
	Wake <-chan struct{}
	// Archived returns the log index up to which the archives of a majority of the peers are complete; nil:
	// no job leaves the state.
	Archived func() uint64
	// Beats is when the clients of attached jobs were last heard; nil: such jobs are left alone.
	Beats Beats
	Use
	Report
}

// Report receives reports of this work; nil functions are skipped. Neither may block.
type Report struct {
	Passed  func(Pass) // of each pass of the scheduler, one after the other
	Defects func()     // of each decision that came to nothing for a defect; at any time, by several at once
}

// Use is what nodes report of their GPUs' use.
type Use struct {
	// Unused returns for how long, up to now, the job that holds a GPU of a node has left it at 0 %; nil:
	// unknown.
	Unused func(node model.NodeID, gpu model.GPUID) time.Duration
	// Busy returns a GPU's measured utilisation, in percent, if the GPU measures it; nil: unknown.
	Busy func(node model.NodeID, gpu model.GPUID) (percent uint32, known bool)
}

func (c *Config) check() error {
	if !model.Name(string(c.ID)) || c.Peer == nil || c.Clock == nil || c.Clocks == nil || c.Members == nil {
		return errors.New("leader: a peer's id, the peer, its clock, Clocks and Members must be given")
	}
	return nil
}

// Run decides until ctx ends, which must be when this peer loses leadership, and returns when all that it
// started has stopped. Its only error is an incomplete Config.
func Run(ctx context.Context, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if !awaitBarrier(ctx, &c) {
		return nil
	}
	p := newPulse(c.Clock)
	var all sync.WaitGroup
	defer all.Wait()
	for _, d := range deciders(&c, p) {
		l := &loop{
			decider: d, peer: c.Peer, actor: "peer:" + string(c.ID), log: c.Log.With("decider", d.name), defect: c.Defects,
			jumped: p.listen(),
		}
		all.Go(func() { l.run(ctx) })
	}
	all.Go(func() { p.run(ctx) })
	return nil
}

// awaitBarrier retries until a barrier is committed, or until ctx ends: without one, decisions could be based
// on an old state.
func awaitBarrier(ctx context.Context, c *Config) bool {
	var pause backoff
	for {
		err := c.Peer.Barrier(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		c.Log.Warn("leader's log has not caught up: no placement and no liveness decisions yet", "error", err)
		if !wait(ctx, pause.next()) {
			return false
		}
	}
}

// decider is one kind of decision.
type decider struct {
	name   string
	topics model.TopicSet // what it looks at
	wake   <-chan struct{}
	// decide returns what to propose on a state, and after how long to decide again although nothing has
	// changed.
	decide func(*state.State) ([]command.Body, time.Duration)
}

func deciders(c *Config, p *pulse) []decider {
	searches := &pace{}
	return []decider{
		{
			name:   "liveness",
			topics: model.TopicSet(0).With(model.TopicNode).With(model.TopicLease),
			decide: judge(c, p),
		},
		{
			name: "scheduling",
			topics: model.TopicSet(0).With(model.TopicQueue).With(model.TopicFleet).With(model.TopicNode).
				With(model.TopicSettings),
			decide: func(s *state.State) ([]command.Body, time.Duration) { return searches.plan(s, c) },
		},
		{
			name:   "attached jobs",
			topics: model.TopicSet(0).With(model.TopicQueue),
			decide: cancelAbandoned(c),
		},
		{
			name:   "idle jobs",
			topics: model.TopicSet(0).With(model.TopicQueue),
			decide: cancelIdle(c),
		},
		{
			name:   "time limits",
			topics: model.TopicSet(0).With(model.TopicQueue),
			decide: warnOfLimits(c),
		},
		{
			name:   "turns",
			topics: model.TopicSet(0).With(model.TopicQueue),
			decide: func(s *state.State) ([]command.Body, time.Duration) {
				return takeTurns(s, model.TimeOf(c.Clock.Wall()))
			},
		},
		{
			name:   "bookings",
			topics: model.TopicSet(0).With(model.TopicSettings),
			decide: func(s *state.State) ([]command.Body, time.Duration) {
				return turnBookings(s, model.TimeOf(c.Clock.Wall()))
			},
		},
		{
			name:   "retention",
			topics: model.TopicSet(0).With(model.TopicJob).With(model.TopicSettings),
			decide: retention(c),
		},
		{
			name:   "housekeeping",
			topics: model.TopicSet(0).With(model.TopicFleet).With(model.TopicSettings),
			wake:   c.Wake,
			decide: keepHouse(c),
		},
	}
}

// judge returns the liveness decider with a book of its own. Renewals wake it every few seconds.
func judge(c *Config, p *pulse) func(*state.State) ([]command.Body, time.Duration) {
	book := liveness.New(c.Liveness)
	book.Elected(c.Clock.Boot())
	var seen time.Duration
	return func(s *state.State) ([]command.Body, time.Duration) {
		now, stalled := p.beat()
		if stalled > seen {
			seen = stalled
			c.Log.Warn("clock gap (process stopped?): every node's silence is counted again from now")
			book.Stalled(now)
		}
		bodies, next := book.Decide(now, s)
		late, wait := hurry(s, model.TimeOf(c.Clock.Wall()), book.Starting())
		return append(bodies, late...), min(next, wait)
	}
}

func keepHouse(c *Config) func(*state.State) ([]command.Body, time.Duration) {
	var house housekeeper
	return func(s *state.State) ([]command.Body, time.Duration) {
		agreed, ok := c.Clocks()
		return house.decide(s, outside{
			boot: c.Clock.Boot(), wall: model.TimeOf(c.Clock.Wall()),
			agreed: agreed, agree: ok, members: c.Members(), programs: c.Programs,
		})
	}
}
