package simnet

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	firstFreePort = 32768
	longestDial   = 2 * time.Minute // of a dial without a limit
)

// Host is one machine, from its start to its crash. A host that crashed stays dead; Net.Host starts the next
// one under its name.
type Host struct {
	net       *Net
	name      string
	listeners map[string]*listener
	conns     map[*conn]struct{}
	port      int // last free port given out
	crashed   bool
	paused    bool
	changed   signal
}

// Listen accepts connections to an address of this host. Port 0 stands for a free port.
func (h *Host) Listen(address string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if base, ok := strings.CutSuffix(address, ":0"); ok {
		address = portOf(base, h.freePort()).String()
	}
	switch {
	case h.crashed || h.net.ended:
		return nil, opError("listen", address, net.ErrClosed)
	case hostOf(address) != h.name:
		return nil, opError("listen", address, syscall.EADDRNOTAVAIL)
	case h.listeners[address] != nil:
		return nil, opError("listen", address, syscall.EADDRINUSE)
	}
	l := &listener{host: h, addr: Addr(address)}
	h.listeners[address] = l
	return l, nil
}

// Dial connects to an address. It fails at once without a listener, and by timeout without an answer; a
// timeout of zero is two minutes.
func (h *Host) Dial(address string, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		timeout = longestDial
	}
	deadline := time.Now().Add(timeout)
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	retry := synRetry
	for {
		if h.crashed || h.net.ended {
			return nil, opError("dial", address, net.ErrClosed)
		}
		if !time.Now().Before(deadline) {
			return nil, opError("dial", address, os.ErrDeadlineExceeded)
		}
		if h.paused {
			h.net.wait(&h.changed, deadline)
			continue
		}
		if h.shakeHands(address, deadline) {
			if c, err := h.open(address); !errors.Is(err, errSilence) {
				return c, err
			}
		}
		h.pauseFor(retry, deadline)
		retry *= 2
	}
}

// shakeHands spends the time of a round trip and reports whether it got through. The lock is left meanwhile.
func (h *Host) shakeHands(address string, deadline time.Time) bool {
	forth, back := h.net.path(h.name, hostOf(address)), h.net.path(hostOf(address), h.name)
	if forth.cut || back.cut || forth.lost() || back.lost() || h.net.hosts[hostOf(address)] == nil {
		return false
	}
	trip := forth.link.Latency + back.link.Latency
	if spread := forth.link.Jitter + back.link.Jitter; spread > 0 {
		trip += time.Duration(h.net.rng.Int64N(int64(spread)))
	}
	h.pauseFor(trip, deadline)
	return time.Now().Before(deadline) && !forth.cut && !back.cut && !h.crashed
}

// pauseFor leaves the lock for a time, or until this host crashes or the deadline comes.
func (h *Host) pauseFor(d time.Duration, deadline time.Time) {
	until := earliest(time.Now().Add(d), deadline)
	for !h.crashed && time.Now().Before(until) {
		h.net.wait(&h.changed, until)
	}
}

// errSilence is neither a connection nor a refusal.
var errSilence = errors.New("no answer")

// open makes the connection if the other host takes it. A dead host and a full backlog are silent.
func (h *Host) open(address string) (net.Conn, error) {
	to := h.net.hosts[hostOf(address)]
	if to == nil || to.crashed {
		return nil, errSilence
	}
	l := to.listeners[address]
	if l == nil {
		return nil, opError("dial", address, syscall.ECONNREFUSED)
	}
	if len(l.backlog) >= backlog {
		return nil, errSilence
	}
	near, far := connect(h, to, portOf(h.name, h.freePort()), l.addr)
	l.backlog = append(l.backlog, far)
	l.changed.give()
	return near, nil
}

func (h *Host) freePort() int {
	h.port++
	return firstFreePort + h.port
}

// Crash ends the host as a power cut would: its connections vanish without notice, so that the others detect
// it by their deadlines only, and nothing that it still writes arrives. Its own calls fail from now on.
func (h *Host) Crash() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.crash()
}

func (h *Host) crash() {
	if h.crashed {
		return
	}
	h.crashed = true
	now := time.Now()
	for c := range h.conns {
		c.out.dropHeld()
		c.in.hold(now)
		c.in.readers.give()
		c.out.writers.give()
		delete(c.in.path.pipes, c.in)
		c.peer.resetAfter(giveUp)
	}
	for _, l := range h.listeners {
		l.changed.give()
	}
	h.changed.give()
}

// Pause stops the host's process as SIGSTOP would: its kernel still takes data and connections, but nothing
// is read, accepted or sent until Resume. Goroutines of the test go on; only their traffic stops.
func (h *Host) Pause() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.paused = true
}

// Resume ends a pause: what was held leaves and is read at once.
func (h *Host) Resume() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if !h.paused {
		return
	}
	h.paused = false
	now := time.Now()
	for _, p := range h.net.paths {
		for pipe := range p.pipes {
			if pipe.from == h {
				pipe.resume(now)
			}
		}
	}
	for c := range h.conns {
		c.in.readers.give()
	}
	for _, l := range h.listeners {
		l.changed.give()
	}
	h.changed.give()
}

// listener is one address of a host that takes connections.
type listener struct {
	host    *Host
	addr    Addr
	backlog []*conn
	closed  bool
	changed signal
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	n := l.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		if l.closed || l.host.crashed {
			return nil, opError("accept", l.addr.String(), net.ErrClosed)
		}
		if len(l.backlog) > 0 && !l.host.paused {
			c := l.backlog[0]
			l.backlog = l.backlog[1:]
			return c, nil
		}
		n.wait(&l.changed, time.Time{})
	}
}

// Close refuses further connections and drops those that were not accepted.
func (l *listener) Close() error {
	l.host.net.mu.Lock()
	defer l.host.net.mu.Unlock()
	if l.closed {
		return opError("close", l.addr.String(), net.ErrClosed)
	}
	l.closed = true
	delete(l.host.listeners, l.addr.String())
	for _, c := range l.backlog {
		c.close()
	}
	l.backlog = nil
	l.changed.give()
	return nil
}

// Addr returns the address that others dial.
func (l *listener) Addr() net.Addr { return l.addr }

func opError(op, address string, err error) error {
	return &net.OpError{Op: op, Net: "sim", Addr: Addr(address), Err: err}
}
