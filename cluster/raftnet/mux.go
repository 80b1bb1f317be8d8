package raftnet

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/conns"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// The first byte of a connection is its kind. The values are part of the protocol.
const (
	kindRaft byte = 'R'
	kindCall byte = 'C'
)

const (
	greetTimeout = 5 * time.Second // for a new connection to send its kind, a TLS handshake included
	maxGreeting  = 256             // connections that have not sent their kind yet, of strangers and of members each
	maxOfEach    = 32              // of these, from one address: any process of a machine has that of its member
)

// MuxConfig is the configuration of a Mux.
type MuxConfig struct {
	Network   Network                // if it is a [Prover], connections without a proof are closed
	Bind      string                 // address to listen on
	Advertise string                 // address under which other peers reach this one; empty: the bound address
	Calls     Calls                  // nil: connections of calls are closed
	Member    func(host string) bool // whether an address is that of a member; nil: all are strangers
	Logger    *slog.Logger           // nil: nothing is logged
}

// Calls takes the connections of calls with the id that the caller has proven, and closes those that it refuses.
type Calls func(conn net.Conn, proven model.PeerID) error

// Mux is a peer's one listener. It reads the first byte of each connection and passes it on to Raft or to the
// call server; a connection that sends nothing within five seconds, or an unknown kind, is closed.
type Mux struct {
	listener net.Listener
	address  net.Addr
	raft     *stream
	calls    Calls
	network  Network
	greeting [2]*conns.Set // of strangers and of members: strangers cannot take the places of members
	member   func(host string) bool
	log      *slog.Logger
	stop     chan struct{}
	once     sync.Once
	running  sync.WaitGroup
}

// advertised is an address that need not be one of this machine's.
type advertised struct{ network, address string }

func (a advertised) Network() string { return a.network }
func (a advertised) String() string  { return a.address }

// Listen opens the listener and starts to accept.
func Listen(config MuxConfig) (*Mux, error) {
	listener, err := config.Network.Listen(config.Bind)
	if err != nil {
		return nil, fmt.Errorf("listen for peers on %s: %w", config.Bind, err)
	}
	address := listener.Addr()
	if config.Advertise != "" {
		address = advertised{address.Network(), config.Advertise}
	}
	log := config.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Mux{
		listener: listener,
		address:  address,
		raft:     newStream(config.Network, address),
		calls:    config.Calls,
		network:  config.Network,
		greeting: [2]*conns.Set{conns.NewShared(maxGreeting, maxOfEach), conns.NewShared(maxGreeting, maxOfEach)},
		member:   config.Member,
		log:      log,
		stop:     make(chan struct{}),
	}
	m.running.Go(m.accept)
	return m, nil
}

// Addr returns the address under which other peers reach this one.
func (m *Mux) Addr() net.Addr { return m.address }

// Raft returns the stream layer of Raft's connections. NewTransport closes it with the transport; the Mux and the
// calls go on without it.
func (m *Mux) Raft() StreamLayer { return m.raft }

// Close ends the listener, Raft's streams and the connections that have not sent their kind, and waits for
// the goroutines that served them. The call server is its owner's to close.
func (m *Mux) Close() error {
	var err error
	m.once.Do(func() {
		close(m.stop)
		err = m.listener.Close()
		m.greeting[0].Close()
		m.greeting[1].Close()
		_ = m.raft.Close()
	})
	m.running.Wait()
	return err
}

// accept takes connections until the Mux closes. Failures such as a lack of file descriptors pass: it tries
// again ever more slowly, up to a second.
func (m *Mux) accept() {
	const first, longest = 5 * time.Millisecond, time.Second
	delay := first
	for {
		conn, err := m.listener.Accept()
		if err == nil {
			delay = first
			m.running.Go(func() { m.greet(conn) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		m.log.Error("cannot accept peer connections, retrying", "address", m.address, "in", delay, "error", err)
		select {
		case <-m.stop:
			return
		case <-time.After(delay):
			delay = min(2*delay, longest)
		}
	}
}

// greet reads a connection's kind and passes it to its owner.
func (m *Mux) greet(conn net.Conn) {
	greeting := m.greeting[0]
	if m.member != nil && m.member(conns.Host(conn)) {
		greeting = m.greeting[1]
	}
	guest, err := greeting.Adopt(conn)
	if err != nil {
		m.log.Warn("connection refused", "from", conn.RemoteAddr(), "reason", err)
		return
	}
	kind, err := readKind(guest)
	id := model.PeerID("")
	if err == nil {
		id, err = prove(m.network, conn)
	}
	switch {
	case err != nil:
		_ = guest.Close()
	case kind == kindRaft:
		err = m.raft.deliver(greeting.Release(guest), id)
	case kind == kindCall && m.calls != nil:
		err = m.calls(greeting.Release(guest), id)
	default:
		_ = guest.Close()
		err = fmt.Errorf("first byte %#x is none that is served here", kind)
	}
	switch {
	case errors.Is(err, io.EOF): // such as of berth doctor, which looks whether the port is open
		m.log.Debug("connection without a byte", "from", conn.RemoteAddr())
	case err != nil:
		m.log.Warn("connection refused", "from", conn.RemoteAddr(), "reason", err)
	}
}

func readKind(conn net.Conn) (byte, error) {
	if err := conn.SetReadDeadline(time.Now().Add(greetTimeout)); err != nil {
		return 0, err
	}
	var first [1]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return 0, fmt.Errorf("no first byte: %w", err)
	}
	return first[0], conn.SetReadDeadline(time.Time{})
}

// DialCall opens a stream for calls to another peer's Mux. If the id of that peer is given, the other side must prove
// that id, where the network can.
func DialCall(network Network, to peer.Server, timeout time.Duration) (net.Conn, error) {
	conn, err := dialKind(network, to.Address, kindCall, timeout)
	if err != nil || to.ID == "" {
		return conn, err
	}
	if id, err := prove(network, conn); err != nil || id != "" && id != to.ID {
		return nil, errors.Join(fmt.Errorf("at %s is peer %q in place of %q: check the addresses of the two (%w)", to.Address, id, to.ID, err), conn.Close())
	}
	return conn, nil
}

// dialKind opens a stream and sends its kind.
func dialKind(network Network, address string, kind byte, timeout time.Duration) (net.Conn, error) {
	start := time.Now()
	conn, err := network.Dial(address, timeout)
	if err != nil {
		return nil, err
	}
	if timeout > 0 {
		err = conn.SetWriteDeadline(start.Add(timeout))
	}
	if err == nil {
		_, err = conn.Write([]byte{kind})
	}
	if err == nil {
		err = conn.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
