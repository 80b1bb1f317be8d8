package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

func (p *Peer) handleCalls() {
	p.wire.server.Heed(p.heedCaller)
	call.Handle(p.wire.server, callExchange, p.onExchange)
	call.Handle(p.wire.server, callJoin, p.onJoin)
	call.Handle(p.wire.server, callAsk, p.onAsk)
	call.Handle(p.wire.server, callReadIndex, p.onReadIndex)
	p.handleArchiveCalls()
}

// heedCaller refuses the calls of peers that are no members, but for those by which a peer becomes one, or learns that it is
// none any more.
func (p *Peer) heedCaller(from model.PeerID, name string) error {
	if p.cfg.Tests.AnyFolder || slices.Contains([]string{callJoin.String(), callAsk.String(), callExchange.String()}, name) ||
		p.folders.member(raft.ServerID(from)) {
		return nil
	}
	return &call.RemoteError{Kind: call.KindStranger, Text: p.folders.stranger(raft.ServerID(from)).Error()}
}

// exchangeReports reports this peer's status to every other peer once a second, and receives theirs.
func (p *Peer) exchangeReports(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before []peer.Server
	for {
		var calls sync.WaitGroup
		members := p.Status().Servers
		if !slices.Equal(members, before) {
			before = members
			p.noteHosts(members)
			p.mates.poke()
		}
		for _, s := range members {
			if s.ID != p.cfg.Self.ID {
				calls.Go(func() { p.exchangeReportsWith(ctx, s) })
			}
		}
		calls.Wait()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// noteHosts remembers the addresses of the members' machines.
func (p *Peer) noteHosts(members []peer.Server) {
	hosts := make([]string, 0, len(members))
	for _, s := range members {
		if host, _, err := net.SplitHostPort(s.Address); err == nil {
			hosts = append(hosts, host)
		}
	}
	p.wire.hosts.Store(&hosts)
}

// isMember reports whether an address is that of a member's machine. Such a machine finds places on the peer port
// although strangers have taken all of theirs.
func (p *Peer) isMember(host string) bool {
	hosts := p.wire.hosts.Load()
	return hosts != nil && slices.Contains(*hosts, host)
}

func (p *Peer) exchangeReportsWith(ctx context.Context, s peer.Server) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sent, wall := p.cfg.Clock.Boot(), p.cfg.Clock.Wall()
	ours := p.greeting()
	theirs, err := call.Do(ctx, p.wire.client, s, callExchange, ours)
	if err != nil {
		p.noteRefusal(s.ID, err)
		return
	}
	if theirs.Peer.ID != s.ID || !p.sameCluster(theirs.Cluster) {
		p.log.Error("wrong peer at a member's address: check the listener there", "address", s.Address,
			"member", s.ID, "answers", theirs.Peer.ID, "of_cluster", theirs.Cluster)
		return
	}
	if known := p.folders.Of(raft.ServerID(s.ID)); known != "" && known != theirs.Peer.Folder {
		if theirs.Peer.Folder == "" {
			p.log.Debug("member does not know this peer yet", "member", s.ID)
		} else if p.folders.once("exchange " + theirs.Peer.Folder) {
			p.log.Error("member has an unknown data folder and is ignored", "member", s.ID,
				"address", s.Address, "folder", theirs.Peer.Folder, "known", known, "remedy", peer.NewIDRemedy)
		}
		return
	}
	if err := p.folders.learn(theirs.Folders); err != nil {
		p.log.Error("cannot store the peers' folder ids, retrying", "err", err)
	}
	now := p.cfg.Clock.Boot()
	mid := wall.Add((now - sent) / 2)
	p.mates.note(*theirs, ours.Last, now, theirs.Wall.Time().Sub(mid))
}

func (p *Peer) sameCluster(theirs string) bool {
	ours := p.mates.cluster(p.cfg.Cluster)
	return theirs == "" || ours == "" || theirs == ours
}

func (p *Peer) greeting() *hello {
	return &hello{
		Cluster: p.mates.cluster(p.cfg.Cluster), Peer: p.cfg.Self, Wall: model.TimeOf(p.cfg.Clock.Wall()),
		Term: p.raft.CurrentTerm(), Last: p.raft.LastIndex(), Applied: p.fsm.State().Index, Marks: p.fsm.Marks(),
		Archived: p.archived(), Program: p.program.Report(),
	}
}

// onExchange answers another peer with this one's status. A leader tells a peer that is no member any more.
// A member that lags behind learns of those that came while it was away: it must hear one of them that leads. A caller that is no
// member does not learn the id of this peer's data folder, see findMembers.
func (p *Peer) onExchange(ctx context.Context, from model.PeerID, theirs *hello) (*hello, error) {
	if p.leads() && indexOf(p.Status().Servers, from) < 0 {
		// A leader that was replaced without knowing may lack a member.
		if _, err := p.reads.wait(ctx, struct{}{}); err == nil && indexOf(p.Status().Servers, from) < 0 {
			return nil, &call.RemoteError{Kind: kindRemoved, Text: peer.ErrRemoved.Error()}
		}
	}
	ours := p.greeting()
	switch {
	case p.cfg.Tests.AnyFolder:
	case !p.folders.member(raft.ServerID(from)):
		ours.Peer.Folder = ""
	case theirs.Applied < ours.Applied:
		ours.Folders = p.folders.all()
	}
	return ours, nil
}

// noteRefusal ends this peer if the leader says that it was removed, and logs once that another peer refuses its
// certificate. Other errors are those of a peer that is down.
func (p *Peer) noteRefusal(by model.PeerID, err error) {
	switch {
	case call.KindOf(err) == kindRemoved:
		p.halt(peer.ErrRemoved)
	case strings.Contains(err.Error(), "tls: bad certificate") && p.folders.once("refused by "+string(by)):
		p.log.Error("peer_refused", "by", by, "err", err, "remedy", "the log of that peer says why: this peer was removed from the cluster, or its certificate has expired, or a clock is wrong")
	}
}

func (p *Peer) onReadIndex(ctx context.Context, _ model.PeerID, _ *struct{}) (*uint64, error) {
	if !p.leads() {
		return nil, p.redirection()
	}
	index, err := p.reads.wait(ctx, struct{}{})
	return &index, err
}

// redirection returns an error that names the leader.
func (p *Peer) redirection() error {
	address, _ := p.raft.LeaderWithID()
	return &call.RemoteError{Kind: kindNotLeader, Text: string(address)}
}

func (p *Peer) askReadIndex(ctx context.Context, leader peer.Server) (uint64, error) {
	index, err := call.Do(ctx, p.wire.client, leader, callReadIndex, &struct{}{})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", peer.ErrNoLeader, err)
	}
	return *index, nil
}

