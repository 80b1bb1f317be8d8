// Package simnet is a network in memory: hosts that listen, dial and exchange streams as TCP would carry
// them, on links whose delay, loss and cuts a test commands.
//
// It is made for testing/synctest: every wait in it is a wait on a channel or on a timer, so a bubble's
// clock moves on while a link is slow, and hours of traffic pass in seconds. It works outside a bubble too.
//
//	network := simnet.New(1)
//	a, b := network.Host("a"), network.Host("b")
//	listener, err := b.Listen("b:7000")
//	conn, err := a.Dial("b:7000", time.Second)
//	network.Cut("a", "b") // what a sends is held back, as retransmissions would hold it, until Heal
//
// What is like TCP: bytes arrive in order or not at all, loss shows as delay that grows, a cut is silent and
// only deadlines notice it, a full window blocks the writer, a machine that crashed says nothing, and one
// that came back resets the connections of its former life. Connections to the dead end by keep-alive, as
// those of Go programs do: within 15 s of a restart, after 150 s without one.
package simnet

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

const (
	minRetry  = 200 * time.Millisecond // first retransmission of data, doubled each time
	maxRetry  = 2 * time.Second        // longest gap between two retransmissions of data
	synRetry  = time.Second            // first retransmission of a connection request, doubled each time
	keepAlive = 15 * time.Second       // gap between two questions whether a silent other side still lives
	giveUp    = 150 * time.Second      // unanswered for so long, the connection is given up

	window  = 256 << 10 // bytes on the way or unread in one direction of a connection
	backlog = 128       // connections that wait to be accepted
)

// Link is the quality of the way from one host to another. Each direction has its own.
type Link struct {
	Latency time.Duration // what every piece of data needs at least
	Jitter  time.Duration // up to this much more, evenly spread; order is kept all the same
	Loss    float64       // share of transmissions lost, 0 to below 1; each costs a retransmission's delay
}

// Net is one network. All its methods may be called at any time from any goroutine.
type Net struct {
	mu    sync.Mutex // guards everything reachable from here; never held over a wait
	rng   *rand.Rand
	base  Link
	paths map[pair]*path
	hosts map[string]*Host
	ended bool
}

type pair struct{ from, to string }

// path is one direction between two hosts with the streams that flow along it.
type path struct {
	link   Link
	own    bool // link was set for this path and does not follow the network's default
	cut    bool
	pipes  map[*pipe]struct{}
	random *rand.Rand
}

// New returns a network of no hosts whose delays and losses are drawn from the seed. A link has a latency of
// half a millisecond, as much jitter and no loss until SetDefault or SetLink sets others.
func New(seed uint64) *Net {
	return &Net{
		rng:   rand.New(rand.NewPCG(seed, 0x6e6574)), // #nosec G404 -- a simulation must be repeatable
		base:  Link{Latency: 500 * time.Microsecond, Jitter: 500 * time.Microsecond},
		paths: map[pair]*path{},
		hosts: map[string]*Host{},
	}
}

// Host returns the host of that name, which it starts if there is none or if the former one has crashed.
// A host owns its bare name as an address and every "name:port".
func (n *Net) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.hosts[name]
	if old != nil && !old.crashed {
		return old
	}
	h := &Host{net: n, name: name, listeners: map[string]*listener{}, conns: map[*conn]struct{}{}}
	n.hosts[name] = h
	if old != nil {
		n.resetOrphans(old)
	}
	return h
}

// SetDefault sets the quality of all links that SetLink has not set.
func (n *Net) SetDefault(link Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.base = link
	for _, p := range n.paths {
		if !p.own {
			p.link = link
		}
	}
}

// SetLink sets the quality of the direction from one host to another, for data sent from now on.
func (n *Net) SetLink(from, to string, link Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.path(from, to)
	p.link, p.own = link, true
}

// Cut silently stops everything from one host to another, in this direction only. What is on the way is held.
func (n *Net) Cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut(from, to)
}

// CutBoth cuts both directions between two hosts.
func (n *Net) CutBoth(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut(a, b)
	n.cut(b, a)
}

// Isolate cuts a host from all others that exist now, both ways.
func (n *Net) Isolate(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		if other != host {
			n.cut(host, other)
			n.cut(other, host)
		}
	}
}

// Heal ends the cut from one host to another. Held data arrives at its next retransmission: the longer the
// cut was, the later, up to two seconds.
func (n *Net) Heal(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.path(from, to).heal()
}

// HealAll ends every cut.
func (n *Net) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.paths {
		p.heal()
	}
}

// Close crashes every host and refuses new ones' traffic, so that whatever waits in the network ends.
func (n *Net) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	for _, h := range n.hosts {
		h.crash()
	}
}

func (n *Net) path(from, to string) *path {
	key := pair{from, to}
	p := n.paths[key]
	if p == nil {
		p = &path{link: n.base, pipes: map[*pipe]struct{}{}, random: n.rng}
		n.paths[key] = p
	}
	return p
}

func (n *Net) cut(from, to string) {
	p := n.path(from, to)
	p.cut = true
	now := time.Now()
	for pipe := range p.pipes {
		pipe.hold(now)
	}
}

func (p *path) heal() {
	if !p.cut {
		return
	}
	p.cut = false
	now := time.Now()
	for pipe := range p.pipes {
		pipe.release(now)
	}
}

// delay draws how long one piece of data is on the way, with the retransmissions that loss costs it.
func (p *path) delay() time.Duration {
	d := p.link.Latency
	if p.link.Jitter > 0 {
		d += time.Duration(p.random.Int64N(int64(p.link.Jitter)))
	}
	for retry := minRetry; p.lost(); retry = min(2*retry, maxRetry) {
		d += retry
	}
	return d
}

func (p *path) lost() bool {
	return p.link.Loss > 0 && p.random.Float64() < p.link.Loss
}

// resetOrphans notifies the ends of connections to a host's former life that their connection is unknown: at
// once where something waits to be sent, otherwise at the next keep-alive.
func (n *Net) resetOrphans(old *Host) {
	for c := range old.conns {
		if c.peer.out.size > 0 {
			c.peer.reset()
		} else {
			c.peer.resetAfter(keepAlive)
		}
	}
}

// wait leaves the lock until the signal is given or the time comes; the zero time never comes.
func (n *Net) wait(s *signal, until time.Time) {
	changed := s.listen()
	n.mu.Unlock()
	defer n.mu.Lock()
	if until.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// signal wakes all waiters for a change, through a channel because a bubble's clock stops while a goroutine
// waits for a lock. The network's lock guards it.
type signal struct{ ch chan struct{} }

func (s *signal) listen() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) give() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func hostOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		return address[:i]
	}
	return address
}
