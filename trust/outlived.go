package trust

import (
	"crypto/x509"
	"fmt"
	"time"
)

// A peer of a former generation learns of a later one by the certificate of a peer or of a node, which the authority of the cluster has
// signed. That certificate alone is no proof: who has the key of the authority, such as from a stolen disk, can make one, and members of a
// trial restore have one. The proof is that the nodes have gone: a peer whose cluster was replaced hears no renewal of a node any more.

// shownFor is for how long a certificate of a later generation counts after it was shown last. Nodes that have followed show theirs each
// few seconds.
const shownFor = 10 * time.Minute

// outlive notes the generation of a certificate that was refused, if it is a later one of this cluster.
func (c *Credentials) outlive(chain []*x509.Certificate, why error) {
	if FaultOf(why) != FaultGeneration {
		return
	}
	leaf := chain[0]
	i, err := identityOf(leaf)
	if err != nil {
		return
	}
	rules := c.rules(false, "")
	rules.Now = within(rules.Now, leaf)
	if i.Generation > rules.Generation && rules.signed(leaf, i) == nil {
		c.Outlive(i.Generation)
	}
}

// Outlive notes that a certificate of the cluster has a later generation than this machine.
func (c *Credentials) Outlive(generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten() {
		c.later = 0
	}
	if generation >= c.later {
		c.later, c.laterAt = generation, c.now()
	}
}

// forgotten reports whether the certificate of a later generation was shown too long ago to count. c.mu is held.
func (c *Credentials) forgotten() bool { return c.now().Sub(c.laterAt) > shownFor }

// Outlived returns why a peer must not go on: its cluster has a later generation, and no node has renewed its lease here for [FollowAfter];
// empty: that is not so. See [Credentials.Led].
func (c *Credentials) Outlived() string {
	c.mu.Lock()
	lately := c.now().Sub(c.led)
	c.mu.Unlock()
	if lately >= 0 && lately < FollowAfter {
		return ""
	}
	return c.Later()
}

// Later returns what a certificate of a later generation means for a peer that has no nodes any more; empty: none was shown of late.
func (c *Credentials) Later() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own.Role != RolePeer || c.later <= c.highest || c.forgotten() {
		return ""
	}
	return fmt.Sprintf("the cluster was recovered or restored without this peer: it has generation %d, and this peer %d. Nodes follow the later one, so nothing runs here. "+
		"Give this machine an empty data folder, and let it join again under another name; or, if this is the cluster that is to go on, stop its peers, and run on one of them: "+
		"berth cluster recover --generation %d", c.later, c.highest, c.later+1)
}

// outgrown reports whether this machine has followed the cluster to a later generation than that of its certificate. A node then gets
// another certificate, by which the peers that were left behind learn of that generation.
func (c *Credentials) outgrown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own.Role == RoleNode && c.own.Generation < c.highest
}
