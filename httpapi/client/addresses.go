package client

import "slices"

// setPeers replaces the addresses; an empty list changes nothing.
func (c *caller) setPeers(addresses []string) {
	if len(addresses) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = append([]string(nil), addresses...)
}

// maxHints bounds the addresses that were only heard of.
const maxHints = 8

// setHints replaces the addresses that are asked when none of the peers can be reached. They are never asked before.
func (c *caller) setHints(addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hints = nil
	for _, a := range addresses {
		if !slices.Contains(c.peers, a) && len(c.hints) < maxHints {
			c.hints = append(c.hints, a)
		}
	}
}

// hinted returns the addresses that were only heard of.
func (c *caller) hinted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hints
}

// line returns the peers in the order in which a call asks them.
func (c *caller) line(kind string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.peers) == 0 {
		return nil
	}
	at := c.turns[kind] % len(c.peers)
	return append(append([]string(nil), c.peers[at:]...), c.peers[:at]...)
}

// pair returns the peer that a call asks, and the address to ask if the peer does not answer: the next peer, or a hint if no peer
// could be reached; empty: there is none.
func (c *caller) pair(kind string) (first, second string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.peers)
	if n == 0 {
		return "", ""
	}
	at, past := c.turns[kind], c.misses[kind]-n
	switch first = c.peers[at%n]; {
	case past >= 0 && len(c.hints) > 0:
		second = c.hints[past%len(c.hints)]
	case n > 1:
		second = c.peers[(at+1)%n]
	}
	return first, second
}

// missed notes that so many peers could not be reached; 0: one was.
func (c *caller) missed(kind string, peers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.misses[kind] += peers; peers == 0 {
		c.misses[kind] = 0
	}
}

// passOver makes the next peer the first to be asked, if the given one was.
func (c *caller) passOver(kind, peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.peers); n > 0 && c.peers[c.turns[kind]%n] == peer {
		c.turns[kind]++
	}
}
