package raftnet

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/conns"
	"github.com/berth-gpu/berth/fsm/model"
)

// maxRaftConns bounds Raft's open connections, both ways together. A peer keeps a handful to each other.
const maxRaftConns = 256

// StreamLayer is the network as raft.NetworkTransport needs it; Mux.Raft returns one.
type StreamLayer = raft.StreamLayer

// stream is Raft's share of the Mux. It remembers every connection, accepted or dialled, because
// raft.NetworkTransport forgets those that it accepted: after its Close their goroutines would wait on them
// for ever.
type stream struct {
	network  Network
	address  net.Addr
	conns    *conns.Set
	accepted chan net.Conn
	stop     chan struct{}
	once     sync.Once
}

func newStream(network Network, address net.Addr) *stream {
	return &stream{
		network:  network,
		address:  address,
		conns:    conns.New(maxRaftConns),
		accepted: make(chan net.Conn),
		stop:     make(chan struct{}),
	}
}

// deliver passes a connection, whose other side has proven an id, to Accept, and waits until it is accepted.
func (s *stream) deliver(conn net.Conn, proven model.PeerID) error {
	c, err := s.conns.Adopt(conn)
	if err != nil {
		return err
	}
	select {
	case s.accepted <- &proved{c, raft.ServerID(proven)}:
		return nil
	case <-s.stop:
		_ = c.Close()
		return net.ErrClosed
	}
}

// Accept waits for another peer's connection.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.stop:
		return nil, net.ErrClosed
	}
}

// Dial connects to another peer's Raft.
func (s *stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := dialKind(s.network, string(address), kindRaft, timeout)
	if err != nil {
		return nil, err
	}
	id, err := prove(s.network, conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("at %s: %w", address, err), conn.Close())
	}
	c, err := s.conns.Adopt(conn)
	if err != nil {
		return nil, err
	}
	return &proved{c, raft.ServerID(id)}, nil
}

// Addr returns the advertised address: Raft names this peer by it.
func (s *stream) Addr() net.Addr { return s.address }

// Close closes all of Raft's connections and accepts no more.
func (s *stream) Close() error {
	s.once.Do(func() {
		close(s.stop)
		s.conns.Close()
	})
	return nil
}
