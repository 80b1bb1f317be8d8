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
	// Cluster returns the id of the cluster.
	Cluster() string
	// Pin returns the hash of the authority's key.
	Pin() trust.Pin
	// Certify issues the certificate of a member for a request (PKCS #10).
	Certify(m trust.Member, request []byte) (*trust.Signed, error)
	// Key returns the authority's private key (PKCS #8).
	Key() ([]byte, error)
}

// Record returns the command that records a certificate.
func Record(m membership.Member, c *x509.Certificate) *command.RecordCertificate {
	return &command.RecordCertificate{
		Member: m, Serial: trust.Serial(c), Key: sha256.Sum256(c.RawSubjectPublicKeyInfo),
		Issued: model.TimeOf(trust.IssuedAt(c)), Expires: model.TimeOf(c.NotAfter),
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
