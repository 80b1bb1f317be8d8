// Package issue has what the API needs of certificates: what issues those of members, and what proves the identity of a
// caller.
package issue

import (
	"crypto/sha256"
	"crypto/x509"
	"net"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/trust"
)

// Authority issues certificates. Every peer has the key of the cluster's authority.
type Authority interface {
	// About returns the id of the cluster, and the hash of the authority's key.
	About() (cluster string, pin trust.Pin)
	// Certify issues the certificate of a member for a request (PKCS #10).
	Certify(m trust.Member, request []byte) (*trust.Signed, error)
	// Secrets returns all secrets of the cluster on this machine.
	Secrets() (*trust.Secrets, error)
	// Keep stores the secrets of a rotation that is about to begin.
	Keep(next *trust.Secrets) error
	// Prepare makes the next credential of a rotation.
	Prepare(r membership.Rotation) (*command.BeginRotation, *trust.Secrets, error)
}

// Record returns the command that records a certificate, which was issued with a revision of what the cluster trusts.
func Record(m membership.Member, c *x509.Certificate, revision uint64) *command.RecordCertificate {
	return &command.RecordCertificate{
		Member: m, Serial: trust.Serial(c), Key: sha256.Sum256(c.RawSubjectPublicKeyInfo),
		Issued: model.TimeOf(trust.IssuedAt(c)), Expires: model.TimeOf(c.NotAfter), Revision: revision,
	}
}

// Prove returns the identity that the other side of a connection has proven; false: none.
type Prove func(net.Conn) (trust.Identity, bool)

// ByCertificate returns the [Prove] of a listener of package trust. It checks the certificate again at each request.
func ByCertificate(own *trust.Credentials) Prove {
	return func(conn net.Conn) (trust.Identity, bool) {
		if c, is := conn.(*trust.Conn); is {
			return own.Still(c)
		}
		return trust.Identity{}, false
	}
}
