package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// now is the wall clock by which certificates are checked.
var now = time.Now

// openCredentials returns the credentials of a data folder.
func openCredentials(data string, role trust.Role, name string, now func() time.Time, revoked trust.Revoked) (*trust.Credentials, error) {
	if info, err := os.Stat(data); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: cannot create the data folder: a file has this name; check that the path is right", data)
	}
	dir := filepath.Join(data, trust.Subfolder)
	c, err := trust.Open(dir, role, name, now, revoked)
	if errors.Is(err, trust.ErrEmpty) {
		return nil, cmdline.Usage("%s has no certificate: %w", data, err)
	}
	if err == nil && role == trust.RoleNode {
		c.OnGeneration(func(generation uint64) error { return trust.SaveGeneration(dir, generation) })
	}
	return c, err
}

// revocations are the certificates that the cluster refuses, once its state is known.
type revocations struct {
	present atomic.Pointer[func() state.State]
}

// revoked reports whether the certificates of a member that were issued at an instant are refused.
func (r *revocations) revoked(member trust.Identity, issued time.Time) bool {
	present := r.present.Load()
	if present == nil {
		return false
	}
	role := model.RoleAgent
	if member.Role == trust.RolePeer {
		role = model.RolePeer
	}
	s := (*present)()
	known, found := s.Certificates.Get(membership.Member{Role: role, Name: member.Name})
	return found && known.Refuses(model.TimeOf(issued))
}

// admits reports whether the cluster has a member of this name in gossip, which was not revoked. Before the state is known, no member is.
func (r *revocations) admits(name string) bool {
	present := r.present.Load()
	if present == nil {
		return false
	}
	s := (*present)()
	role, id, _ := strings.Cut(name, "/")
	member, known := membership.Member{Role: model.RoleAgent, Name: id}, s.Nodes.Has(model.NodeID(id))
	if trust.Role(role) == trust.RolePeer {
		member.Role, known = model.RolePeer, s.Peers.Has(model.PeerID(id))
	}
	row, found := s.Certificates.Get(member)
	return known && (!found || !row.Revoked)
}

// askSign asks peers for the certificates of an agent.
func askSign(calls *client.Agent) trust.Sign {
	return func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		answer, err := calls.Certify(ctx, &agentwire.Certify{Request: request, Life: life})
		if err != nil {
			return nil, err
		}
		return &trust.Signed{
			Certificate: answer.Certificate, Authorities: answer.Authorities, Link: answer.Link, Revision: answer.Revision,
		}, nil
	}
}

// dialPeers returns what connects an agent to peers.
func dialPeers(c *trust.Credentials) cli.Dial {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cli.HTTPDialLimit)
		defer cancel()
		return c.Dial(ctx, cli.DialPlain, address)
	}
}

// agentDial returns what dials agents: the other side must be a node that has registered with the address.
func agentDial(c *trust.Credentials, present func() state.State) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := cli.DialTLS(c.NodeClient())
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure, is := conn.(*tls.Conn)
		if !is {
			return nil, errors.Join(errors.New("the connection is not encrypted"), conn.Close())
		}
		state := secure.ConnectionState()
		i, _ := trust.IdentityOf(&state)
		s := present()
		if n, found := s.Nodes.Get(model.NodeID(i.Name)); !found || n.Address != address {
			return nil, errors.Join(fmt.Errorf("at %s is the agent of node %s, which has not registered with this address", address, i.Name), conn.Close())
		}
		return conn, nil
	}
}

const (
	standingEvery = 5 * time.Second // between two questions of a peer that knows no leader
	standingLimit = 3 * time.Second // for the answers to one
)

// watchStanding asks the other peers why they refuse this one, while it knows no leader: a handshake does not say that to the side that
// is refused. A peer that was removed ends, and any other that is refused says so in all of its answers.
func (s *service) watchStanding(ctx context.Context) {
	tick := time.NewTicker(standingEvery)
	defer tick.Stop()
	renewed := uint64(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		present := s.peer.State()
		if now := newestRenewal(&present); now > renewed {
			renewed = now
			s.credentials.Led()
		}
		s.askNodes(ctx)
		st := s.peer.Status()
		if st.Leader.ID != "" || st.Role == peer.RoleLeader {
			s.stand("")
			s.keepPeers()
			continue
		}
		answers := s.askStanding(ctx)
		why := ""
		for _, a := range answers {
			if a.Refused == wire.RefusedRemoved {
				s.halt(peer.ErrRemoved)
				return
			}
			if a.Refused != "" {
				why = fmt.Sprintf("peer %s is refused by the others: %s", s.o.id, a.Message)
			}
		}
		if len(answers) > 0 {
			s.stand(why)
		}
	}
}

