package leader

import (
	"math"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
)

// Intervals of the chores of housekeeping.
const (
	chorePause     = time.Second                // between two times that one chore is done
	clockLag       = time.Minute                // of the state's clock behind the peers'
	clockApart     = 2 * time.Second            // of this peer's clock from the agreed time, at most
	clockRetry     = time.Second                // to ask again while the peers' clocks do not agree
	requestsEvery  = time.Hour                  // between two cuts
	requestsMany   = state.MaxRequests / 10 * 9 // from so many on, cut at once
	allocationKept = time.Hour                  // as long as Apply keeps an allocation that has ended
	jobLook        = 2 * time.Second            // between two looks whether a job has ended that an allocation ends with
	holdLook       = time.Second                // between two looks whether the level is still held: reports of peers come and go
	maxClaims      = 4096                       // of one command
	maxAllocations = 1000                       // of one command
)

// outside is what housekeeping needs to know in addition to the state.
type outside struct {
	boot    time.Duration
	wall    model.Time
	agreed  model.Time // of a majority of the peers' clocks
	agree   bool       // they do
	members []model.Peer

	programs func() upgrade.Cluster // nil: there is no hold
}

// housekeeper remembers when it did which chore, so that one without effect is not done over and over.
type housekeeper struct {
	claims, allocations, clock, peers chore
	rotation                          chore
	requests                          chore
	cutting                           model.Time    // the cut that is under way; 0: none
	nextCut                           time.Duration // earliest begin of the next, by the boot clock
}

// chore is when a chore may be done again.
type chore struct{ again time.Duration }

// round is one decision of the housekeeper.
type round struct {
	outside

	state    *state.State
	now      model.Time // that expiry is judged by
	commands []command.Body
	next     time.Duration
}

// decide returns the cleanup commands, and the time until there may be more.
func (h *housekeeper) decide(s *state.State, o outside) ([]command.Body, time.Duration) {
	set := s.Settings()
	if set.Incarnation.IsZero() {
		return nil, liveness.Never
	}
	r := &round{outside: o, state: s, now: max(o.wall, set.Clock), next: liveness.Never}
	r.expireClaims(&h.claims)
	r.expireAllocations(&h.allocations)
	h.cutRequests(r)
	r.advanceClock(&h.clock, set.Clock)
	r.settlePeers(&h.peers)
	r.advanceRotation(&h.rotation)
	return r.commands, r.next
}

func (r *round) wake(in time.Duration) { r.next = min(r.next, max(in, 0)) }

// do adds commands, unless the chore was done a moment ago.
func (r *round) do(c *chore, bodies ...command.Body) {
	if len(bodies) == 0 {
		return
	}
	if c.again <= r.boot {
		r.commands = append(r.commands, bodies...)
		c.again = r.boot + chorePause
	}
	r.wake(c.again - r.boot)
}

func (r *round) expireClaims(c *chore) {
	var slots []model.SlotKey
	for key, claim := range r.state.Claims.All() {
		switch {
		case claim.Until > r.now:
			r.wake(claim.Until.Sub(r.now))
		case len(slots) < maxClaims:
			slots = append(slots, key)
		}
	}
	if len(slots) > 0 {
		r.do(c, &command.ExpireClaims{Slots: slots})
	}
}

