package gossip

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/berth-gpu/berth/cluster/conns"
)

// Network opens connections between members. Both sides prove what they are.
type Network interface {
	// Listen binds an address.
	Listen(address string) (net.Listener, error)
	// Greet completes the handshake of an accepted connection, and returns the name of the other side, see [NameOf].
	Greet(ctx context.Context, conn net.Conn) (name string, err error)
	// Dial connects to a member, and returns the member's name.
	Dial(ctx context.Context, address string) (conn net.Conn, name string, err error)
}

// The first byte of a connection says what it carries.
const (
	carriesPackets = 'P'
	carriesLists   = 'L'
)

// Bounds of connections. They are counted until the other side has proven to be a member: in all, and of each address, which any process of
// a machine has, and not its member alone.
const (
	greetLimit   = 3 * time.Second // for the handshake and the first byte
	maxStrangers = 64
	maxOfEach    = 8
	maxGreeting  = 256  // of addresses of members
	maxLinks     = 2048 // of members
	linksOfEach  = 2    // that one member has opened
	maxExchanges = 16   // lists that are read at the same time
	listLimit    = 5 * time.Second
	dialLimit    = 2 * time.Second
	idleLimit    = 30 * time.Second // without a packet
	answerLimit  = 2 * time.Second  // after which a connection without an answer is replaced by another one
	maxQueued    = 32               // packets that wait for a connection
	packetsEach  = 200              // of a member in a second; the next ones wait
)

