// Package simgossip is a network in memory for gossip, for simulations inside
// a testing/synctest bubble (it works outside one, too).
//
// Every ordered pair of addresses has a [Link] with latency, loss and a cut.
// Nothing ever waits for a receiver that has stopped: packets to it vanish and
// dials to it are refused, which memberlist's own mock transport does not do.
// Streams behave like TCP: loss does not show, a cut swallows what is sent from
// then on, and the end of one side closes the other.
package simgossip

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	packetBacklog = 1024 // packets that wait for a reader, as in a socket's buffer
	streamBacklog = 64   // streams that wait to be accepted
)

// Link is the quality of the way from one address to another.
type Link struct {
	// Latency is the least time under way; Jitter is the most that is added.
	Latency, Jitter time.Duration
	// Loss is the share of packets that vanish, 0 to 1.
	Loss float64
	// Cut makes everything vanish.
	Cut bool
}

// Network connects transports.
type Network struct {
	link func(from, to netip.AddrPort) Link

	mu    sync.Mutex
	dice  *rand.Rand
	hosts map[netip.AddrPort]*Transport
}

// New returns a network without hosts. It calls link for each packet and each piece of a stream, so the
// results may change at any time; [Links.Between] is such a function.
func New(seed uint64, link func(from, to netip.AddrPort) Link) *Network {
	return &Network{
		link:  link,
		dice:  rand.New(rand.NewPCG(seed, 0)),
		hosts: make(map[netip.AddrPort]*Transport),
	}
}

// Listen puts a host at addr. The address is free again after its Shutdown.
func (n *Network) Listen(addr netip.AddrPort) (*Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[addr] != nil {
		return nil, fmt.Errorf("simgossip: address %s is in use", addr)
	}
	t := &Transport{
		net:     n,
		addr:    addr,
		packets: make(chan *memberlist.Packet, packetBacklog),
		streams: make(chan net.Conn, streamBacklog),
		done:    make(chan struct{}),
		open:    make(map[*stream]bool),
	}
	n.hosts[addr] = t
	return t, nil
}

// host returns the listener at addr, or nil.
func (n *Network) host(addr netip.AddrPort) *Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[addr]
}

// carry throws the dice for one packet: how long it is under way, and whether
// it arrives.
func (n *Network) carry(from, to netip.AddrPort) (delay time.Duration, arrives bool) {
	l := n.link(from, to)
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.Cut || n.dice.Float64() < l.Loss {
		return 0, false
	}
	return l.delay(n.dice), true
}

// stream throws the dice for a piece of a stream, which only a cut stops.
func (n *Network) stream(from, to netip.AddrPort) (delay time.Duration, arrives bool) {
	l := n.link(from, to)
	n.mu.Lock()
	defer n.mu.Unlock()
	return l.delay(n.dice), !l.Cut
}

func (l Link) delay(dice *rand.Rand) time.Duration {
	return l.Latency + time.Duration(dice.Int64N(int64(l.Jitter)+1))
}

// Transport is one host's access to the network, to be given to one
// memberlist. It is a crash of the host's process to shut it down alone.
type Transport struct {
	net     *Network
	addr    netip.AddrPort
	packets chan *memberlist.Packet
	streams chan net.Conn

	mu      sync.Mutex
	done    chan struct{} // closed by Shutdown
	open    map[*stream]bool
	running sync.WaitGroup // counts the open streams
}

var _ memberlist.NodeAwareTransport = (*Transport)(nil)

// FinalAdvertiseAddr returns the host's address, whatever was configured.
func (t *Transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.addr.Addr().AsSlice(), int(t.addr.Port()), nil
}

// PacketCh delivers packets sent to this host.
func (t *Transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh delivers streams dialled to this host.
func (t *Transport) StreamCh() <-chan net.Conn { return t.streams }

// WriteToAddress is WriteTo; names play no part here.
func (t *Transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return t.WriteTo(b, a.Addr)
}

// WriteTo sends a packet, or pretends to.
func (t *Transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, fmt.Errorf("simgossip: %w", err)
	}
	now := time.Now()
	delay, arrives := t.net.carry(t.addr, to)
	if t.stopped() || !arrives {
		return now, nil
	}
	p := &memberlist.Packet{Buf: append([]byte(nil), b...), From: net.UDPAddrFromAddrPort(t.addr)}
	time.AfterFunc(delay, func() {
		if dst := t.net.host(to); dst != nil {
			dst.receive(p)
		}
	})
	return now, nil
}

// receive queues a packet for the reader or, when it does not keep up, drops it.
func (t *Transport) receive(p *memberlist.Packet) {
	p.Timestamp = time.Now()
	select {
	case t.packets <- p:
	default:
	}
}

// DialAddressTimeout is DialTimeout; names play no part here.
func (t *Transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(a.Addr, timeout)
}

// DialTimeout opens a stream after one round trip. Without a listener it is
// refused; across a cut it takes the whole timeout to fail.
func (t *Transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("simgossip: %w", err)
	}
	there, ok1 := t.net.stream(t.addr, to)
	back, ok2 := t.net.stream(to, t.addr)
	rtt := there + back
	if !ok1 || !ok2 || rtt > timeout {
		t.wait(timeout)
		return nil, t.dialError(to, os.ErrDeadlineExceeded)
	}
	t.wait(rtt)
	dst := t.net.host(to)
	if t.stopped() || dst == nil {
		return nil, t.dialError(to, syscall.ECONNREFUSED)
	}
	conn, ok := connect(t, dst)
	if !ok {
		return nil, t.dialError(to, syscall.ECONNREFUSED)
	}
	return conn, nil
}

// dialError has the form by which memberlist detects that the other side failed.
func (t *Transport) dialError(to netip.AddrPort, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
}

// Shutdown frees the address, closes all streams and waits until they
// have ended. It may be called again.
func (t *Transport) Shutdown() error {
	t.net.mu.Lock()
	if t.net.hosts[t.addr] == t {
		delete(t.net.hosts, t.addr)
	}
	t.net.mu.Unlock()

	t.mu.Lock()
	if !t.stopped() {
		close(t.done)
	}
	for s := range t.open {
		s.close()
	}
	t.mu.Unlock()
	t.running.Wait()
	return nil
}

// stopped reports whether Shutdown was called.
func (t *Transport) stopped() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// wait lets time pass, unless the host is shut down meanwhile.
func (t *Transport) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.done:
	}
}
