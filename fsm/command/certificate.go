package command

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
)

// RecordCertificate records the certificate that was issued for a member, and spends the join token that was used.
// Only once this command is carried out is the certificate handed out.
type RecordCertificate struct {
	Member  membership.Member `cbor:"1,keyasint,omitempty"`
	Serial  string            `cbor:"2,keyasint,omitempty"` // hexadecimal digits
	Key     model.Hash        `cbor:"3,keyasint,omitempty"` // SHA-256 of the public key
	Issued  model.Time        `cbor:"4,keyasint,omitempty"`
	Expires model.Time        `cbor:"5,keyasint,omitempty"`
	Token   model.Hash        `cbor:"6,keyasint,omitempty"` // zero: the member renews its certificate

	Revision uint64 `cbor:"7,keyasint,omitempty"` // of the cluster's trust that is handed out with the certificate
	Renewal  bool   `cbor:"8,keyasint,omitempty"` // with a token: the machine holds an earlier certificate of the member
}

// Kind returns KindRecordCertificate.
func (*RecordCertificate) Kind() Kind { return KindRecordCertificate }

// Validate checks the member and the certificate's serial number and times.
func (b *RecordCertificate) Validate() error {
	const maxSerial = 40 // digits: RFC 5280, section 4.1.2.2, allows 20 bytes
	switch {
	case b.Serial == "" || !model.Text(b.Serial, maxSerial):
		return invalid("serial", "1 to 40 hexadecimal digits")
	case b.Key.IsZero():
		return invalid("key", "the hash of a public key")
	case b.Issued <= 0 || b.Expires <= b.Issued:
		return invalid("expires", "an instant after that of the issue")
	}
	return validMember(b.Member.Role, b.Member.Name)
}

// RevokeCertificate makes the cluster refuse all certificates that a member has so far. The member may join again.
type RevokeCertificate struct {
	Member membership.Member `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRevokeCertificate.
func (*RevokeCertificate) Kind() Kind { return KindRevokeCertificate }

// Validate checks the member.
func (b *RevokeCertificate) Validate() error { return validMember(b.Member.Role, b.Member.Name) }
