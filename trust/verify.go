package trust

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fault is why a certificate is refused.
type Fault string

// The faults.
const (
	FaultNone       Fault = "none"          // there is no certificate
	FaultForm       Fault = "form"          // it names no identity of Berth
	FaultCluster    Fault = "other_cluster" // of another cluster
	FaultGeneration Fault = "generation"    // of a generation that was replaced, or of one that replaces this
	FaultRole       Fault = "role"
	FaultName       Fault = "name" // of another peer or node than expected
	FaultUnsigned   Fault = "unsigned"
	FaultUsage      Fault = "usage" // not for this side of a connection
	FaultEarly      Fault = "not_yet_valid"
	FaultExpired    Fault = "expired"
	FaultRevoked    Fault = "revoked"
)

// RefusedError says why the certificate of the other side is refused, and what to do.
type RefusedError struct {
	Fault Fault
	Text  string

	Generation uint64 // of the certificate, where that is the fault
}

// Error returns the reason in one line.
func (e *RefusedError) Error() string { return e.Text }

func refused(fault Fault, format string, args ...any) error {
	return &RefusedError{Fault: fault, Text: fmt.Sprintf(format, args...)}
}

// otherGeneration refuses a certificate for its generation.
func otherGeneration(generation uint64, format string, args ...any) error {
	return &RefusedError{FaultGeneration, fmt.Sprintf(format, args...), generation}
}

// FaultOf returns why a certificate was refused; empty: the error has another reason.
func FaultOf(err error) Fault {
	if e, is := errors.AsType[*RefusedError](err); is {
		return e.Fault
	}
	return ""
}

// Revoked reports whether the certificates of a member that were issued at an instant are revoked.
type Revoked func(member Identity, issued time.Time) bool

// IssuedAt returns when a certificate was issued.
func IssuedAt(c *x509.Certificate) time.Time { return c.NotBefore.Add(Backdate) }

// Rules are what the certificate of the other side must meet.
type Rules struct {
	Cluster    string
	Generation uint64 // of this side, from 1
	Follow     bool   // peers of a higher generation are accepted: a node follows a recovery, a peer does not
	Role       Role   // of the other side; empty: any
	Name       string // of the other side; empty: any
	Roots      []*x509.Certificate
	Links      []*x509.Certificate // of authorities, signed by a root; members accept none
	Server     bool                // the other side is the server of the connection
	Now        time.Time
	Revoked    Revoked // nil: no certificate is revoked
}

// Verify returns the identity of the other side, which presented this chain. The error is a [RefusedError].
func (r *Rules) Verify(chain []*x509.Certificate) (Identity, error) {
	if len(chain) == 0 {
		return Identity{}, refused(FaultNone, "no certificate: this port takes members of the cluster only; let this machine join with a token (berth join)")
	}
	leaf := chain[0]
	i, err := identityOf(leaf)
	if err != nil {
		return Identity{}, refused(FaultForm, "the certificate %s was not issued by Berth: %v", subject(leaf), err)
	}
	if err := r.check(leaf, i); err != nil {
		return Identity{}, err
	}
	return i, r.signed(leaf, i)
}

// identityOf returns the identity in a certificate.
func identityOf(leaf *x509.Certificate) (Identity, error) {
	switch {
	case len(leaf.URIs) != 1:
		return Identity{}, fmt.Errorf("%d URIs in place of one", len(leaf.URIs))
	case leaf.IsCA:
		return Identity{}, errors.New("the certificate of an authority is none of a machine")
	}
	return ParseIdentity(leaf.URIs[0])
}

