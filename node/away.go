package node

import (
	"context"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	askEvery = time.Second
	askAfter = 3 * renewEvery // without an accepted renewal, peers are asked whether anybody leads
	// awaySilence is for how long a majority must have heard no leader: longer than a
	// leader goes on without one, or stands still and does not notice (both below 3 s),
	// and as long again for this host.
	awaySilence = 6 * time.Second
	answersKept = 8 // of each peer
)

// away finds out whether the whole control plane is: then what runs here may run on.
// A node that is cut off from it is another matter, so the peers are asked themselves.
type away struct {
	*core
	voters  []model.PeerID // as the leader of the newest accepted renewal told
	answers map[model.PeerID][]fence.Answer
	heard   time.Time // when a renewal was last accepted
	next    time.Time // when to ask again
	said    bool
}

func newAway(c *core) *away {
	return &away{core: c, answers: map[model.PeerID][]fence.Answer{}, heard: time.Now()}
}

// renewed notes that somebody leads, and who votes.
func (a *away) renewed(voters []model.PeerID) {
	a.heard, a.voters = time.Now(), voters
	clear(a.answers)
	if a.said {
		a.said = false
		a.Log.Info("somebody leads again")
	}
}

// forget drops answers that were timed by a clock that stood still.
func (a *away) forget() { clear(a.answers) }

// ask asks every peer, when nobody has renewed the lease for a while.
func (a *away) ask(addresses []string) {
	if len(a.voters) == 0 || time.Since(a.heard) < askAfter || !due(a.next) {
		return
	}
	a.next = later(askEvery)
	for _, address := range addresses {
		a.beside(func() func() {
			ctx, cancel := context.WithTimeout(a.ctx, patience)
			defer cancel()
			sent := a.Clock().Boot
			answer, err := a.Cluster.Silence(ctx, address)
			answered := a.Clock().Boot
			return func() {
				if err == nil {
					a.learn(answer, sent, answered)
				}
			}
		})
	}
}

// learn takes a peer's answer. A peer whose voters are not those that the last leader
// told is of another time, and one that hears a leader proves nothing.
func (a *away) learn(s *agentwire.Silence, sent, answered fence.Boot) {
	if s.For == 0 || !slices.Equal(s.Voters, a.voters) {
		return
	}
	list := a.answers[s.Peer]
	a.answers[s.Peer] = append(list[max(0, len(list)-answersKept+1):], fence.Answer{
		Peer: s.Peer, Members: s.Voters, Sent: sent, Answered: answered, Silent: s.For,
	})
	var all []fence.Answer
	for _, list := range a.answers {
		all = append(all, list...)
	}
	at, found := fence.LeaderlessAt(all, awaySilence)
	if !found {
		return
	}
	if !a.said {
		a.said = true
		a.Log.Warn("no peer leads, by the word of most of them: what runs here runs on, and nothing new begins")
	}
	if err := a.Run.SetAway(time.Duration(at)); err != nil {
		a.Log.Error("the supervisors cannot be told that nobody leads", "folder", a.Run.Path, "err", err)
	}
}
