package trust

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Credentials are the keys and certificates of a machine as its connections use them. They may be replaced while
// connections exist; each new handshake uses the present ones.
type Credentials struct {
	now     func() time.Time
	revoked Revoked

	mu      sync.Mutex
	own     Identity
	current tls.Certificate
	roots   []*x509.Certificate
	highest uint64             // generation
	later   uint64             // generation of a certificate of the cluster that this peer does not belong to; 0: none was shown
	laterAt time.Time          // when it was shown last
	used    uint64             // revision of the cluster's trust
	public  *PublicFiles       // for clients that do not know the authority; nil: there is none
	raised  func(uint64) error // see OnGeneration
	open    map[*watched]proof // connections of peers
	led     time.Time          // see Led; at first when these credentials were made
}

// NewCredentials returns the credentials of a machine. now is its wall clock; revoked may be nil.
func NewCredentials(m *Material, now func() time.Time, revoked Revoked) (*Credentials, error) {
	c := &Credentials{now: now, revoked: revoked, led: now()}
	return c, c.Replace(m)
}

// Replace uses other keys and certificates from now on.
func (c *Credentials) Replace(m *Material) error {
	own, err := m.Identity()
	if err != nil {
		return err
	}
	if len(m.Authorities) == 0 {
		return errors.New("no certificate of an authority")
	}
	chain := [][]byte{m.Certificate.Raw}
	if m.Link != nil {
		chain = append(chain, m.Link.Raw)
	}
	for _, root := range m.Authorities {
		chain = append(chain, root.Raw)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own, c.roots = own, m.Authorities
	c.highest = max(c.highest, m.Generation, own.Generation)
	c.used = m.Revision
	c.current = tls.Certificate{Certificate: chain, PrivateKey: m.Key, Leaf: m.Certificate}
	return nil
}

// Adopt uses the keys and certificates that an admin has put into the folder. They may be of a lower generation: berth join --renew,
// with a token of the cluster, is how a node comes back from a generation that is none of the cluster's.
func (c *Credentials) Adopt(m *Material) error {
	if err := c.Replace(m); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.highest = max(m.Generation, c.own.Generation)
	return nil
}

// FollowAfter is for how long no cluster of the present generation has accepted a node before the node follows the next one.
const FollowAfter = 15 * time.Second

// Led notes that the cluster of the present generation has accepted this node, or at a peer, the renewal of a node: it has a leader, and no
// recovery has replaced it.
func (c *Credentials) Led() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.led = c.now()
}

// OnGeneration calls f before a peer of a higher generation is accepted for the first time, which only nodes do. f stores
// the generation; if that fails, the peer is refused, since a node that forgets could follow the former majority again.
func (c *Credentials) OnGeneration(f func(generation uint64) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raised = f
}

// Former reports whether a certificate is of another authority than the one that issues now: during a rotation its holder
// has a newer one.
func (c *Credentials) Former(leaf *x509.Certificate) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !bytes.Equal(leaf.AuthorityKeyId, c.roots[0].SubjectKeyId)
}

// Now returns the time by which certificates are checked.
func (c *Credentials) Now() time.Time { return c.now() }

// Own returns the identity of this machine.
func (c *Credentials) Own() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

// Revision returns the revision of the cluster's trust that this machine uses.
func (c *Credentials) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Pin returns the pin of the authority that issues certificates.
func (c *Credentials) Pin() Pin {
	c.mu.Lock()
	defer c.mu.Unlock()
	return PinOf(c.roots[0])
}

// Leaf returns this machine's certificate.
func (c *Credentials) Leaf() *x509.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Leaf
}

// rules returns what the certificate of the other side must meet now.
func (c *Credentials) rules(server bool, role Role) *Rules {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Rules{
		Cluster: c.own.Cluster, Generation: c.highest, Follow: c.own.Role == RoleNode, Role: role, Roots: c.roots, Server: server,
		Now: c.now(), Revoked: c.revoked,
	}
}

