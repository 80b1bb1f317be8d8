package members

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of the lock for restarts.
const (
	lockFor   = 10 * time.Minute        // unless the request says otherwise
	lockHeard = 2500 * time.Millisecond // how old the report of another voter may be: each comes once a second
)

// upgradeRoutes adds the paths of upgrades.
func (m members) upgradeRoutes(doc huma.API) {
	core.Handle(m.api, doc, core.Op("upgrade", http.MethodGet, "/cluster/upgrade", "Which members are to be upgraded, and whether the feature level is held"), m.upgrade)
	o := core.Op("finalize-upgrade", http.MethodPost, "/cluster/upgrade/finalize", "Raise the feature level at once")
	o.Description = "Refused while a peer does not know the level or is not up. From then on no peer can go back to an older version."
	core.Handle(m.api, doc, o, m.finalize)
	o = core.Example(core.Op("lock-restart", http.MethodPost, "/cluster/upgrade/lock", "Let one peer restart, and no other meanwhile"), `{"peer":"p1","key":"550e8400"}`)
	o.Description = "Refused while another peer has the lock, or another voter is not up or has not caught up."
	core.HandleBody(m.api, doc, o, m.lockRestart)
	core.HandleBody(m.api, doc, core.Example(core.Op("unlock-restart", http.MethodPost, "/cluster/upgrade/unlock", "Free the lock for restarts"), `{"peer":"p1","key":"550e8400"}`), m.unlockRestart)
}

func (m members) upgrade(ctx context.Context, _ *struct{}) (*core.Answer[wire.Upgrade], error) {
	s, err := m.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	known := m.api.Peer.Members.Programs()
	return &core.Answer[wire.Upgrade]{Index: s.Index, Body: m.upgradeOf(&s, &known)}, nil
}

// upgradeOf describes the programs of all members.
func (m members) upgradeOf(s *state.State, known *upgrade.Cluster) *wire.Upgrade {
	newest := known.NewestVersion()
	out := &wire.Upgrade{
		Level: known.Level, Newest: known.Newest(), Version: newest, AnsweredBy: string(m.api.Config.Self),
		Members: []wire.UpgradeState{}, Next: []wire.Member{}, Blockers: []string{}, Broken: brokenRules(s, known), Hold: holdOf(known),
		Restart: m.restartOf(s),
	}
	up := 0
	for _, p := range known.Peers {
		if p.Votes {
			if out.Voters++; p.Heard {
				up++
			}
		}
		waits := known.MayRestart(p.ID, lockHeard)
		one := wire.UpgradeState{
			Member: wire.Member{Role: "peer", Name: string(p.ID)}, Version: p.Version, Level: p.Level, Leader: p.Leads, Voter: p.Votes, Up: p.Heard,
			CaughtUp: p.CaughtUp,
			Old:      known.Old(p), Restart: waits == "", Waits: waits, Back: p.Level > known.Level,
		}
		if p.Since > 0 {
			one.UpgradedAt = p.Since.Time()
		}
		if p.Began > 0 {
			one.StartedAt = p.Began.Time()
		}
		out.Members = append(out.Members, one)
	}
	out.Tolerates = votes.Tolerates(out.Voters, up)
	for _, id := range known.Order(known.Old) {
		out.Next = append(out.Next, wire.Member{Role: "peer", Name: string(id)})
	}
	for id, n := range s.Nodes.All() {
		one := wire.UpgradeState{
			Member: wire.Member{Role: "node", Name: string(id)}, Version: n.Version, Up: n.Status == model.NodeUp,
			Old: upgrade.Differs(n.Version, newest), Restart: true,
		}
		if out.Members = append(out.Members, one); one.Old {
			out.Next = append(out.Next, one.Member)
		}
	}
	if _, why := known.Blockers(); why != nil {
		out.Blockers = why
	}
	return out
}

// holdOf describes the hold; nil: there is none.
func holdOf(known *upgrade.Cluster) *wire.Hold {
	h := known.Held()
	if h.Next == 0 {
		return nil
	}
	out := &wire.Hold{Next: h.Next, Silent: []string{}}
	if h.Until > 0 {
		out.Until, out.Seconds = h.Until.Time(), max(0, h.Until.Sub(known.Now)).Seconds()
	}
	for _, id := range h.Silent {
		out.Silent = append(out.Silent, string(id))
	}
	return out
}

