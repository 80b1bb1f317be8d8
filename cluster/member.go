package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

var errNoMember = errors.New("this peer is no member")

// joining is a new peer's request, joined the answer.
type joining struct {
	Cluster string     `cbor:"1,keyasint,omitempty"`
	Peer    model.Peer `cbor:"2,keyasint"`
}

type joined struct {
	Cluster string            `cbor:"1,keyasint"`
	Folders map[string]string `cbor:"2,keyasint,omitempty"` // data folders of the cluster's peers, by peer id
}

// Join asks a peer at one of the addresses to admit this one to its cluster, and retries until the context
// ends. It returns once the leader has admitted the peer, which gets a vote when it has caught up.
func (p *Peer) Join(ctx context.Context, addresses []string) error {
	if len(addresses) == 0 {
		return errNoSeeds
	}
	var err error
	defer p.waiting.Store(nil)
	for try := 0; ; try++ {
		if err = p.joinAt(ctx, addresses[try%len(addresses)]); err == nil {
			return nil
		}
		kind := call.KindOf(err)
		if kind == kindWiped {
			return peer.ErrWiped
		}
		if kind == kindForeign {
			return err
		}
		if why := "this peer is not taken into a cluster yet: " + err.Error(); !p.folders.open.Load() {
			p.waiting.Store(&why)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("joining at %v: %w (%w)", addresses, err, context.Cause(ctx))
		case <-p.life.ctx.Done():
			return peer.ErrClosed
		}
	}
}

// joinAt asks one peer, and the leader that it names.
func (p *Peer) joinAt(ctx context.Context, address string) error {
	for range 2 {
		q := joining{Cluster: p.mates.cluster(p.cfg.Cluster), Peer: p.cfg.Self}
		a, err := call.Do(ctx, p.wire.client, peer.Server{Address: address}, callJoin, &q)
		if err == nil {
			return p.enter(a)
		}
		remote, is := errors.AsType[*call.RemoteError](err)
		if !is || remote.Kind != kindNotLeader || remote.Text == "" {
			return err
		}
		address = remote.Text
	}
	return peer.ErrNoLeader
}

// enter stores the cluster's id, so that this folder serves no other cluster, and the folders of its peers;
// then this peer takes part in Raft.
func (p *Peer) enter(a *joined) error {
	p.mates.setCluster(a.Cluster)
	if p.cfg.Joined != nil && a.Cluster != "" {
		if err := p.cfg.Joined(a.Cluster); err != nil {
			return err
		}
	}
	if err := p.folders.learn(a.Folders); err != nil {
		return err
	}
	p.folders.open.Store(true)
	return nil
}

func (p *Peer) refuseForeign(joiner model.Peer, cluster string) error {
	return &call.RemoteError{Kind: kindForeign, Text: fmt.Sprintf("peer %s belongs to cluster %s, this is %s: "+
		"start it on an empty data folder", joiner.ID, cluster, p.mates.cluster(p.cfg.Cluster))}
}

// refuseClaim refuses a question about another peer than the caller.
func refuseClaim(from, claimed model.PeerID) error {
	return &call.RemoteError{Kind: kindForeign, Text: fmt.Sprintf("peer %s asks for peer %s: a peer asks for itself only; start each with its own --id and data folder", from, claimed)}
}