// accept checks the certificate of the other side.
func (c *Credentials) accept(state *tls.ConnectionState, server bool, role Role) error {
	rules := c.rules(server, role)
	i, err := rules.Verify(state.PeerCertificates)
	if err != nil {
		c.outlive(state.PeerCertificates, err)
		return err
	}
	if i.Generation <= rules.Generation {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i.Generation <= c.highest {
		return nil
	}
	// A certificate alone is no proof of a recovery: a holder of the key of the authority can make one of any generation.
	if lately := c.now().Sub(c.led); !server || lately >= 0 && lately < FollowAfter {
		return otherGeneration(i.Generation, "the certificate of %s %s is of generation %d, and this node follows generation %d, of which it has heard lately: the node follows the next generation "+
			"once it connects to a peer of that and no cluster of its own has accepted it for %s", i.Role, i.Name, i.Generation, c.highest, FollowAfter)
	}
	if c.raised != nil {
		if err := c.raised(i.Generation); err != nil {
			return fmt.Errorf("generation %d of the cluster cannot be stored: %w", i.Generation, err)
		}
	}
	c.highest, c.led = i.Generation, c.now()
	go c.Sweep() // of the connections to peers of former generations
	return nil
}

func (c *Credentials) certificate() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	current := c.current
	return &current
}

// Demand is what a listener asks of the other side's certificate.
type Demand uint8

// The demands.
const (
	DemandPeer   Demand = iota // a peer of this cluster and generation
	DemandMember               // a peer or a node, if the other side has a certificate; none otherwise
	DemandProof                // a peer or a node
)

// Server returns the configuration of a listener.
func (c *Credentials) Server(demand Demand, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		NextProtos:             protocols,
		ClientAuth:             tls.RequestClientCert, // VerifyConnection refuses the lack of one, and says why
		Time:                   c.now,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if public := c.shown(demand, hello); public != nil {
				return public.Certificate()
			}
			return c.certificate(), nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			switch {
			case demand == DemandPeer:
				return c.accept(&state, false, RolePeer)
			case demand == DemandMember && len(state.PeerCertificates) == 0:
				return nil
			}
			return c.accept(&state, false, "")
		},
	}
}

// ServerName is the name that members and commands of a cluster ask a peer for (RFC 6066, section 3): they get the
// certificate of the peer, and all others the public one, if there is one.
const ServerName = "peer.berth.internal"

// Show presents a public certificate to clients that do not ask for a peer of the cluster.
func (c *Credentials) Show(public *PublicFiles) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.public = public
}

// shown returns the public certificate for a client; nil: the client gets that of this machine.
func (c *Credentials) shown(demand Demand, hello *tls.ClientHelloInfo) *PublicFiles {
	if demand != DemandMember || hello.ServerName == ServerName {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.public
}

// Client returns the configuration of connections to peers: the other side must be a peer of this cluster, whatever
// its address, and gets this machine's certificate.
func (c *Credentials) Client(protocols ...string) *tls.Config { return c.client(RolePeer, protocols) }

// NodeClient returns the configuration of connections to agents.
func (c *Credentials) NodeClient(protocols ...string) *tls.Config {
	return c.client(RoleNode, protocols)
}

func (c *Credentials) client(role Role, protocols []string) *tls.Config {
	return &tls.Config{
		MinVersion:           tls.VersionTLS13,
		ServerName:           ServerName,
		InsecureSkipVerify:   true, //nolint:gosec // names are not checked: VerifyConnection checks the identity
		NextProtos:           protocols,
		Time:                 c.now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.certificate(), nil },
		VerifyConnection:     func(state tls.ConnectionState) error { return c.accept(&state, true, role) },
	}
}

// Known is how a client without a certificate recognizes a cluster.
type Known struct {
	Authorities []*x509.Certificate
	Generation  uint64 // the highest that was seen; 0: any
}