// check compares what a certificate says with the rules.
func (r *Rules) check(leaf *x509.Certificate, i Identity) error {
	holder := fmt.Sprintf("%s %s", i.Role, i.Name)
	newer := i.Generation > r.Generation && (!r.Follow || i.Role != RolePeer)
	far := r.Follow && r.Generation > 0 && i.Generation > r.Generation+1 // one recovery at a time
	switch {
	case i.Cluster != r.Cluster:
		return refused(FaultCluster, "the certificate of %s is of cluster %s, and this is cluster %s: correct the address, or let that machine join this cluster with an empty data folder",
			holder, i.Cluster, r.Cluster)
	case r.Role != "" && i.Role != r.Role:
		return refused(FaultRole, "the certificate is that of %s, and a %s is expected there: correct the address", holder, r.Role)
	case far && i.Role == RolePeer:
		return otherGeneration(i.Generation, "the certificate of %s is of generation %d, and this machine has generation %d: more than one recovery is believed only with a token or a hash of the cluster; "+
			"on a node run berth join node --renew, on the machine of a user berth login", holder, i.Generation, r.Generation)
	case newer && i.Role == RolePeer:
		return otherGeneration(i.Generation, "the certificate of %s is of generation %d, and this machine has generation %d: the cluster was recovered without this machine; "+
			"give this machine an empty data folder, and let it join again under another name", holder, i.Generation, r.Generation)
	case newer, i.Role == RolePeer && i.Generation < r.Generation:
		return otherGeneration(i.Generation, "the certificate of %s is of generation %d, and the cluster has generation %d: that machine was left behind by a recovery; "+
			"give that machine an empty data folder, and let it join again under another name. If no recovery took place, this machine is wrong: berth join node --renew on a node, berth login for a user", holder, i.Generation, r.Generation)
	case r.Name != "" && i.Name != r.Name:
		return refused(FaultName, "the certificate is that of %s, and %q was expected: another machine has this address, or the certificate was copied", holder, r.Name)
	case r.Now.Before(leaf.NotBefore):
		return refused(FaultEarly, "the certificate of %s is valid from %s and this machine's clock shows %s: correct the clock that is wrong", holder, stamp(leaf.NotBefore), stamp(r.Now))
	case r.Now.After(leaf.NotAfter):
		return refused(FaultExpired, "the certificate of %s expired at %s and this machine's clock shows %s: correct the clock, or let that machine renew its certificate: berth join %s --renew",
			holder, stamp(leaf.NotAfter), stamp(r.Now), i.Role)
	case r.Revoked != nil && r.Revoked(i, IssuedAt(leaf)):
		return refused(FaultRevoked, "the certificate of %s (serial %s) was revoked: the machine was removed from the cluster, or another has its place; let this machine join again with a new token", holder, Serial(leaf))
	}
	return nil
}

// signed checks the signature by one of the roots, and the usage.
func (r *Rules) signed(leaf *x509.Certificate, i Identity) error {
	usage := x509.ExtKeyUsageClientAuth
	if r.Server && i.Role == RolePeer { // agents serve peers, with certificates for clients
		usage = x509.ExtKeyUsageServerAuth
	}
	if !slices.Contains(leaf.ExtKeyUsage, usage) {
		return refused(FaultUsage, "the certificate of %s %s is not for this side of a connection: let that machine renew its certificate with berth join %s --renew", i.Role, i.Name, i.Role)
	}
	pool := x509.NewCertPool()
	for _, root := range r.Roots {
		if ClusterOf(root) == r.Cluster {
			pool.AddCert(root)
		}
	}
	links := x509.NewCertPool()
	for _, link := range r.Links {
		links.AddCert(link)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: pool, Intermediates: links, CurrentTime: r.Now,
		KeyUsages: []x509.ExtKeyUsage{usage},
	}); err != nil {
		return refused(FaultUnsigned, "the certificate of %s %s was not signed by the authority of this cluster: let that machine join this cluster (berth join) (%v)", i.Role, i.Name, err)
	}
	return nil
}

func subject(c *x509.Certificate) string { return fmt.Sprintf("%q", clip(c.Subject.String())) }

func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// issued reports whether a certificate, whose signature was checked before, is still one of the authorities that count.
func (r *Rules) issued(leaf *x509.Certificate) bool {
	return slices.ContainsFunc(r.Roots, func(root *x509.Certificate) bool { return bytes.Equal(root.SubjectKeyId, leaf.AuthorityKeyId) })
}
