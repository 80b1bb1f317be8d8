package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Bootstrap founds a cluster of the given peers. Every founding peer calls it
// with the same list on new stores; a peer that belongs to a cluster already goes
// on in it, so that a founding command can stay in a unit file.
//
// A peer with new stores that the others remember has lost its memory. Under its
// old id it could vote twice in one term, and a majority with it could forget what
// was acknowledged; so it is refused with ErrWiped, if another founder can be
// asked.
func (p *Peer) Bootstrap(founders []Server) error {
	if p.raft.LastIndex() == 0 && (membership{p}).remembered(founders) {
		return ErrWiped
	}
	var c raft.Configuration
	for _, s := range founders {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	err := p.raft.BootstrapCluster(c).Error()
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("founding the cluster: %w", err)
	}
	return nil
}

// membership is a peer as it takes others in, or is taken in.
type membership struct{ *Peer }

// remembered asks the other founders whether this peer has been a member before.
func (p membership) remembered(founders []Server) bool {
	ctx, cancel := context.WithTimeout(p.life.ctx, time.Second)
	defer cancel()
	var asking sync.WaitGroup
	var known atomic.Bool
	for _, s := range founders {
		if s.ID == p.cfg.Self.ID {
			continue
		}
		asking.Go(func() {
			var theirs hello
			if err := exchanger(p).call(ctx, s.Address, methodExchange, exchanger(p).hello(), &theirs); err == nil && theirs.Known {
				known.Store(true)
			}
		})
	}
	asking.Wait()
	return known.Load()
}

// joining is what a new peer sends, joined what it learns.
type joining struct {
	Cluster string     `cbor:"1,keyasint,omitempty"`
	Peer    model.Peer `cbor:"2,keyasint"`
	Fresh   bool       `cbor:"3,keyasint,omitempty"` // its stores are new
}

type joined struct {
	Cluster string `cbor:"1,keyasint"`
}

// Join asks a peer at one of the addresses to take this one into its cluster, and
// tries on until the context ends. It returns once the leader has taken it; the
// peer gets a vote when it has caught up.
func (p *Peer) Join(ctx context.Context, addresses []string) error {
	if len(addresses) == 0 {
		return errNoSeeds
	}
	var err error
	for try := 0; ; try++ {
		if err = (membership{p}).joinAt(ctx, addresses[try%len(addresses)]); err == nil {
			return nil
		}
		if remote, is := errors.AsType[*raftnet.RemoteError](err); is && remote.Code == codeForeign {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("joining at %v: %w (%w)", addresses, err, context.Cause(ctx))
		}
	}
}

// joinAt asks one peer, and the leader that it names.
func (p membership) joinAt(ctx context.Context, address string) error {
	for range 2 {
		q := joining{Cluster: p.mates.cluster(p.cfg.Cluster), Peer: p.cfg.Self, Fresh: p.raft.LastIndex() == 0}
		var a joined
		err := exchanger(p).call(ctx, address, methodJoin, q, &a)
		if err == nil {
			return p.remember(a.Cluster)
		}
		remote, is := errors.AsType[*raftnet.RemoteError](err)
		if !is || remote.Code != codeNotLeader || remote.Text == "" {
			return err
		}
		address = remote.Text
	}
	return ErrNoLeader
}

// remember keeps the cluster's id, so that this folder serves no other cluster.
func (p membership) remember(cluster string) error {
	p.mates.setCluster(cluster)
	if p.cfg.Joined == nil || cluster == "" {
		return nil
	}
	return p.cfg.Joined(cluster)
}

func (p membership) onJoin(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var q joining
	if err := cbor.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("reading a join: %w", err)
	}
	own := p.mates.cluster(p.cfg.Cluster)
	if !exchanger(p).sameCluster(q.Cluster) {
		return nil, &raftnet.RemoteError{Code: codeForeign, Text: fmt.Sprintf("peer %s belongs to cluster %s, this is %s: "+
			"start it on an empty data folder", q.Peer.ID, q.Cluster, own)}
	}
	if !p.leads() {
		return nil, exchanger(p).redirect()
	}
	if s := p.State(); q.Fresh && s.Peers.Has(q.Peer.ID) {
		return nil, &raftnet.RemoteError{Code: codeForeign, Text: ErrWiped.Error()}
	}
	if err := (&command.SetPeer{Peer: q.Peer}).Validate(); err != nil {
		return nil, &raftnet.RemoteError{Code: codeForeign, Text: err.Error()}
	}
	if err := p.take(ctx, q.Peer); err != nil {
		return nil, err
	}
	return cbor.Marshal(joined{own})
}

// take makes a peer a member without a vote, or moves one to a new address. A
// vote before it has caught up could leave the cluster without a majority.
func (p membership) take(ctx context.Context, peer model.Peer) error {
	for _, s := range p.Status().Servers {
		switch {
		case s.ID == peer.ID && s.Address == peer.RaftAddress:
			return nil
		case s.ID != peer.ID && s.Address == peer.RaftAddress:
			return fmt.Errorf("peer %s holds the address %s: remove it first", s.ID, s.Address)
		}
	}
	timeout := patience(ctx)
	return translateMember(p.raft.AddNonvoter(raft.ServerID(peer.ID), raft.ServerAddress(peer.RaftAddress), 0, timeout).Error())
}

// promote gives a vote to members that have caught up.
func (p membership) promote() {
	conf := p.raft.GetConfiguration()
	if conf.Error() != nil {
		return
	}
	now := p.cfg.Clock.Boot()
	for _, s := range conf.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			continue
		}
		for _, v := range p.mates.of([]Server{{ID: model.PeerID(s.ID)}}, now) {
			if v.hello.Last+closeEnough < p.raft.LastIndex() {
				continue
			}
			if err := p.raft.AddVoter(s.ID, s.Address, 0, time.Second).Error(); err != nil {
				p.log.Warn("a peer that has caught up got no vote yet", "of", s.ID, "err", err)
			} else {
				p.log.Info("a peer has caught up and got a vote", "of", s.ID)
			}
		}
	}
}

// closeEnough is how many entries a member may lack and still count as caught up.
const closeEnough = 500

// Remove takes a peer out of the cluster; it must be asked of the leader. A leader
// that removes itself steps down afterwards.
func (p *Peer) Remove(ctx context.Context, id model.PeerID) error {
	if !p.leads() {
		return notLeader(p)
	}
	return translateMember(p.raft.RemoveServer(raft.ServerID(id), 0, patience(ctx)).Error())
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
			return fmt.Errorf("peer %s is no member", to)
		}
		f = p.raft.LeadershipTransferToServer(raft.ServerID(to), raft.ServerAddress(p.Status().Servers[i].Address))
	}
	done := make(chan error, 1)
	p.life.work.Go(func() { done <- f.Error() })
	select {
	case err := <-done:
		return translateMember(err)
	case <-ctx.Done():
		return fmt.Errorf("handing leadership over: %w", context.Cause(ctx))
	}
}

func indexOf(list []Server, id model.PeerID) int {
	for i, s := range list {
		if s.ID == id {
			return i
		}
	}
	return -1
}

func translateMember(err error) error {
	if err == nil {
		return nil
	}
	return translate(err)
}

// patience is what is left of a context's time, at most ten seconds.
func patience(ctx context.Context) time.Duration {
	const most = 10 * time.Second
	if at, bounded := ctx.Deadline(); bounded {
		return max(time.Millisecond, min(most, time.Until(at)))
	}
	return most
}
