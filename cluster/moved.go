package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
)

// Only a leader registers the address of a peer, so peers that have all moved would never meet: each would look for the others where they
// were.
// A moving network also looks for a peer where the operator's list has it. Each peer proves its name, so that a wrong list costs
// connections and nothing else. Once there is a leader, the peers register their addresses.

// dialShare bounds each of several tries of one dial.
const dialShare = time.Second

// moving is a network on which members may have other addresses than the cluster has of them.
type moving struct {
	raftnet.Network

	listed  []peer.Server        // by the operator; an entry may lack the id
	members func() []peer.Server // as the cluster has them
	proven  func(net.Conn) string

	mu   sync.Mutex
	used map[string]string // where a peer was found last, by the address that the cluster has
}

// provenMoving is one on which the other side proves its id.
type provenMoving struct {
	*moving
	raftnet.Prover
}

// newMoving returns a network for a list of peers.
func newMoving(n raftnet.Network, listed []peer.Server, members func() []peer.Server) raftnet.Network {
	if len(listed) == 0 {
		return n
	}
	m := &moving{Network: n, listed: listed, members: members, used: map[string]string{}}
	if p, is := n.(raftnet.Prover); is {
		m.proven = p.Proven
		return provenMoving{m, p}
	}
	return m
}

// Dial opens a stream to the peer that the cluster has at an address.
func (m *moving) Dial(address string, timeout time.Duration) (net.Conn, error) {
	id, others, taken := m.elsewhere(address)
	if len(others)+len(taken) == 0 {
		return m.Network.Dial(address, timeout)
	}
	share := dialShare
	if timeout > 0 {
		share = min(share, timeout/time.Duration(1+len(others)))
	}
	m.mu.Lock()
	tries := append([]string{m.used[address], address}, others...)
	m.mu.Unlock()
	var failed error
	var tried []string
	for len(tries) > 0 {
		at := tries[0]
		tries = tries[1:]
		if at == "" || slices.Contains(tried, at) {
			continue
		}
		tried = append(tried, at)
		conn, err := m.dialAs(id, at, share)
		if err == nil {
			m.mu.Lock()
			m.used[address] = at
			m.mu.Unlock()
			return conn, nil
		}
		if at == address && errors.Is(err, errOther) {
			tries = append(tries, taken...)
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// errOther means that another peer than the expected one answers at an address.
var errOther = errors.New("another peer is there")

// dialAs connects to an address, where a certain peer must answer.
func (m *moving) dialAs(id model.PeerID, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := m.Network.Dial(address, timeout)
	if err != nil || m.proven == nil {
		return conn, err
	}
	if is := model.PeerID(m.proven(conn)); is != id {
		return nil, errors.Join(fmt.Errorf("at %s is peer %q in place of %q: %w", address, is, id, errOther), conn.Close())
	}
	return conn, nil
}

// elsewhere returns the member that the cluster has at an address, and where else it may be by the list of the operator: none for most.
// taken are addresses in the list at which the cluster has other members: peers may have exchanged theirs.
func (m *moving) elsewhere(address string) (id model.PeerID, others, taken []string) {
	members := m.members()
	i := slices.IndexFunc(members, func(s peer.Server) bool { return s.Address == address })
	if i < 0 {
		return "", nil, nil
	}
	for _, l := range m.listed {
		known := slices.ContainsFunc(members, func(s peer.Server) bool { return s.Address == l.Address })
		switch {
		case l.Address == address:
		case l.ID == members[i].ID, l.ID == "" && !known && m.proven != nil:
			others = append(others, l.Address)
		case known && m.proven != nil:
			taken = append(taken, l.Address)
		}
	}
	return members[i].ID, others, taken
}
