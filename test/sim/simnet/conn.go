package simnet

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Addr is the address of one end of a connection or of a listener.
type Addr string

// Network returns always "sim".
func (a Addr) Network() string { return "sim" }

// String returns the address as it is dialled.
func (a Addr) String() string { return string(a) }

// conn is one end of a connection; the network's lock guards all of it.
type conn struct {
	net           *Net
	host          *Host
	peer          *conn
	in, out       *pipe
	local, remote Addr
	readBy        time.Time
	writeBy       time.Time
	closed        bool
	broken        bool // the other side reported that it does not know this connection
}

// connect makes the two ends of a new connection. The caller holds the lock.
func connect(from, to *Host, local, remote Addr) (near, far *conn) {
	forth, back := newPipe(from, to), newPipe(to, from)
	near = &conn{net: from.net, host: from, in: back, out: forth, local: local, remote: remote}
	far = &conn{net: to.net, host: to, in: forth, out: back, local: remote, remote: local}
	near.peer, far.peer = far, near
	from.conns[near] = struct{}{}
	to.conns[far] = struct{}{}
	return near, far
}

// Read waits for data, the end of the stream or the deadline.
func (c *conn) Read(b []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	for {
		now := time.Now()
		if err := c.usable(now, c.readBy); err != nil {
			return 0, c.fail("read", err)
		}
		next := time.Time{}
		if !c.host.paused {
			count, end := c.in.take(b, now)
			if count > 0 {
				return count, nil
			}
			if end {
				return 0, io.EOF
			}
			next = c.in.next()
		}
		c.net.wait(&c.in.readers, earliest(c.readBy, next))
	}
}

// Write copies b into the window piece by piece and waits while it is full.
func (c *conn) Write(b []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	written := 0
	for {
		now := time.Now()
		if err := c.writable(now); err != nil {
			return written, c.fail("write", err)
		}
		if written == len(b) {
			return written, nil
		}
		if space := window - c.out.size; space > 0 {
			piece := b[written:min(len(b), written+space)]
			c.out.send(segment{data: append([]byte(nil), piece...)}, now)
			written += len(piece)
			continue
		}
		c.net.wait(&c.out.writers, c.writeBy)
	}
}

func (c *conn) usable(now, deadline time.Time) error {
	switch {
	case c.closed, c.host.crashed:
		return net.ErrClosed
	case !deadline.IsZero() && !now.Before(deadline):
		return os.ErrDeadlineExceeded
	case c.broken:
		return syscall.ECONNRESET
	}
	return nil
}

func (c *conn) writable(now time.Time) error {
	if err := c.usable(now, c.writeBy); err != nil {
		return err
	}
	if c.out.unread && c.in.finished(now) {
		return syscall.EPIPE
	}
	if c.out.to.crashed && c.net.hosts[c.out.to.name] != c.out.to && !c.in.path.cut && !c.out.path.cut {
		c.reset()
		return syscall.ECONNRESET
	}
	return nil
}

func (c *conn) reset() {
	c.broken = true
	c.in.readers.give()
	c.out.writers.give()
}

func (c *conn) resetAfter(d time.Duration) {
	time.AfterFunc(d, func() {
		c.net.mu.Lock()
		defer c.net.mu.Unlock()
		c.reset()
	})
}

// Close sends what was written and then the end of the stream; it does not wait for either.
func (c *conn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.close()
	return nil
}

func (c *conn) close() {
	c.closed = true
	delete(c.host.conns, c)
	c.in.discard()
	if !c.host.crashed {
		c.out.send(segment{fin: true}, time.Now())
	}
	c.out.writers.give()
}

// LocalAddr returns this end's address.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's address.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadlines(&t, &t) }

// SetReadDeadline ends reads, also one that waits now, at t; zero means never.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(&t, nil) }

// SetWriteDeadline ends writes, also one that waits now, at t; zero means never.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *conn) setDeadlines(read, write *time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed || c.host.crashed {
		return c.fail("set deadline", net.ErrClosed)
	}
	if read != nil {
		c.readBy = *read
		c.in.readers.give()
	}
	if write != nil {
		c.writeBy = *write
		c.out.writers.give()
	}
	return nil
}

func (c *conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "sim", Source: c.local, Addr: c.remote, Err: err}
}

func portOf(host string, port int) Addr {
	return Addr(fmt.Sprintf("%s:%d", host, port))
}
