// Package votes decides which members of a cluster get a vote.
//
// A cluster with an even number of voters survives no more losses than one with a voter less, and has more that can fail.
// So a member that has joined stays without a vote until its vote makes the number odd, or until another member waits, too,
// and both votes do. A member must have been up to date for some time before.
package votes

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Stable is how long a member must have been up to date without a break before it gets a vote.
const Stable = 10 * time.Second

// Member is a member of the cluster, as the leader sees it.
type Member struct {
	ID    model.PeerID
	Votes bool
	Fresh bool // the leader has heard the member of late, and the member lacks next to nothing of the log
}

// Memory is since when each member without a vote is fresh, by a clock that never jumps.
type Memory map[model.PeerID]time.Duration

// Next returns the member that gets a vote now; empty: none does. It also returns the memory for the next decision. An
// error of a member's promotion needs no memory: the next decision comes to the same. atOnce is for tests that show why the
// others wait: each member that is fresh gets a vote.
func Next(members []Member, memory Memory, now time.Duration, atOnce bool) (promote model.PeerID, next Memory) {
	next = Memory{}
	voters, ready := 0, 0
	for _, m := range members {
		if m.Votes {
			voters++
			continue
		}
		if !m.Fresh {
			continue
		}
		since, known := memory[m.ID]
		if !known {
			since = now
		}
		next[m.ID] = since
		if now-since < Stable && !atOnce {
			continue
		}
		if ready++; promote == "" || m.ID < promote {
			promote = m.ID
		}
	}
	if voters%2 == 1 && ready < 2 && !atOnce {
		promote = ""
	}
	return promote, next
}

// Tolerates returns how many more members the cluster can lose before it stops: the voters that are up, beyond a majority
// of all voters. It is negative if there is no majority.
func Tolerates(voters, up int) int { return up - (voters/2 + 1) }
