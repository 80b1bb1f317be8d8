package fence

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Answer is a peer's answer to the question whether it hears a leader, asked directly and not through another
// peer.
type Answer struct {
	Peer    model.PeerID
	Config  uint64         // log index of the newest configuration that the peer has
	Members []model.PeerID // that configuration's voters, sorted
	Term    uint64         // for the log; the rule does not need it

	Sent, Answered Boot          // when the agent sent the question and had the answer
	Silent         time.Duration // for how long the peer has heard no leader; 0: it hears one, or leads
}

// LeaderlessAt returns the latest instant at which a majority of one configuration had, all at the same time,
// heard no leader for at least silence; false: the answers prove no such instant. An agent that may use this
// rule (it is off by default) extends its attempts until that instant plus their T, by [Guard.Extend], as if
// a renewal had been sent then: when the whole control plane is away, jobs go on.
//
// The rule is sound as far as two conditions hold. First, a leader that a majority has not heard for silence
// no longer leads, or has noticed a stall of its own. A leader steps down when a majority does not answer it,
// but only if it runs: so silence must be no shorter than the heartbeat timeout plus the longest pause that a
// leader would not take for a stall. Second, a new leader, and one that has stalled, restarts its waits, and
// waits for longer than T before it proposes a loss. Then whatever is proposed after the instant is proposed
// after the instant plus T. Anything proposed before that waited for the fence that was in force then, and
// this rule does not revive an attempt whose fence has begun.
//
// The second condition is why a leader counts none of the silence that earlier leaders have witnessed: no answer
// to these questions would void such a count, so a rank could be given up too early.
//
// "At the same time" is essential. Under a leader that stays in office, each peer can be cut off for a moment
// in turn, and peers asked one after the other then all answer truthfully that they hear no leader.
//
// An answer proves less than the peer meant. It was given somewhere between Sent and Answered: the peer's
// silence surely began Silent before Answered and surely lasted to Sent, and both its length and silence are
// measured by clocks that may drift apart.
func LeaderlessAt(answers []Answer, silence time.Duration) (Boot, bool) {
	var latest Boot
	found := false
	for _, a := range answers {
		at := a.Sent // if majorities overlap, they do where one of their spans ends
		if found && at <= latest || !isMajority(answers, a, at, silence) {
			continue
		}
		latest, found = at, true
	}
	return latest, found
}

// isMajority reports whether a majority of a's configuration heard no leader at at.
func isMajority(answers []Answer, a Answer, at Boot, silence time.Duration) bool {
	var peers []model.PeerID
	for _, b := range answers {
		if b.Config == a.Config && slices.Equal(b.Members, a.Members) && b.silentAt(at, silence) {
			peers = append(peers, b.Peer)
		}
	}
	slices.Sort(peers)
	return len(slices.Compact(peers)) > len(a.Members)/2
}

// silentAt reports whether the answer proves that the peer, a voter, had heard no leader for silence at at.
func (a Answer) silentAt(at Boot, silence time.Duration) bool {
	if a.Sent > a.Answered || !slices.Contains(a.Members, a.Peer) {
		return false
	}
	from := a.Answered.Add(-a.Silent + apart(a.Silent) + silence + apart(silence))
	return from <= at && at <= a.Sent
}

// apart returns by how much two clocks may differ over d, rounded up.
func apart(d time.Duration) time.Duration {
	return d/1_000_000*(4*model.DriftPPM) + time.Microsecond*4
}