// agreeWithin is the largest difference at which two clocks agree.
const agreeWithin = 2 * time.Second

// agreedTime returns the time on which a majority of the peers' clocks agree, and how far this peer's own is
// ahead of it.
func (p *Peer) agreedTime() (at model.Time, ahead time.Duration, ok bool) {
	members := p.Status().Servers
	offsets := []time.Duration{0}
	for _, v := range p.mates.of(members, p.cfg.Clock.Boot()) {
		offsets = append(offsets, v.ahead)
	}
	slices.Sort(offsets)
	need := len(members)/2 + 1
	for i := 0; i+need <= len(offsets); i++ {
		if offsets[i+need-1]-offsets[i] <= agreeWithin {
			median := offsets[i+need/2]
			return model.TimeOf(p.cfg.Clock.Wall().Add(median)), -median, true
		}
	}
	return 0, 0, false
}

// Clocks compares the wall clocks of the members with this peer's, by the exchanges of the last seconds.
// While no majority agrees, the time of day is unknown: entries stamped more than 5 minutes ahead of the
// state's clock are refused.
func (p *Peer) Clocks() peer.Clocks {
	out := peer.Clocks{Ahead: map[model.PeerID]time.Duration{p.cfg.Self.ID: 0}}
	for _, v := range p.mates.of(p.Status().Servers, p.cfg.Clock.Boot()) {
		out.Ahead[v.hello.Peer.ID] = v.ahead
	}
	_, _, out.Agree = p.agreedTime()
	return out
}

// checkClock hands leadership over if this peer's clock is wrong.
func (p *Peer) checkClock(ctx context.Context) {
	if !p.leads() {
		return
	}
	if _, ahead, ok := p.agreedTime(); ok && ahead.Abs() > agreeWithin {
		p.handOver(ctx, "this peer's clock is off by "+ahead.Round(time.Millisecond).String())
	}
}

// checkDigest compares this peer's state with the others'. A peer that differs from a majority leaves;
// without a majority the correct state is unknown, and user commands stop.
func (p *Peer) checkDigest() {
	members := p.Status().Servers
	need := len(members)/2 + 1
	others := p.mates.of(members, p.cfg.Clock.Boot())
	split := false
	for _, own := range p.fsm.Marks() {
		votes, same := map[model.Hash]int{own.Digest: 1}, true
		for _, v := range others {
			for _, m := range v.hello.Marks {
				if m.Index == own.Index {
					votes[m.Digest]++
					same = same && m.Digest == own.Digest
				}
			}
		}
		if same || votes[own.Digest] >= need {
			continue
		}
		most, found := majority(votes, need)
		switch {
		case !found:
			split = true
		case !p.cfg.Tests.NoQuarantine:
			p.wire.transport.silence(true)
			p.halt(&peer.QuarantineError{Index: own.Index, Own: own.Digest, Most: most})
			return
		}
	}
	if p.mates.setSplit(split) && split {
		p.log.Error("states differ without a majority: user commands are refused until a peer is replaced")
	}
}

func majority(votes map[model.Hash]int, need int) (model.Hash, bool) {
	for digest, n := range votes { // order-free: at most one has a majority
		if n >= need {
			return digest, true
		}
	}
	return model.Hash{}, false
}

// stuckFor is how long a follower that answers may get no entries while it lacks some. An idle log is normal:
// there is nothing to replicate.
const stuckFor = 10 * time.Second

func (v heard) isStuck(now time.Duration) bool { return v.stuck > 0 && now-v.stuck > stuckFor }

// checkProgress hands leadership over when a follower answers without making progress.
func (p *Peer) checkProgress(ctx context.Context) {
	if !p.leads() {
		return
	}
	now := p.cfg.Clock.Boot()
	for _, v := range p.mates.of(p.Status().Servers, now) {
		if v.isStuck(now) && v.hello.Term == p.raft.CurrentTerm() {
			p.log.Error("follower answers without log progress", "follower", v.hello.Peer.ID, "at", v.hello.Last,
				"leader_at", p.raft.LastIndex())
			p.handOver(ctx, "replication to "+string(v.hello.Peer.ID)+" makes no progress")
			return
		}
	}
}

var errNoSeeds = errors.New("no address to join at")
