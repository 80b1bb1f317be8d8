package simgossip

import (
	"net"
	"sync"
)

// stream is a two-way connection. Each end is one half of a pipe, and a relay
// for each direction carries what one end writes to the other, with the
// network's delay. The inner halves belong to the relays.
type stream struct {
	dialInner, acceptInner net.Conn
}

// run carries both directions until both have ended.
func (s *stream) run(from, to *Transport) {
	var back sync.WaitGroup
	back.Go(func() { relay(to, from, s.acceptInner, s.dialInner) })
	relay(from, to, s.dialInner, s.acceptInner)
	back.Wait()
	from.release(s)
	to.release(s)
}

// close ends both directions at once.
func (s *stream) close() {
	_ = s.dialInner.Close()
	_ = s.acceptInner.Close()
}

// conn is an end of a stream that knows its addresses.
type conn struct {
	net.Conn
	local, remote net.Addr
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// connect builds a stream between two hosts and returns the dialler's end, or
// false when either is shut down or has no room.
func connect(from, to *Transport) (net.Conn, bool) {
	dialled, dialInner := net.Pipe()
	accepted, acceptInner := net.Pipe()
	s := &stream{dialInner: dialInner, acceptInner: acceptInner}
	local, remote := net.TCPAddrFromAddrPort(from.addr), net.TCPAddrFromAddrPort(to.addr)
	if !from.hold(s) {
		return nil, false
	}
	if !to.hold(s) {
		from.release(s)
		return nil, false
	}
	select {
	case to.streams <- &conn{accepted, remote, local}:
	default:
		from.release(s)
		to.release(s)
		return nil, false
	}
	go s.run(from, to)
	return &conn{dialled, local, remote}, true
}

// hold notes a stream that Shutdown must close and wait for.
func (t *Transport) hold(s *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped() {
		return false
	}
	t.open[s] = true
	t.running.Add(1)
	return true
}

// release closes a stream and forgets it.
func (t *Transport) release(s *stream) {
	s.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, s)
	t.running.Done()
}

// relay carries bytes from src to dst until either ends. Once a cut has
// swallowed some, it swallows all, the end of the stream included: what is left
// for the other side is its deadline.
func relay(from, to *Transport, src, dst net.Conn) {
	buf := make([]byte, 64<<10)
	swallow := false
	for {
		n, err := src.Read(buf)
		delay, arrives := from.net.stream(from.addr, to.addr)
		swallow = swallow || !arrives
		if !swallow {
			from.wait(delay)
		}
		if err != nil {
			if !swallow {
				_ = dst.Close()
			}
			return
		}
		if swallow {
			continue
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			_ = src.Close()
			return
		}
	}
}
