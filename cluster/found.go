package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// How often a founder asks the others, and logs that it waits.
const (
	askEvery   = 100 * time.Millisecond
	askTimeout = time.Second
	sayEvery   = 10 * time.Second
)

// Bootstrap founds a cluster of the given peers, or continues in the one that this peer's folder belongs to,
// so that a founding command can stay in a unit file. Every founding peer calls it with the same list.
//
// A peer with a new folder may be a founder, or a member that has lost its folder: under its old id it could
// vote twice in one term, and a majority with it could forget acknowledged entries. So it founds only once
// every other founder has answered that it has no cluster either, or one of them that this very folder is a
// member; until then it serves no Raft and Bootstrap waits. If one of them knows the peer with another
// folder, or is in a cluster without it, Bootstrap fails with ErrWiped.
func (p *Peer) Bootstrap(ctx context.Context, founders []peer.Server) error {
	if !p.inCluster() {
		folders, err := p.askFounders(ctx, founders)
		if err != nil {
			return err
		}
		if err := p.folders.learn(folders); err != nil {
			return err
		}
	}
	var c raft.Configuration
	for _, s := range founders {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	err := p.raft.BootstrapCluster(c).Error()
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("founding the cluster: %w", err)
	}
	p.folders.open.Store(true)
	return nil
}

// inCluster reports whether this folder belongs to a cluster: it has entries, or was admitted to one.
func (p *Peer) inCluster() bool {
	return p.raft.LastIndex() != 0 || p.folders.entered() || p.cfg.Tests.AnyFolder
}

// What a peer is to a founder that it asks.
const (
	standingNone   = iota // the asked founder has no cluster
	standingMember        // a member of its cluster, by this very folder
	standingOther         // no member of its cluster, or one with another folder
)

// asking is a founder's question, and asked the answer.
type asking struct {
	Cluster string     `cbor:"1,keyasint,omitempty"`
	Peer    model.Peer `cbor:"2,keyasint"`
}

type asked struct {
	Cluster  string            `cbor:"1,keyasint,omitempty"`
	Peer     model.Peer        `cbor:"2,keyasint"`
	Standing int               `cbor:"3,keyasint,omitempty"`
	Folders  map[string]string `cbor:"4,keyasint,omitempty"` // of its cluster's peers, for a member
}

func (p *Peer) onAsk(_ context.Context, from model.PeerID, q *asking) (*asked, error) {
	if q.Peer.ID != from {
		return nil, refuseClaim(from, q.Peer.ID)
	}
	if !p.sameCluster(q.Cluster) {
		return nil, p.refuseForeign(q.Peer, q.Cluster)
	}
	a := &asked{Cluster: p.mates.cluster(p.cfg.Cluster), Peer: p.cfg.Self}
	switch known := p.folders.Of(raft.ServerID(q.Peer.ID)); {
	case known != "" && known == q.Peer.Folder:
		a.Standing, a.Folders = standingMember, p.folders.all()
	case p.inCluster() || known != "":
		a.Standing = standingOther
	}
	return a, nil
}

// askFounders asks the other founders until this peer's standing is clear, and returns the founders' folder
// ids.
func (p *Peer) askFounders(ctx context.Context, founders []peer.Server) (map[string]string, error) {
	defer p.waiting.Store(nil)
	say := time.Now().Add(askTimeout) // peers that are started together need a moment
	for {
		folders, missing, err := p.askOnce(ctx, founders)
		if err != nil || len(missing) == 0 {
			return folders, err
		}
		why := fmt.Sprintf("this data folder is new, and founding a cluster needs an answer of every other founder: no answer yet of %s",
			strings.Join(missing, ", "))
		p.waiting.Store(&why)
		if now := time.Now(); !now.Before(say) {
			p.log.Warn("waiting for the other founders", "reason", why)
			say = now.Add(sayEvery)
		}
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", why, context.Cause(ctx))
		case <-p.life.ctx.Done():
			return nil, peer.ErrClosed
		}
	}
}

// askOnce asks each of the other founders once. It returns the folder ids of all founders, or the founders
// without an answer.
func (p *Peer) askOnce(ctx context.Context, founders []peer.Server) (folders map[string]string, missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make([]*asked, len(founders))
	var calls sync.WaitGroup
	for i, s := range founders {
		if s.ID == p.cfg.Self.ID {
			answers[i] = &asked{Peer: p.cfg.Self}
			continue
		}
		calls.Go(func() { answers[i] = p.askFounder(ctx, s) })
	}
	calls.Wait()
	folders = map[string]string{}
	member := map[string]string{}
	for i, s := range founders {
		switch a := answers[i]; {
		case a == nil:
			missing = append(missing, string(s.ID))
		case a.Standing == standingOther:
			return nil, nil, fmt.Errorf("%w (says peer %s)", peer.ErrWiped, s.ID)
		case a.Standing == standingMember:
			maps.Copy(member, a.Folders)
		default:
			folders[string(s.ID)] = a.Peer.Folder
		}
	}
	if len(member) > 0 { // the cluster is there already, and this peer belongs to it
		return member, nil, nil
	}
	slices.Sort(missing)
	return folders, missing, nil
}

// askFounder asks one founder; nil: there was no valid answer.
func (p *Peer) askFounder(ctx context.Context, s peer.Server) *asked {
	q := asking{Cluster: p.mates.cluster(p.cfg.Cluster), Peer: p.cfg.Self}
	a, err := call.Do(ctx, p.wire.client, s, callAsk, &q)
	switch remote, is := errors.AsType[*call.RemoteError](err); {
	case is && p.folders.once("ask "+string(s.ID)):
		p.log.Error("founder returned an error", "founder", s.ID, "address", s.Address, "err", remote)
	case err == nil && a.Peer.ID == s.ID:
		p.mates.noteFounder(s.ID, a.Peer.Level)
		return a
	case err == nil && p.folders.once("answer "+string(s.ID)+string(a.Peer.ID)):
		p.log.Error("wrong peer at a founder's address: check server.bootstrap (--bootstrap) and the listener there", "address", s.Address,
			"founder", s.ID, "answers", a.Peer.ID)
	}
	return nil
}
