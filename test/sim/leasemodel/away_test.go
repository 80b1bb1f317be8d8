package leasemodel

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	// awaySilence is for how long a majority must have heard no leader: longer than a leader goes on alone
	// and then is stopped without noticing it, with room for the agent's host to have done the same.
	awaySilence = 6 * time.Second
	keepAnswers = 9
)

var members = []model.PeerID{"p0", "p1", "p2"}

// away reports whether the mutant breaks something that only does harm with the away rule.
func (m mutant) away() bool {
	return m == awayInTurn || m == awayTooSoon || m == timersKept
}

// inquire asks every peer for how long it has heard no leader, if the agent itself
// has heard nothing for a while.
func (a *agent) inquire() {
	if !a.away || a.deaf < 2 {
		return
	}
	life := a.life
	for _, p := range a.peers {
		if !a.net.there || a.oneIn(20) {
			continue
		}
		sent := a.boot()
		a.after(a.upTo(a.net.slow), func() {
			p.awake(func() {
				silent := p.silence()
				if !a.net.back {
					return
				}
				a.after(a.upTo(a.net.slow), func() {
					a.awake(func() {
						if a.life == life {
							a.learn(fence.Answer{
								Peer: members[p.id], Config: 1, Members: members, Sent: sent, Answered: a.boot(), Silent: silent,
							})
						}
					})
				})
			})
		})
	}
}

// learn takes an answer. If the answers prove that there is no leader, the rank may go on.
func (a *agent) learn(answer fence.Answer) {
	if answer.Silent == 0 {
		return // it hears a leader, which proves nothing
	}
	a.answers = append(a.answers[max(0, len(a.answers)-keepAnswers+1):], answer)
	at, found := a.leaderless()
	if !found || a.forgot {
		return
	}
	if a.guard.Extend(a.boot(), at) {
		a.extends++
		a.note("the rank may go on: no peer leads")
	}
}

// leaderless returns when there was no leader, as the agent finds out.
func (a *agent) leaderless() (at fence.Boot, found bool) {
	silence := awaySilence
	if a.mutant == awayTooSoon {
		silence = 100 * time.Millisecond
	}
	if a.mutant != awayInTurn {
		return fence.LeaderlessAt(a.answers, silence)
	}
	silent := map[model.PeerID]bool{}
	for _, v := range a.answers { // as if all had been silent at the same time
		if v.Silent >= silence {
			silent[v.Peer] = true
			at = max(at, v.Sent)
		}
	}
	return at, 2*len(silent) > len(members)
}
