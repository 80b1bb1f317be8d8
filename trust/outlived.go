package trust

import (
	"crypto/x509"
	"fmt"
)

// A peer of a former generation learns of a later one by a certificate alone: only the authority of the cluster signs one, so that its
// existence proves that the cluster was recovered or restored without this peer. The certificate is that of a peer or of a node.

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

// Outlive notes that the cluster has a later generation than this machine, as a certificate of the cluster has proven.
func (c *Credentials) Outlive(generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = max(c.later, generation)
}

// Outlived returns why a peer must not go on: its cluster has a later generation; empty: no such generation is known.
func (c *Credentials) Outlived() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own.Role != RolePeer || c.later <= c.highest {
		return ""
	}
	return fmt.Sprintf("the cluster was recovered or restored without this peer: it has generation %d, and this peer %d. Nodes follow the later one, so nothing runs here. "+
		"Give this machine an empty data folder, and let it join again under another name; or, if this is the cluster that is to go on, stop its peers, and run on one of them: "+
		"berth cluster recover --generation %d", c.later, c.highest, c.later+1)
}

// outgrown reports whether this machine has followed the cluster to a later generation than that of its certificate. A node then gets another
// certificate, by which the peers that were left behind learn of that generation.
func (c *Credentials) outgrown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own.Role == RoleNode && c.own.Generation < c.highest
}
