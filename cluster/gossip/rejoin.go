package gossip

import (
	"context"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// Pauses between two attempts to find missing members, plus or minus a quarter.
const (
	rejoinAlone   = 3 * time.Second
	rejoinUsually = 15 * time.Second
)

// rejoinLoop looks for missing members: memberlist forgets a silent member after half a minute and would
// never again look across a healed cut.
func (g *Gossip) rejoinLoop() {
	failed, last := 0, time.Now()
	for {
		g.check.forget(g.roster.lists)
		targets, pace := g.targets()
		if p := g.peer(); p != "" && time.Since(last) >= g.exchangeEvery() {
			targets, last = append(targets, p), time.Now()
		}
		if len(targets) > 0 {
			_, err := g.Join(g.ctx, targets)
			if err == nil {
				failed = 0
				// at first a new member may know no other, and no other may know it
			} else if failed++; pace == rejoinAlone && failed == 2 && g.ctx.Err() == nil {
				g.notes.add(slog.LevelWarn, "alone: no peer answers yet, retrying", slog.Any("error", err))
			}
		}
		if !g.pause(pace) {
			return
		}
	}
}

// targets returns the members to call. Alone: all that may be there. Without a peer: one that may be a peer, since a node believes only
// what a peer names, and another node that has returned names no other member. Otherwise one of the missing, so rarely that the cluster
// together makes about one attempt for each missing member a round, however large it is.
func (g *Gossip) targets() (addrs []string, pace time.Duration) {
	here, peer := make(map[string]bool), false
	var missing, peers []string
	for _, m := range g.roster.list() {
		switch {
		case m.Name == g.roster.self || m.State == StateLeft:
		case m.State == StateAlive:
			here[m.Addr.String()] = true
			peer = peer || m.Meta.Kind == KindPeer
		case m.Meta.Kind == KindPeer:
			peers = append(peers, m.Addr.String())
		default:
			missing = append(missing, m.Addr.String())
		}
	}
	peers = append(peers, slices.DeleteFunc(slices.Clone(g.seeds), func(seed string) bool { return here[seed] })...)
	if !peer && len(here) > 0 && len(peers) > 0 {
		i := rand.IntN(len(peers)) //nolint:gosec // no secret
		return peers[i : i+1], rejoinAlone
	}
	if missing = append(missing, peers...); len(here) == 0 {
		return missing, rejoinAlone
	}
	if i := rand.IntN(max(len(here)+1, len(missing))); i < len(missing) { //nolint:gosec // no secret
		return missing[i : i+1], rejoinUsually
	}
	return nil, rejoinUsually
}

// pause waits for the next round and reports whether there is one.
func (g *Gossip) pause(wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(g.ctx, wait*3/4+rand.N(wait/2)) //nolint:gosec // no secret
	defer cancel()
	<-ctx.Done()
	return g.ctx.Err() == nil
}

// peer returns the address of another peer to exchange lists with, at random; empty: there is none. memberlist would exchange them with any
// member, and most are nodes, whose word of others counts little: what one peer has learned from a node itself, the others learn from that
// peer.
func (g *Gossip) peer() string {
	peers := slices.DeleteFunc(g.roster.list(), func(m Member) bool {
		return m.Meta.Kind != KindPeer || m.State != StateAlive || m.Name == g.roster.self
	})
	if len(peers) == 0 {
		return ""
	}
	return peers[rand.IntN(len(peers))].Addr.String() //nolint:gosec // no secret
}

// exchangeEvery returns the time between two exchanges of lists: as memberlist's, longer in large clusters.
func (g *Gossip) exchangeEvery() time.Duration {
	const usual, small = 30 * time.Second, 32
	return usual * time.Duration(max(1, bits.Len(uint(g.list.NumMembers()/small))+1))
}
