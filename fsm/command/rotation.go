package command

import (
	"encoding/base64"

	"github.com/berth-gpu/berth/fsm/model/membership"
)

// BeginRotation begins to replace a credential of the cluster. All peers hold the secret of the next one already.
type BeginRotation struct {
	Rotation membership.Rotation `cbor:"1,keyasint,omitempty"`
	Revision uint64              `cbor:"2,keyasint,omitempty"` // of the trust that it was made for
	Former   string              `cbor:"3,keyasint,omitempty"` // present authority (DER in base64)
	Next     string              `cbor:"4,keyasint,omitempty"` // the one that replaces it
	Link     string              `cbor:"5,keyasint,omitempty"` // the next authority's certificate, signed by the present one
}

// Kind returns KindBeginRotation.
func (*BeginRotation) Kind() Kind { return KindBeginRotation }

// Validate checks that the command holds what its rotation needs.
func (b *BeginRotation) Validate() error {
	switch b.Rotation {
	case membership.RotationAuthority:
		for _, v := range []struct{ name, text string }{{"former", b.Former}, {"next", b.Next}, {"link", b.Link}} {
			if der, err := base64.StdEncoding.DecodeString(v.text); err != nil || len(der) == 0 || len(v.text) > membership.MaxCredential {
				return invalid(v.name, "a certificate of at most 4096 characters of base64")
			}
		}
	case membership.RotationLeaf:
		if b.Former != "" || b.Next != "" || b.Link != "" {
			return invalid("next", "empty when certificates are replaced")
		}
	case membership.RotationNone:
		fallthrough
	default:
		return invalid("rotation", "ca or leaf")
	}
	if b.Former == b.Next && b.Next != "" {
		return invalid("next", "another one than the present")
	}
	return nil
}

// AdvanceRotation goes on to the next step of a rotation, once all members use what the present one has brought.
type AdvanceRotation struct {
	Revision uint64 `cbor:"1,keyasint,omitempty"` // of the present step
}

// Kind returns KindAdvanceRotation.
func (*AdvanceRotation) Kind() Kind { return KindAdvanceRotation }

// Validate accepts everything.
func (*AdvanceRotation) Validate() error { return nil }

// AbortRotation ends a rotation whose next credential is not in use yet.
type AbortRotation struct{}

// Kind returns KindAbortRotation.
func (*AbortRotation) Kind() Kind { return KindAbortRotation }

// Validate accepts everything.
func (*AbortRotation) Validate() error { return nil }

// ConfirmTrust says that a member uses a revision of the cluster's trust.
type ConfirmTrust struct {
	Member   membership.Member `cbor:"1,keyasint,omitempty"`
	Revision uint64            `cbor:"2,keyasint,omitempty"`
}

// Kind returns KindConfirmTrust.
func (*ConfirmTrust) Kind() Kind { return KindConfirmTrust }

// Validate checks the member.
func (b *ConfirmTrust) Validate() error { return validMember(b.Member.Role, b.Member.Name) }
