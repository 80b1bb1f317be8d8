package fence

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// AwaySilence is how long a majority must have heard no leader: longer than a leader goes on without a
// majority, or is suspended without noticing (both below 3 s), and as long again for the agent's own host.
const AwaySilence = 6 * time.Second

const answersKept = 8 // of each peer

// Inquiry collects the peers' answers on whether there is a leader. The zero Inquiry belongs to an agent that
// does not know the voters.
//
// Only answers of voters named by the last leader count, and only as long as they name the same voters. A
// majority of these that has not seen another configuration proves that no other could work without it: each
// change of the voters by one is committed by a majority of the new ones, which shares a peer with every
// majority of the old ones.
type Inquiry struct {
	voters  []model.PeerID
	answers []Answer
}

// Renewed notes that there is a leader, and the voters, sorted.
func (q *Inquiry) Renewed(voters []model.PeerID) { q.voters, q.answers = voters, nil }

// Forget drops the answers: they were timed by a clock that was suspended.
func (q *Inquiry) Forget() { q.answers = nil }

// Ready reports whether answers can be of use.
func (q *Inquiry) Ready() bool { return len(q.voters) > 0 }

// Learn adds an answer, and returns the latest instant at which surely no peer led, if the answers so far
// prove one.
func (q *Inquiry) Learn(a Answer) (Boot, bool) {
	if a.Silent == 0 || !slices.Equal(a.Members, q.voters) {
		return 0, false
	}
	of := 0
	for i := len(q.answers) - 1; i >= 0; i-- {
		if q.answers[i].Peer == a.Peer {
			if of++; of == answersKept {
				q.answers = slices.Delete(q.answers, i, i+1)
			}
		}
	}
	q.answers = append(q.answers, a)
	return LeaderlessAt(q.answers, AwaySilence)
}