func (r *round) expireAllocations(c *chore) {
	var ids []model.AllocationID
	for id, a := range r.state.Allocations.All() {
		at := a.Expires
		if a.State.Terminal() {
			at = a.Ended.Add(allocationKept)
		}
		if a.Job > 0 && !a.State.Terminal() {
			job, found := r.state.Jobs.Get(a.Job)
			if !found || job.EndIndex > 0 {
				ids = append(ids, id)
				continue
			}
			r.wake(jobLook)
		}
		switch {
		case at == 0, a.State.Terminal() && r.holdsSlots(id):
		case at > r.now:
			r.wake(at.Sub(r.now))
		case len(ids) < maxAllocations:
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		r.do(c, &command.ExpireAllocations{IDs: ids})
	}
}

// holdsSlots reports whether GPUs of an allocation still have to be verified as clean.
func (r *round) holdsSlots(id model.AllocationID) bool {
	for k := range r.state.Owners.From(state.OwnerKey{Allocation: id}) {
		return k.Allocation == id && k.Rank == model.RankKey{}
	}
	return false
}

// cutRequests drops old request ids, a bounded number at a time until the cut is done.
func (h *housekeeper) cutRequests(r *round) {
	oldest, found := r.state.OldestRequest()
	if !found {
		oldest = r.now
	}
	if h.cutting > 0 && oldest >= h.cutting {
		h.cutting = 0
	}
	if h.cutting == 0 {
		in := oldest.Add(model.RequestKept).Sub(r.now) + 1
		if r.state.Requests.Len() <= requestsMany {
			in = max(in, h.nextCut-r.boot)
		}
		if in > 0 {
			r.wake(in)
			return
		}
		h.cutting = r.now.Add(-model.RequestKept)
		h.nextCut = r.boot + requestsEvery
	}
	r.do(&h.requests, &command.CutRequests{Before: h.cutting})
}

// advanceClock keeps the state's clock near the peers' clocks when nothing else moves it: an entry stamped
// far ahead of it would be refused. The peers' clocks may jump together (virtual machines that were paused, a
// laptop that slept): the pulse detects that and triggers the chore at once.
func (r *round) advanceClock(c *chore, clock model.Time) {
	now := r.wall
	if r.agree {
		now = r.agreed
	}
	lag := now.Sub(clock)
	switch {
	case lag <= clockLag:
		r.wake(clockLag - lag + 1)
	case !r.agree || r.wall.Sub(r.agreed).Abs() > clockApart:
		r.wake(clockRetry)
	default:
		r.do(c, &command.AdvanceClock{})
	}
}

// settlePeers updates the state's list of peers to the members.
func (r *round) settlePeers(c *chore) {
	if len(r.members) == 0 {
		return
	}
	var bodies []command.Body
	known := map[model.PeerID]bool{}
	for _, m := range r.members {
		known[m.ID] = true
		if p, found := r.state.Peers.Get(m.ID); !found || p != m {
			bodies = append(bodies, &command.SetPeer{Peer: m})
		}
	}
	slices.SortFunc(bodies, func(a, b command.Body) int {
		x, _ := a.(*command.SetPeer)
		y, _ := b.(*command.SetPeer)
		return x.Peer.ID.Compare(y.Peer.ID)
	})
	for id := range r.state.Peers.All() {
		if !known[id] {
			bodies = append(bodies, &command.DropPeer{ID: id})
		}
	}
	if len(bodies) == 0 {
		bodies = r.raiseLevel()
	}
	r.do(c, bodies...)
}

// raiseLevel raises the cluster to the newest feature level that every peer's program supports, once the hold is over: from
// then on no peer may go back to an older program.
func (r *round) raiseLevel() []command.Body {
	to := uint32(math.MaxUint32)
	for _, p := range r.state.Peers.All() {
		to = min(to, p.Level)
	}
	if r.state.Peers.Len() == 0 || to <= r.state.Settings().Level {
		return nil
	}
	if r.programs != nil {
		known := r.programs()
		hold := known.Held()
		if !hold.Over(r.now) {
			r.wake(holdLook)
			return nil
		}
		to = min(to, hold.Next)
	}
	return []command.Body{&command.RaiseLevel{Level: to}}
}

// advanceRotation goes on with a rotation of keys or certificates, once all members use what its present step has brought.
func (r *round) advanceRotation(c *chore) {
	t := r.state.Trust()
	if t.Rotation == membership.RotationNone {
		return
	}
	if behind, _ := r.state.Trusted().Behind(t.Revision, r.state.Settings().Clock); len(behind) == 0 {
		r.do(c, &command.AdvanceRotation{Revision: t.Revision})
	}
}
