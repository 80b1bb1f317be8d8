// Package membership has the certificates of the cluster's members as the state keeps them.
//
//berth:pure
package membership

import (
	"cmp"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// MaxCertificates bounds the members that are known by their certificates.
const MaxCertificates = 100_000

// KeepExpired is how long a member is known after its certificate has expired.
const KeepExpired = 365 * 24 * time.Hour

// Member is a peer or a node, by the role of its token and by its name.
type Member struct {
	Role model.Role `cbor:"1,keyasint,omitempty"` // RolePeer or RoleAgent
	Name string     `cbor:"2,keyasint,omitempty"`
}

// Compare orders by role, then name.
func (m Member) Compare(o Member) int {
	return cmp.Or(cmp.Compare(m.Role, o.Role), cmp.Compare(m.Name, o.Name))
}

// String returns the member in messages: "peer p1", "node gpu1".
func (m Member) String() string {
	if m.Role == model.RolePeer {
		return "peer " + m.Name
	}
	return "node " + m.Name
}

// Certificate is the newest certificate of a member. The members' keys and certificates themselves are on their disks.
//
//berth:row
type Certificate struct {
	Member  Member     `cbor:"1,keyasint,omitempty"`
	Serial  string     `cbor:"2,keyasint,omitempty"` // hexadecimal digits
	Key     model.Hash `cbor:"3,keyasint,omitempty"` // SHA-256 of the public key
	Issued  model.Time `cbor:"4,keyasint,omitempty"`
	Expires model.Time `cbor:"5,keyasint,omitempty"`
	Since   model.Time `cbor:"6,keyasint,omitempty"` // certificates of this member that were issued earlier are refused
	Token   model.Hash `cbor:"7,keyasint,omitempty"` // the join token that was used; zero: none
	By      string     `cbor:"8,keyasint,omitempty"` // actor
	Revoked bool       `cbor:"9,keyasint,omitempty"` // by an admin, and no other was issued since

	Revision uint64 `cbor:"10,keyasint,omitempty"` // of the cluster's trust that the member uses, as it has reported
}

// Refuses reports whether a certificate of the member that was issued at an instant is refused.
func (c *Certificate) Refuses(issued model.Time) bool { return issued < c.Since }