// Visitor returns the configuration of clients without a certificate: the other side must be a peer of the cluster that they
// know, and not of a former generation. moved, which may be nil, is called with what such a client must know from now on, where that
// has changed: after a rotation the authorities, after a recovery the generation.
func Visitor(known Known, now func() time.Time, moved func(Known)) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		ServerName:         ServerName,
		InsecureSkipVerify: true, //nolint:gosec // likewise
		Time:               now,
		VerifyConnection: func(state tls.ConnectionState) error {
			i, err := verifyVisited(state.PeerCertificates, known, now())
			if err != nil {
				return err
			}
			present := Known{rootsOf(state.PeerCertificates), i.Generation}
			if moved != nil && len(present.Authorities) > 0 &&
				(present.Generation != known.Generation || !slices.EqualFunc(present.Authorities, known.Authorities, (*x509.Certificate).Equal)) {
				moved(present)
			}
			return nil
		},
	}
}

// rootsOf returns the authorities that a peer presents. They are part of what the peer has signed in the handshake.
func rootsOf(chain []*x509.Certificate) (roots []*x509.Certificate) {
	for _, c := range chain[1:] {
		if c.IsCA && ClusterOf(c) == ClusterOf(chain[len(chain)-1]) && c.CheckSignatureFrom(c) == nil {
			roots = append(roots, c)
		}
	}
	return roots
}

// Pinned returns the configuration of a machine that joins, which knows a cluster by the pin of its authority only.
// found is called with the authority's certificate before anything is sent; its error ends the connection.
func Pinned(pin Pin, now func() time.Time, found func(authority *x509.Certificate) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		ServerName:         ServerName,
		InsecureSkipVerify: true, //nolint:gosec // likewise
		Time:               now,
		VerifyConnection: func(state tls.ConnectionState) error {
			for _, c := range state.PeerCertificates {
				if PinOf(c) != pin || !c.IsCA || c.CheckSignatureFrom(c) != nil { // a link has the same key
					continue
				}
				if _, err := verifyVisited(state.PeerCertificates, Known{Authorities: []*x509.Certificate{c}}, now()); err != nil {
					return err
				}
				return found(c)
			}
			return refused(FaultCluster, "the machine at this address is not of the cluster that the token is for: correct the address, or make a token at that cluster")
		},
	}
}

// verifyVisited checks that a server is a peer of a cluster, and of no former generation.
func verifyVisited(chain []*x509.Certificate, known Known, now time.Time) (Identity, error) {
	rules := &Rules{Role: RolePeer, Follow: true, Generation: known.Generation, Roots: known.Authorities, Server: true, Now: now}
	for _, a := range known.Authorities {
		rules.Cluster = ClusterOf(a)
	}
	for _, c := range chain[min(1, len(chain)):] {
		if c.IsCA && ClusterOf(c) == rules.Cluster {
			rules.Links = append(rules.Links, c)
		}
	}
	return rules.Verify(chain)
}

// Still returns the identity of the client at the other side of a connection, unless its certificate was revoked, or
// its authority is no longer accepted, meanwhile. A certificate that has expired meanwhile counts: see [Conn.Outlived].
func (c *Credentials) Still(conn *Conn) (Identity, bool) {
	leaf := conn.leaf()
	if leaf == nil {
		return Identity{}, false
	}
	i, err := identityOf(leaf)
	rules := c.rules(false, "")
	rules.Now = earlier(rules.Now, leaf.NotAfter)
	return i, err == nil && rules.check(leaf, i) == nil && rules.issued(leaf)
}

// IdentityOf returns the identity that the other side of a connection has proven; false: none. The handshake must be
// complete, and the listener or dialer must be one of this package.
func IdentityOf(state *tls.ConnectionState) (Identity, bool) {
	if state == nil || !state.HandshakeComplete || len(state.PeerCertificates) == 0 {
		return Identity{}, false
	}
	i, err := identityOf(state.PeerCertificates[0])
	return i, err == nil
}