// brokenRules names members whose programs are too far apart.
func brokenRules(s *state.State, known *upgrade.Cluster) []string {
	out := []string{}
	for i, a := range known.Peers {
		for _, b := range known.Peers[i+1:] {
			older, newer := a, b
			if older.Level > newer.Level || older.Level == newer.Level && upgrade.Older(newer.Version, older.Version) {
				older, newer = newer, older
			}
			if minors, _ := upgrade.Apart(a.Version, b.Version); minors > upgrade.PeersApart || newer.Level-older.Level > upgrade.PeersApart {
				out = append(out, fmt.Sprintf("peer %s runs %s (level %d) and peer %s %s (level %d): peers may be one minor release apart; upgrade %s step by step",
					older.ID, older.Version, older.Level, newer.ID, newer.Version, newer.Level, older.ID))
			}
		}
	}
	for id, n := range s.Nodes.All() {
		for _, p := range known.Peers {
			if minors, _ := upgrade.Apart(n.Version, p.Version); minors > upgrade.AgentsApart {
				out = append(out, fmt.Sprintf("the agent of node %s runs %s and peer %s %s: agents and peers may be two minor releases apart", id, n.Version, p.ID, p.Version))
				break
			}
		}
	}
	return out
}

// restartOf returns the peer that has the lock for restarts; nil: none has.
func (m members) restartOf(s *state.State) *wire.Restart {
	set := s.Settings()
	if set.Restarts != "" && set.RestartUntil > m.api.Now(s) {
		return &wire.Restart{Peer: string(set.Restarts), Until: set.RestartUntil.Time()}
	}
	return nil
}

// finalizeInput is the input of POST /cluster/upgrade/finalize.
type finalizeInput struct {
	Key string `header:"Idempotency-Key"`
}

func (m members) finalize(ctx context.Context, in *finalizeInput) (*core.Answer[wire.Gone], error) {
	known := m.api.Peer.Members.Programs()
	to, why := known.Blockers()
	switch {
	case len(why) > 0:
		return nil, problem.Refuse(model.CodeConflict.String(), "the feature level stays "+fmt.Sprint(known.Level)+": "+strings.Join(why, "; "))
	case to == 0:
		return m.changed(fmt.Sprintf("the feature level is %d, the newest that any peer knows: nothing is to be raised", known.Level))
	}
	_, index, err := m.api.Propose(ctx, in.Key, &command.RaiseLevel{Level: to})
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("level_raised", "from", known.Level, "to", to, "by", auth.From(ctx).Actor())
	text := fmt.Sprintf("the feature level is %d; no peer can go back to a version that does not know it", to)
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// lockRestart gives a peer the lock for restarts.
func (m members) lockRestart(ctx context.Context, in *core.BodyInput, body *wire.RestartLock) (*core.Answer[wire.Gone], error) {
	if !model.Name(body.Peer) {
		return nil, model.WantName("peer", body.Peer)
	}
	known := m.api.Peer.Members.Programs()
	if known.Leading == 0 {
		return nil, problem.Usual(wire.CodeNoLeader)
	}
	if !slices.ContainsFunc(known.Peers, func(p upgrade.Peer) bool { return string(p.ID) == body.Peer }) {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no peer "+body.Peer+": berth peers lists all")
	}
	s := m.api.State()
	if !s.Peers.Has(model.PeerID(body.Peer)) {
		return nil, problem.Refuse(model.CodeConflict.String(), "peer "+body.Peer+" is new, and the cluster has not recorded it yet: ask again")
	}
	if why := known.MayRestart(model.PeerID(body.Peer), lockHeard); why != "" {
		return nil, problem.Refuse(model.CodeConflict.String(), "peer "+body.Peer+" must not be restarted now: "+why)
	}
	long := lockFor
	if body.Seconds > 0 {
		long = time.Duration(body.Seconds) * time.Second
	}
	text := fmt.Sprintf("peer %s has the lock for restarts for %s", body.Peer, long)
	_, index, err := m.api.Propose(ctx, in.Key, &command.LockRestart{Peer: model.PeerID(body.Peer), Key: body.Key, For: long})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// unlockRestart frees the lock for restarts.
func (m members) unlockRestart(ctx context.Context, in *core.BodyInput, body *wire.RestartLock) (*core.Answer[wire.Gone], error) {
	if !model.Name(body.Peer) {
		return nil, model.WantName("peer", body.Peer)
	}
	text := "peer " + body.Peer + " does not have the lock for restarts any more"
	_, index, err := m.api.Propose(ctx, in.Key, &command.LockRestart{Peer: model.PeerID(body.Peer), Key: body.Key})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}
