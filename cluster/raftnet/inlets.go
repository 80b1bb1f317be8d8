package raftnet

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// maxInlets bounds the peers from which streams of Raft are open at once. A cluster has a handful.
const maxInlets = 64

var errManyPeers = errors.New("streams of too many different peers are open")

// incoming is a request with the id that its sender has proven; empty: the network proves none.
type incoming struct {
	raft.RPC

	proven raft.ServerID
}

// inlets has one raft.NetworkTransport for the streams of each peer: a request of raft.NetworkTransport does not say
// on which stream it came, and with that whose it is.
type inlets struct {
	layer  StreamLayer
	config raft.NetworkTransportConfig
	out    chan incoming // to the relay
	stop   chan struct{}
	main   *inlet // of senders that have proven no id; also sends
	work   sync.WaitGroup

	mu     sync.Mutex
	of     map[raft.ServerID]*inlet
	handle func(raft.RPC) // see SetHeartbeatHandler
	closed bool
}

// inlet is the streams of one peer.
type inlet struct {
	*raft.NetworkTransport

	all      *inlets
	proven   raft.ServerID
	accepted chan net.Conn
	open     atomic.Int64 // streams
	stop     chan struct{}
	once     sync.Once
}

func newInlets(layer StreamLayer, config raft.NetworkTransportConfig) *inlets {
	a := &inlets{layer: layer, config: config, out: make(chan incoming), stop: make(chan struct{}), of: map[raft.ServerID]*inlet{}}
	a.main = a.begin("")
	a.of[""] = a.main
	a.work.Go(a.accept)
	return a
}

// begin starts the transport of a peer's streams.
func (a *inlets) begin(proven raft.ServerID) *inlet {
	i := &inlet{all: a, proven: proven, accepted: make(chan net.Conn), stop: make(chan struct{})}
	config := a.config
	config.Stream = i
	i.NetworkTransport = raft.NewNetworkTransportWithConfig(&config)
	if a.handle != nil {
		i.SetHeartbeatHandler(a.handle)
	}
	a.work.Go(i.forward)
	return i
}

// accept hands each stream to the transport of the peer at the other side.
func (a *inlets) accept() {
	for {
		conn, err := a.layer.Accept()
		if err != nil {
			return // the layer is closed, and does not fail otherwise
		}
		i, err := a.inlet(provenBy(conn))
		if err != nil {
			a.config.Logger.Warn("stream refused", "from", conn.RemoteAddr(), "reason", err)
			_ = conn.Close()
			continue
		}
		select {
		case i.accepted <- &counted{Conn: conn, in: i}:
		case <-a.stop:
			_ = conn.Close()
			return
		}
	}
}

// inlet returns the transport of a peer's streams, with one stream more.
func (a *inlets) inlet(proven raft.ServerID) (*inlet, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, net.ErrClosed
	}
	i := a.of[proven]
	if i == nil {
		if len(a.of) > maxInlets {
			a.dropIdle()
		}
		if len(a.of) > maxInlets {
			return nil, errManyPeers
		}
		i = a.begin(proven)
		a.of[proven] = i
	}
	i.open.Add(1)
	return i, nil
}

// dropIdle ends the transports without a stream.
func (a *inlets) dropIdle() {
	for id, i := range a.of { // order-free
		if i != a.main && i.open.Load() == 0 {
			delete(a.of, id)
			_ = i.NetworkTransport.Close()
		}
	}
}

// handleHeartbeats has all transports hand heartbeats to a function.
func (a *inlets) handleHeartbeats(handle func(raft.RPC)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handle = handle
	for _, i := range a.of { // order-free
		i.SetHeartbeatHandler(handle)
	}
}

// Close ends all streams.
func (a *inlets) Close() error {
	a.mu.Lock()
	a.closed = true
	var err error
	for _, i := range a.of { // order-free
		err = errors.Join(err, i.NetworkTransport.Close())
	}
	a.mu.Unlock()
	close(a.stop)
	err = errors.Join(err, a.layer.Close())
	a.work.Wait()
	return err
}

// forward hands the requests of the peer to the relay.
func (i *inlet) forward() {
	for {
		select {
		case rpc := <-i.Consumer():
			select {
			case i.all.out <- incoming{rpc, i.proven}:
				continue
			case <-i.all.stop:
			}
		case <-i.stop:
		}
		return
	}
}

// Accept returns the next stream of the peer.
func (i *inlet) Accept() (net.Conn, error) {
	select {
	case conn := <-i.accepted:
		return conn, nil
	case <-i.stop:
		return nil, net.ErrClosed
	}
}

// Dial opens a stream to a peer, whose id the other side must prove where the network can.
func (i *inlet) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id, address := targetOf(target)
	conn, err := i.all.layer.Dial(address, timeout)
	if err != nil {
		return nil, err
	}
	if proven := provenBy(conn); proven != "" && id != "" && proven != id {
		return nil, errors.Join(fmt.Errorf("at %s is peer %q in place of %q: check the addresses of the two", address, proven, id), conn.Close())
	}
	return conn, nil
}

// Addr returns the advertised address.
func (i *inlet) Addr() net.Addr { return i.all.layer.Addr() }

// Close ends Accept.
func (i *inlet) Close() error {
	i.once.Do(func() { close(i.stop) })
	return nil
}

// streamTo returns a peer and its address as one text: raft.NetworkTransport tells its streams nothing else of the peer.
func streamTo(id raft.ServerID, address raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(string(id) + stampMark + string(address))
}

func targetOf(t raft.ServerAddress) (id raft.ServerID, address raft.ServerAddress) {
	before, after, found := strings.Cut(string(t), stampMark)
	if !found {
		return "", t
	}
	return raft.ServerID(before), raft.ServerAddress(after)
}

// counted is an accepted stream.
type counted struct {
	net.Conn

	in   *inlet
	once sync.Once
}

// Close ends the stream.
func (c *counted) Close() error {
	c.once.Do(func() { c.in.open.Add(-1) })
	return c.Conn.Close()
}

// proved is a stream whose other side has proven an id; empty: the network proves none.
type proved struct {
	net.Conn

	id raft.ServerID
}

// provenBy returns the id that the other side of a stream has proven.
func provenBy(conn net.Conn) raft.ServerID {
	if p, is := conn.(*proved); is {
		return p.id
	}
	return ""
}

// errClaimed means that a message names another sender than the one that has proven to be at the other side.
var errClaimed = errors.New("the certificate of the sender is that of another peer")

// claimed returns an error unless a message says of its sender what the sender has proven. Raft counts a vote for the
// address that a candidate names: so a message has one address, in all the places that Raft reads.
func claimed(proven raft.ServerID, command any) error {
	h, _ := headerOf(command)
	if proven == "" || h == nil {
		return nil
	}
	if id := raft.ServerID(h.ID); id != proven {
		return fmt.Errorf("%w: peer %q is claimed, and the certificate is that of %q", errClaimed, id, proven)
	}
	if len(h.Addr) == 0 {
		return fmt.Errorf("%w: peer %q names no address", errClaimed, proven)
	}
	var second []byte
	switch q := command.(type) {
	case *raft.AppendEntriesRequest:
		second = q.Leader //nolint:staticcheck // older peers read it
	case *raft.RequestVoteRequest:
		second = q.Candidate //nolint:staticcheck // likewise
	case *raft.InstallSnapshotRequest:
		second = q.Leader
	}
	if len(second) > 0 && string(second) != string(h.Addr) {
		return fmt.Errorf("%w: peer %q names the addresses %q and %q", errClaimed, proven, h.Addr, second)
	}
	return nil
}