func (p *Peer) onJoin(ctx context.Context, from model.PeerID, q *joining) (*joined, error) {
	if q.Peer.ID != from {
		return nil, refuseClaim(from, q.Peer.ID)
	}
	if !p.sameCluster(q.Cluster) {
		return nil, p.refuseForeign(q.Peer, q.Cluster)
	}
	if !p.leads() {
		return nil, p.redirection()
	}
	if _, err := p.reads.wait(ctx, struct{}{}); err != nil { // an older leader's state may lack the peer
		return nil, err
	}
	s := p.State()
	if set := s.Settings(); q.Peer.Level < set.Level {
		return nil, &call.RemoteError{Kind: kindForeign, Text: fmt.Sprintf("the cluster is at feature level %d, and the program of peer %s (%s) knows levels up to %d: "+
			"install the version that the other peers run, or a newer one", set.Level, q.Peer.ID, q.Peer.Version, q.Peer.Level)}
	}
	if !p.mayEnter(q.Peer) {
		return nil, &call.RemoteError{Kind: kindWiped, Text: peer.ErrWiped.Error()}
	}
	if err := (&command.SetPeer{Peer: q.Peer}).Validate(); err != nil {
		return nil, &call.RemoteError{Kind: kindForeign, Text: err.Error()}
	}
	if err := p.takeIn(ctx, q.Peer); err != nil {
		return nil, err
	}
	return &joined{p.mates.cluster(p.cfg.Cluster), p.folders.all()}, nil
}

// mayEnter reports whether a peer may be a member with its folder: the cluster knows the peer by that folder,
// or not at all.
func (p *Peer) mayEnter(joiner model.Peer) bool {
	if p.cfg.Tests.AnyFolder {
		return true
	}
	known := p.folders.Of(raft.ServerID(joiner.ID))
	if known == "" {
		return joiner.Folder != "" && indexOf(p.Status().Servers, joiner.ID) < 0
	}
	return known == joiner.Folder
}

// takeIn makes a peer a member without a vote, or moves one to a new address. A vote before the peer has caught
// up could leave the cluster without a majority. Its folder's id goes into the state first, so that every
// peer which has it as a member knows it by that folder.
func (p *Peer) takeIn(ctx context.Context, joiner model.Peer) error {
	p.life.members <- struct{}{}
	defer func() { <-p.life.members }()
	for _, s := range p.Status().Servers {
		if s.Address != joiner.RaftAddress {
			continue
		}
		if s.ID == joiner.ID {
			return nil
		}
		if err := p.vacate(ctx, s); err != nil {
			return err
		}
	}
	expected := p.mates.expect(joiner)
	defer expected()
	c, err := command.New(actor(p), &command.SetPeer{Peer: joiner})
	if err != nil {
		return err
	}
	results, _, err := p.Propose(ctx, c)
	switch {
	case err != nil:
		return err
	case !results[0].OK():
		return &call.RemoteError{Kind: kindWiped, Text: results[0].Detail}
	}
	if err := p.folders.learn(nil); err != nil {
		return err
	}
	return translate(p.raft.AddNonvoter(raft.ServerID(joiner.ID), raft.ServerAddress(joiner.RaftAddress), 0, patience(ctx)).Error())
}

// vacate takes its address from a member that has moved away from there, such as one that has exchanged addresses with another. It
// registers its new address by itself.
func (p *Peer) vacate(ctx context.Context, s peer.Server) error {
	members := p.Status().Servers
	moved := s.ID == p.cfg.Self.ID && p.cfg.Self.RaftAddress != s.Address
	for _, v := range p.mates.of([]peer.Server{s}, p.cfg.Clock.Boot()) {
		moved = moved || v.hello.Peer.RaftAddress != "" && v.hello.Peer.RaftAddress != s.Address
	}
	if !moved {
		return fmt.Errorf("peer %s holds the address %s: if it is gone for good, remove it (berth peers remove); if it has moved, start it first, with its present address and those of the others in server.join", s.ID, s.Address)
	}
	for n := 1; ; n++ {
		nowhere := "moved.invalid:" + strconv.Itoa(n) // a name that leads nowhere (RFC 6761)
		if !slices.ContainsFunc(members, func(other peer.Server) bool { return other.Address == nowhere }) {
			return translate(p.raft.AddNonvoter(raft.ServerID(s.ID), raft.ServerAddress(nowhere), 0, patience(ctx)).Error()) // a voter stays one
		}
	}
}