// newestRenewal returns the log entry that accepted the newest renewal of a node.
func newestRenewal(s *state.State) (index uint64) {
	for _, l := range s.Leases.All() {
		index = max(index, l.Index)
	}
	return index
}

// stand notes whether the other peers refuse this one.
func (s *service) stand(why string) {
	why = cmp.Or(s.credentials.Outlived(), why)
	if was := s.peer.Apart(); why == was {
		return
	}
	s.peer.StandApart(why)
	if why == "" {
		s.log.Info("peer_accepted", "peer", s.o.id)
		return
	}
	s.log.Error("peer_stands_apart", "peer", s.o.id, "why", why)
}

// askStanding asks all other peers what they say of this peer's certificate, and returns the answers.
func (s *service) askStanding(ctx context.Context) (answers []*wire.Standing) {
	ctx, cancel := context.WithTimeout(ctx, standingLimit)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, address := range s.otherPeers() {
		all.Go(func() {
			if a, err := examine.Standing(ctx, s.credentials, address); err == nil {
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
			} else {
				s.log.Debug("standing_not_known", "of", s.o.id, "by", address, "err", err)
			}
		})
	}
	all.Wait()
	return answers
}

// peersFile has the addresses of the API of the other peers, for a peer that is started and refused: its state begins with what the
// others commit.
func (s *service) peersFile() string { return filepath.Join(s.o.data, "peers") }

// statePeers returns the addresses of the API of the other peers by the state.
func (s *service) statePeers() (out []string) {
	present := s.peer.State()
	for id, p := range present.Peers.All() {
		if id != s.o.id && p.APIAddress != "" {
			out = append(out, p.APIAddress)
		}
	}
	return out
}

// otherPeers returns the addresses of the API of the other peers, by the state or as they were known last.
func (s *service) otherPeers() (out []string) {
	if out = s.statePeers(); len(out) > 0 || smallfile.Read(s.peersFile(), &out) == nil {
		return out
	}
	_, port, _ := net.SplitHostPort(s.o.reached) // mostly the same on all machines
	for _, v := range s.peer.Status().Servers {
		if host, _, err := net.SplitHostPort(v.Address); err == nil && v.ID != s.o.id {
			out = append(out, net.JoinHostPort(host, port))
		}
	}
	return out
}

// keepPeers stores the addresses of the other peers, if they have changed.
func (s *service) keepPeers() {
	now := s.statePeers()
	if len(now) == 0 || slices.Equal(s.keptPeers, now) {
		return
	}
	if err := smallfile.Replace(s.peersFile(), now); err != nil {
		s.log.Warn("peers_not_kept", "path", s.peersFile(), "err", err)
		return
	}
	s.keptPeers = now
}

// silentNodes bounds the nodes that are asked at once.
const silentNodes = 4

// askNodes connects to some of the nodes that are not in contact. Those that have followed another cluster to a later generation show that
// by their certificates: see [trust.Credentials.Outlived].
func (s *service) askNodes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, standingLimit)
	defer cancel()
	present := s.peer.State()
	var silent []string
	for _, n := range present.Nodes.All() {
		if n.Status != model.NodeUp && n.Address != "" {
			silent = append(silent, n.Address)
		}
	}
	rand.Shuffle(len(silent), func(i, j int) { silent[i], silent[j] = silent[j], silent[i] }) //nolint:gosec // an order, no secret
	var all sync.WaitGroup
	dial := cli.DialTLS(s.credentials.NodeClient())
	for _, address := range silent[:min(len(silent), silentNodes)] {
		all.Go(func() {
			if conn, err := dial(ctx, "tcp", address); err == nil {
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}
