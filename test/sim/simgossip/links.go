package simgossip

import (
	"net/netip"
	"sync"
)

// Links is a table of links for each ordered pair of addresses. The zero value
// is an ideal network: no latency, no loss, no cut.
type Links struct {
	mu     sync.Mutex
	common Link
	pairs  map[[2]netip.AddrPort]Link
}

// Between returns the link from one address to another.
func (l *Links) Between(from, to netip.AddrPort) Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	if link, ok := l.pairs[[2]netip.AddrPort{from, to}]; ok {
		return link
	}
	return l.common
}

// SetAll gives all pairs the same link, and so heals every cut.
func (l *Links) SetAll(link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.common, l.pairs = link, nil
}

// Set changes the link from one address to another, not the way back.
func (l *Links) Set(from, to netip.AddrPort, link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pairs == nil {
		l.pairs = make(map[[2]netip.AddrPort]Link)
	}
	l.pairs[[2]netip.AddrPort{from, to}] = link
}

// Split cuts every link between the two groups, both ways.
func (l *Links) Split(a, b []netip.AddrPort) {
	for _, x := range a {
		for _, y := range b {
			l.Set(x, y, Link{Cut: true})
			l.Set(y, x, Link{Cut: true})
		}
	}
}
