package cluster

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// A peer that was away knows the members of that time, and all of them may have been replaced meanwhile. The present ones call it, but a
// certificate makes no member. So while it hears no leader, a peer asks for the members at each address that the operator or the cluster
// has named, of whichever peer that is now: the other side proves a certificate of the cluster, and knows the id of this peer's data
// folder, which members alone know.

const (
	findEvery  = time.Second
	findLimit  = time.Second
	findSilent = 10 // rounds without a leader after which this peer says which peers it does not know
)

// findMembers asks for the members while no leader is heard, until the context ends.
func (p *Peer) findMembers(ctx context.Context) {
	tick := time.NewTicker(findEvery)
	defer tick.Stop()
	for rounds := 0; ; rounds++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, leader := p.raft.LeaderWithID(); leader != "" || !p.folders.open.Load() || p.cfg.Tests.AnyFolder {
			rounds = 0
			continue
		}
		p.askForMembers(ctx)
		if unknown := p.folders.unknown(); rounds > findSilent && len(unknown) > 0 && p.folders.once("unknown "+strings.Join(unknown, " ")) {
			p.log.Error("peers_not_known", "peers", unknown, "why", "they call this peer, which hears no leader and does not know them as members",
				"remedy", "if they have joined while this peer was away, name one of them in server.join of this peer, "+
					"in place of server.bootstrap, and restart it")
		}
	}
}

// askForMembers asks once at all addresses.
func (p *Peer) askForMembers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	var calls sync.WaitGroup
	for _, address := range p.named() {
		calls.Go(func() { p.askForMembersAt(ctx, address) })
	}
	calls.Wait()
}

// named returns the addresses that the operator or the cluster has named, but for this peer's own.
func (p *Peer) named() (out []string) {
	for _, s := range slices.Concat(p.cfg.Listed, p.members()) {
		if s.Address != "" && s.Address != p.cfg.Self.RaftAddress && !slices.Contains(out, s.Address) {
			out = append(out, s.Address)
		}
	}
	return out
}

// askForMembersAt asks the peer at an address, whichever that is.
func (p *Peer) askForMembersAt(ctx context.Context, address string) {
	q := p.greeting()
	q.Peer.Folder, q.Applied = "", 0 // the answer is to have the folder, and the members
	a, err := call.Do(ctx, p.wire.client, peer.Server{Address: address}, callExchange, q)
	if err != nil || !p.sameCluster(a.Cluster) || a.Folders[string(p.cfg.Self.ID)] != p.folders.Own() {
		return
	}
	if err := p.folders.learn(a.Folders); err != nil {
		p.log.Error("cannot store the peers' folder ids, retrying", "err", err)
	}
}

// up returns the members that take part, as far as this peer knows: those that have reported of late, whose log does not stand still, and
// at a leader have answered one of its messages. A member can report and refuse the messages.
func (p *Peer) up(members []peer.Server) []model.PeerID {
	now, leads := p.cfg.Clock.Boot(), p.leads()
	out := []model.PeerID{p.cfg.Self.ID}
	for _, v := range p.mates.of(members, now) {
		id := v.hello.Peer.ID
		if id == p.cfg.Self.ID || v.isStuck(now) || leads && p.wire.transport.Followed(raft.ServerID(id)) > fresh {
			continue
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// keepFolders stores the folder ids of the state's peers in this peer's own folder.
func (p *Peer) keepFolders(ctx context.Context) {
	for {
		s := p.State()
		changed := p.Changed(model.TopicSet(0).With(model.TopicSettings), s.Index)
		if p.folders.entered() {
			if err := p.folders.learn(nil); err != nil && ctx.Err() == nil {
				p.log.Error("cannot store the peers' folder ids, retrying", "err", err)
				changed = nil
			}
		}
		var retry <-chan time.Time
		if changed == nil {
			retry = time.After(time.Second)
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}
