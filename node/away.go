package node

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

const (
	askEvery = time.Second
	askAfter = 3 * renewEvery // without an accepted renewal, peers are asked whether there is a leader
)

// away detects that the whole control plane is unavailable; the node's ranks may then run on. A node that is
// cut off from a working control plane must not conclude the same, so the agent asks each peer directly.
type away struct {
	*core
	inquiry fence.Inquiry
	heard   time.Time // when a renewal was last accepted
	next    time.Time // when to ask again
	logged  bool
	pass    func(runner.Lease) // passes the supervisors an instant at which no peer led
}

func newAway(c *core, pass func(runner.Lease)) *away {
	return &away{core: c, heard: time.Now(), pass: pass}
}

// renewed notes that there is a leader, and the voters.
func (a *away) renewed(voters []model.PeerID) {
	a.heard = time.Now()
	a.inquiry.Renewed(voters)
	if a.logged {
		a.logged = false
		a.Log.Info("cluster has a leader again")
	}
}

// ask asks every peer for its silence if no renewal was accepted for a while.
func (a *away) ask(addresses []string) {
	if !a.inquiry.Ready() || time.Since(a.heard) < askAfter || !due(a.next) {
		return
	}
	a.next = later(askEvery)
	for _, address := range addresses {
		a.background(func() func() {
			ctx, cancel := context.WithTimeout(a.ctx, patience)
			defer cancel()
			sent := a.Clock().Boot
			s, err := a.Cluster.Silence(ctx, address)
			answered := a.Clock().Boot
			return func() {
				if err == nil {
					a.learn(fence.Answer{Peer: s.Peer, Members: s.Voters, Sent: sent, Answered: answered, Silent: s.For})
				}
			}
		})
	}
}

func (a *away) learn(answer fence.Answer) {
	at, found := a.inquiry.Learn(answer)
	if !found {
		return
	}
	if !a.logged {
		a.logged = true
		a.Log.Warn("no leader, confirmed by a majority of peers: running ranks continue, no rank starts")
	}
	a.pass(runner.Lease{Away: time.Duration(at)})
}

// Standing describes an agent for its operator.
type Standing struct {
	Ranks int // that run
	// Silent is the time since a peer last accepted a renewal of the lease, or since the agent began; 0: less than three
	// intervals of renewals.
	Silent time.Duration
	// Left is the time until the leases of running ranks begin to end, and those ranks are stopped, unless a peer accepts a
	// renewal before; 0: no rank runs, or it is over.
	Left time.Duration
	// Leaderless reports whether a majority of the peers has confirmed that no peer leads: then running ranks continue.
	Leaderless bool
}

// Standing returns the agent's standing. The agent's own goroutine answers, which does all of its work: an answer shows that
// the agent is alive. The error is that of the context, if that ends before the answer.
func (a *Agent) Standing(ctx context.Context) (Standing, error) {
	answer := make(chan Standing, 1)
	select {
	case a.asks <- answer:
		return <-answer, nil
	case <-ctx.Done():
		return Standing{}, ctx.Err()
	}
}

// standing returns the answer. It is called in the agent's goroutine.
func (a *Agent) standing() (s Standing) {
	for _, u := range a.units.byName {
		if !u.phase.Ended() && u.life.alive {
			s.Ranks++
		}
	}
	away := a.contact.away
	if s.Silent = time.Since(away.heard); s.Silent < askAfter {
		s.Silent = 0
	}
	s.Leaderless = away.logged
	if t := a.units.shortest(); s.Ranks > 0 && t > 0 {
		s.Left = max(0, t-a.Clock().Boot.Sub(a.contact.lease.Start()))
	}
	return s
}