// transport carries memberlist's packets and lists of members over connections whose other side is proven, and lets memberlist
// read what the checker admits only. Connections for packets stay open while they are used.
type transport struct {
	net      Network
	listener net.Listener
	own      netip.AddrPort
	check    *checker
	notes    *notes
	member   func(ip string) bool // whether an address is that of a member

	packets  chan *memberlist.Packet
	streams  chan net.Conn
	greeting [2]*conns.Set // of strangers, and of addresses of members
	open     *conns.Set

	ctx     context.Context
	stop    context.CancelFunc
	gate    sync.Mutex // before each addition to running
	ended   bool
	running sync.WaitGroup

	mu        sync.Mutex
	links     map[string]*link   // by which packets go to a member
	taken     map[string][]*link // that a member has opened
	receiving map[string]bool    // members whose list is read
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

// listen opens the port.
func listen(n Network, bind string, advertise netip.AddrPort, c *checker, member func(string) bool, log *notes) (*transport, error) {
	l, err := n.Listen(bind)
	if err != nil {
		return nil, err
	}
	own := advertise
	if !own.IsValid() {
		if own, err = netip.ParseAddrPort(l.Addr().String()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	t := &transport{
		net: n, listener: l, own: own, check: c, notes: log, member: member,
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn),
		greeting: [2]*conns.Set{conns.NewShared(maxStrangers, maxOfEach), conns.NewShared(maxGreeting, maxOfEach)}, open: conns.New(maxLinks),
		links: map[string]*link{}, taken: map[string][]*link{}, receiving: map[string]bool{},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	t.running.Go(t.accept)
	return t, nil
}

// serve runs f, unless the transport is shut down.
func (t *transport) serve(f func()) bool {
	t.gate.Lock()
	defer t.gate.Unlock()
	if !t.ended {
		t.running.Go(f)
	}
	return !t.ended
}

// accept takes connections until the transport is shut down.
func (t *transport) accept() {
	for {
		conn, err := t.listener.Accept()
		switch {
		case err == nil:
			if !t.serve(func() { t.greet(conn) }) {
				_ = conn.Close()
			}
			continue
		case t.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return
		}
		t.notes.add(slog.LevelError, "cannot accept connections, retrying", slog.Any("err", err))
		select { // such as for a lack of file descriptors, which passes
		case <-t.ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// greet has the other side of a connection prove its name, and serves it.
func (t *transport) greet(conn net.Conn) {
	host := conns.Host(conn)
	greeting := t.greeting[0]
	if t.member(host) {
		greeting = t.greeting[1]
	}
	guest, err := greeting.Adopt(conn)
	if err != nil {
		t.refused(host, err)
		return
	}
	name, carries, err := t.prove(conn)
	greeting.Release(guest)
	switch {
	case err != nil:
	case !t.check.admits(name):
		err = errSender
	case carries == carriesPackets:
		err = t.adopt(name, conn)
	case carries == carriesLists:
		err = t.receive(name, conn)
	default:
		err = fmt.Errorf("first byte %#x is none that is served here", carries)
	}
	if err != nil {
		_ = conn.Close()
		t.refused(host, err)
	}
}

// refused notes a connection that was refused, unless it has only tried whether the port is open. A log of the program writes one
// line for each address and minute. A machine that has just joined is not known yet: it asks again.
func (t *transport) refused(host string, err error) {
	switch {
	case t.ctx.Err() != nil || errors.Is(err, io.EOF):
	case errors.Is(err, errSender):
		t.notes.add(slog.LevelInfo, "member is not known here", slog.String("from", host), slog.Any("err", err))
	default:
		t.notes.add(slog.LevelWarn, "connection refused", slog.String("from", host), slog.Any("err", err))
	}
}

// prove returns the proven name of the other side, and what the connection carries.
func (t *transport) prove(conn net.Conn) (name string, carries byte, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, greetLimit)
	defer cancel()
	if err := conn.SetDeadline(time.Now().Add(greetLimit)); err != nil {
		return "", 0, err
	}
	if name, err = t.net.Greet(ctx, conn); err != nil {
		return "", 0, err
	}
	var first [1]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return "", 0, err
	}
	return name, first[0], conn.SetDeadline(time.Time{})
}

// adopt serves a connection by which a member sends packets. Packets to the member take this way, too, since it is the newest.
func (t *transport) adopt(name string, conn net.Conn) error {
	kept, err := t.open.Adopt(conn)
	if err != nil {
		return err
	}
	l := &link{of: t, name: name, conn: kept}
	var former *link
	t.mu.Lock()
	t.links[name] = l
	t.taken[name] = append(t.taken[name], l)
	if all := t.taken[name]; len(all) > linksOfEach {
		former, t.taken[name] = all[0], all[1:]
	}
	t.mu.Unlock()
	if former != nil {
		former.close()
	}
	l.read()
	return nil
}

// receive reads a list of members from a connection, and has memberlist answer.
func (t *transport) receive(name string, conn net.Conn) error {
	if !t.begin(name) {
		return conns.ErrTooMany
	}
	defer t.finish(name)
	kept, err := t.open.Adopt(conn)
	if err != nil {
		return err
	}
	x := &exchange{Conn: kept, of: t, name: name, done: make(chan struct{})}
	if err := errors.Join(x.SetDeadline(time.Now().Add(listLimit)), x.fill()); err != nil {
		return errors.Join(err, kept.Close())
	}
	select {
	case t.streams <- x:
	case <-t.ctx.Done():
		return kept.Close()
	}
	select {
	case <-x.done: // closed by memberlist
	case <-t.ctx.Done():
	}
	return nil
}

// begin reports whether the list of a member may be read now: one of each member, and not too many in all.
func (t *transport) begin(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.receiving[name] || len(t.receiving) >= maxExchanges {
		return false
	}
	t.receiving[name] = true
	return true
}

func (t *transport) finish(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.receiving, name)
}

// FinalAdvertiseAddr returns the address under which other members reach this one.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.own.Addr().AsSlice(), int(t.own.Port()), nil
}

// PacketCh delivers packets.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh delivers connections of members that send a list.
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

// errNoName is the error of a packet to an address whose member is not known.
var errNoName = errors.New("gossip sends to members by their names only")

// WriteTo is not used.
func (t *transport) WriteTo([]byte, string) (time.Time, error) { return time.Time{}, errNoName }

// WriteToAddress sends a packet to a member. It does not wait: memberlist calls it while it counts the time of a probe.
func (t *transport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	now := time.Now()
	if !t.check.admits(to.Name) {
		return now, nil // as if it was lost
	}
	asks := t.check.sent(to.Name, b)
	frame := append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
	t.mu.Lock()
	l := t.links[to.Name]
	stale := l != nil && l.silent(now)
	former := l
	if l == nil || stale {
		l = &link{of: t, name: to.Name, busy: true}
		t.links[to.Name] = l
	}
	t.mu.Unlock()
	l.send(frame, asks, now)
	if l != former && !t.serve(func() { l.dial(to.Addr) }) {
		l.close()
	}
	if stale {
		t.serve(former.close)
	}
	return now, nil
}

// DialTimeout is not used.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return t.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

// DialAddressTimeout connects to a member, or to whichever is at an address, for an exchange of lists.
func (t *transport) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, name, err := t.dial(to, min(timeout, listLimit), carriesLists)
	if err != nil {
		return nil, err
	}
	return &exchange{Conn: conn, of: t, name: name}, nil
}

// dial connects to a member.
func (t *transport) dial(to memberlist.Address, limit time.Duration, carries byte) (net.Conn, string, error) {
	ctx, cancel := context.WithTimeout(t.ctx, limit)
	defer cancel()
	conn, name, err := t.net.Dial(ctx, to.Addr)
	if err != nil {
		return nil, "", &net.OpError{Op: "dial", Net: "tcp", Err: err} // the form by which memberlist knows that the other side failed
	}
	switch {
	case to.Name != "" && name != to.Name:
		err = fmt.Errorf("at %s is %s in place of %s", to.Addr, name, to.Name)
	case !t.check.admits(name):
		err = fmt.Errorf("at %s is %s, which is no member that is known here", to.Addr, name)
	}
	if err != nil {
		return nil, "", errors.Join(err, conn.Close())
	}
	kept, err := t.open.Adopt(conn)
	if err != nil {
		return nil, "", err
	}
	err = kept.SetDeadline(time.Now().Add(limit))
	if err == nil {
		_, err = kept.Write([]byte{carries})
	}
	if err == nil {
		err = kept.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, "", errors.Join(err, kept.Close())
	}
	return kept, name, nil
}

// deliver gives memberlist the messages of a packet.
func (t *transport) deliver(name string, from net.Addr, b []byte) error {
	messages, err := t.check.packet(name, b)
	for _, m := range messages {
		select {
		case t.packets <- &memberlist.Packet{Buf: m, From: from, Timestamp: time.Now()}:
		case <-t.ctx.Done():
			return net.ErrClosed
		}
	}
	return err
}

// Shutdown closes the port and all connections, and waits until nothing is read any more.
func (t *transport) Shutdown() error {
	t.gate.Lock()
	t.ended = true
	t.gate.Unlock()
	t.stop()
	err := t.listener.Close()
	t.greeting[0].Close()
	t.greeting[1].Close()
	t.open.Close()
	t.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