// Readdress gives the cluster the address that this peer is started with, where the cluster has another one for it: a leader has no
// other peer that could ask for it, and one that is alone could not be joined. Only the leader accepts the call.
func (p *Peer) Readdress(ctx context.Context) error {
	if !p.leads() {
		return notLeader(p)
	}
	return p.takeIn(ctx, p.cfg.Self)
}

// promoteVoters gives a vote to a member where package votes says so, and returns the memory for the next time.
func (p *Peer) promoteVoters(memory votes.Memory) votes.Memory {
	conf := p.raft.GetConfiguration()
	now := p.cfg.Clock.Boot()
	up := p.up(servers(conf.Configuration().Servers))
	members := make([]votes.Member, 0, len(conf.Configuration().Servers))
	for _, s := range conf.Configuration().Servers {
		m := votes.Member{ID: model.PeerID(s.ID), Votes: s.Suffrage == raft.Voter}
		for _, v := range p.mates.of([]peer.Server{{ID: m.ID}}, now) {
			m.Fresh = v.hello.Last+peer.CloseEnough >= p.raft.LastIndex() && slices.Contains(up, m.ID)
		}
		members = append(members, m)
	}
	id, memory := votes.Next(members, memory, now, p.cfg.Tests.VoteAtOnce)
	if id != "" {
		p.log.Info("promoting a peer to voter", "of", id, "err", p.addVoter(id, time.Second))
	}
	return memory
}

// addVoter gives a vote to a member. A removal comes before or after: the vote would bring the member back, and so would a move.
func (p *Peer) addVoter(id model.PeerID, timeout time.Duration) error {
	p.life.members <- struct{}{}
	defer func() { <-p.life.members }()
	for _, s := range p.raft.GetConfiguration().Configuration().Servers {
		if s.ID == raft.ServerID(id) {
			return p.raft.AddVoter(s.ID, s.Address, 0, timeout).Error()
		}
	}
	return errNoMember
}

// Promote gives a vote to a member at once; only the leader accepts the call.
func (p *Peer) Promote(ctx context.Context, id model.PeerID) error {
	if !p.leads() {
		return notLeader(p)
	}
	return translate(p.addVoter(id, patience(ctx)))
}

// Remove removes a peer from the cluster; only the leader accepts the call. A leader that removes itself
// steps down afterwards.
func (p *Peer) Remove(ctx context.Context, id model.PeerID) error {
	if !p.leads() {
		return notLeader(p)
	}
	p.life.members <- struct{}{}
	defer func() { <-p.life.members }()
	return translate(p.raft.RemoveServer(raft.ServerID(id), 0, patience(ctx)).Error())
}

// Transfer hands leadership to a peer, or to any if it is empty.
func (p *Peer) Transfer(ctx context.Context, to model.PeerID) error {
	if !p.leads() {
		return notLeader(p)
	}
	var f raft.Future
	if to == "" {
		f = p.raft.LeadershipTransfer()
	} else {
		i := indexOf(p.Status().Servers, to)
		if i < 0 {
			return errNoMember
		}
		f = p.raft.LeadershipTransferToServer(raft.ServerID(to), raft.ServerAddress(p.Status().Servers[i].Address))
	}
	done := make(chan error, 1)
	p.life.work.Go(func() { done <- f.Error() })
	select {
	case err := <-done:
		return translate(err)
	case <-ctx.Done():
		return fmt.Errorf("handing leadership over: %w", context.Cause(ctx))
	}
}

func indexOf(list []peer.Server, id model.PeerID) int {
	for i, s := range list {
		if s.ID == id {
			return i
		}
	}
	return -1
}

// patience returns the remaining time of a context, at most ten seconds.
func patience(ctx context.Context) time.Duration {
	const most = 10 * time.Second
	if at, bounded := ctx.Deadline(); bounded {
		return max(time.Millisecond, min(most, time.Until(at)))
	}
	return most
}
