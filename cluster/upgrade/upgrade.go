// Package upgrade decides when the cluster's feature level rises, and in which order its peers are upgraded: pure.
//
// The level rises by itself a while after the last peer was upgraded (the hold), so that until then each peer can go back to the
// program before. An operator may raise the level at once.
package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Peer is what is known of a peer and its program.
type Peer struct {
	ID      model.PeerID
	Version string
	Level   uint32 // the greatest feature level that its program knows

	// Ago is how old its last report is, for the peer that answers 0. Without a report of the last seconds, Heard is false, and
	// what follows is not known.
	Heard    bool
	Ago      time.Duration
	CaughtUp bool // lacks next to nothing of the log

	// Since is from when on its program knows Level, by the state's clock; 0: from when the peer became a member. Before the
	// peer knows that, Settled is false.
	Settled bool
	Since   model.Time
	Hold    time.Duration // its setting server.level_hold
	Began   model.Time    // when its process began, by its wall clock

	Leads, Votes bool
}

// Cluster is what one peer knows of all peers.
type Cluster struct {
	Level   uint32        // of the cluster
	Now     model.Time    // by the state's clock or the peer's wall clock, whichever is later
	Peers   []Peer        // in the order of their ids
	Leading time.Duration // for how long the peer that answers has led; 0: it does not lead
}

// Reach returns the greatest level that the programs of all peers know.
func (c *Cluster) Reach() uint32 {
	return c.over(func(a, b uint32) uint32 { return min(a, b) })
}

// Newest returns the greatest level that the program of any peer knows.
func (c *Cluster) Newest() uint32 {
	return c.over(func(a, b uint32) uint32 { return max(a, b) })
}

func (c *Cluster) over(pick func(a, b uint32) uint32) uint32 {
	if len(c.Peers) == 0 {
		return c.Level
	}
	out := c.Peers[0].Level
	for _, p := range c.Peers[1:] {
		out = pick(out, p.Level)
	}
	return out
}

// Hold is the time for which the level does not rise by itself.
type Hold struct {
	Next   uint32         // the level to which the cluster may rise; 0: none
	Until  model.Time     // the end of the hold; while a peer is silent it may be later
	Silent []model.PeerID // peers that did not report since when their programs know the level
}

// Held returns the hold. It lasts for the longest time that any peer is configured with, from the instant at which the last
// peer was upgraded. While a peer does not report when that was, the hold has no end: the peer may be about to go back.
func (c *Cluster) Held() Hold {
	h := Hold{Next: c.Reach()}
	if h.Next <= c.Level {
		return Hold{}
	}
	var last model.Time
	var long time.Duration
	for _, p := range c.Peers {
		if !p.Heard || !p.Settled {
			h.Silent = append(h.Silent, p.ID)
			continue
		}
		last, long = max(last, p.Since), max(long, p.Hold)
	}
	if last > 0 {
		h.Until = last.Add(long)
	}
	return h
}

// Over reports whether the level may rise by itself.
func (h Hold) Over(now model.Time) bool {
	return h.Next > 0 && len(h.Silent) == 0 && h.Until <= now
}

// Blockers returns what keeps an operator from raising the level: peers whose programs do not know the newest level, and peers
// that are silent, since an older program may have been started there. It also returns the level to which the cluster would
// rise; 0: to none.
func (c *Cluster) Blockers() (to uint32, why []string) {
	newest := c.Newest()
	for _, p := range c.Peers {
		switch {
		case p.Level < newest:
			why = append(why, fmt.Sprintf("peer %s runs %s, which knows feature levels up to %d: upgrade it first", p.ID, program(p.Version), p.Level))
		case !p.Heard && newest > c.Level:
			why = append(why, fmt.Sprintf("peer %s is not up: start it with the new program, or remove it with berth peers remove", p.ID))
		}
	}
	if newest > c.Level {
		to = newest
	}
	return to, why
}

// program describes a version.
func program(version string) string {
	if version == "" {
		return "a program of an unknown version"
	}
	return "version " + version
}

// MayRestart returns why a peer must not be restarted now; empty: it may. All other voters have to be up and to lack next to
// nothing: without the peer they are a majority then, unless it is alone or one of two.
func (c *Cluster) MayRestart(id model.PeerID, atMost time.Duration) (why string) {
	var down []string
	found := false
	for _, p := range c.Peers {
		switch {
		case p.ID == id:
			found = true
		case p.Votes && (!p.Heard || p.Ago > atMost):
			down = append(down, string(p.ID)+" is not up")
		case p.Votes && !p.CaughtUp:
			down = append(down, string(p.ID)+" has not caught up")
		}
	}
	if !found {
		return fmt.Sprintf("there is no peer %s", id)
	}
	if len(down) > 0 {
		return "of the other peers, " + strings.Join(down, ", and ")
	}
	return ""
}

// Order returns the peers that are to be upgraded, in order: followers first, the leader last. old reports whether a peer runs
// an older program than the newest.
func (c *Cluster) Order(old func(Peer) bool) (ids []model.PeerID) {
	list := slices.DeleteFunc(slices.Clone(c.Peers), func(p Peer) bool { return !old(p) })
	slices.SortStableFunc(list, func(a, b Peer) int {
		switch {
		case a.Leads == b.Leads:
			return a.ID.Compare(b.ID)
		case a.Leads:
			return 1
		}
		return -1
	})
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}
