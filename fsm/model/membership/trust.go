package membership

import "github.com/berth-gpu/berth/fsm/model"

// Rotation is what of the cluster's keys is being replaced.
type Rotation uint8

// The rotations.
const (
	RotationNone      Rotation = 0
	RotationAuthority Rotation = 1 // the authority that signs certificates
	RotationLeaf      Rotation = 2 // the keys and certificates of all members
)

// Valid reports whether r is one of the rotations.
func (r Rotation) Valid() bool { return r >= RotationAuthority && r <= RotationLeaf }

// String returns the name of the rotation in commands and messages; empty: none.
func (r Rotation) String() string {
	switch r {
	case RotationAuthority:
		return "ca"
	case RotationLeaf:
		return "leaf"
	case RotationNone:
	}
	return ""
}

// RotationNamed returns the rotation with a name; false: there is none.
func RotationNamed(name string) (Rotation, bool) {
	for r := RotationAuthority; r.Valid(); r++ {
		if r.String() == name {
			return r, true
		}
	}
	return RotationNone, false
}

// MaxCredential bounds the certificate of an authority, in characters of base64.
const MaxCredential = 4 << 10

// Trust is what the members of the cluster use and accept at present, without the secrets, which are on the disks of
// the members. While a text is empty, that with which the cluster was founded counts.
//
//berth:row
type Trust struct {
	Revision  uint64     `cbor:"1,keyasint,omitempty"`  // rises with each change
	Rotation  Rotation   `cbor:"2,keyasint,omitempty"`  // that is under way
	Switched  bool       `cbor:"3,keyasint,omitempty"`  // the next credential is in use, and the former one still accepted
	Authority string     `cbor:"4,keyasint,omitempty"`  // certificate that signs: DER in base64
	Accepted  string     `cbor:"5,keyasint,omitempty"`  // another authority that is accepted
	Link      string     `cbor:"6,keyasint,omitempty"`  // certificate of the authority that signs, signed by the one before
	Since     model.Time `cbor:"9,keyasint,omitempty"`  // begin of the present step
	By        string     `cbor:"10,keyasint,omitempty"` // actor that has begun the rotation
	NextLink  string     `cbor:"11,keyasint,omitempty"` // that becomes Link at the switch
}

// Steps returns how many steps a rotation has.
func (r Rotation) Steps() int {
	switch r {
	case RotationAuthority:
		return 2
	case RotationLeaf:
		return 1
	case RotationNone:
	}
	return 0
}

// Step returns the present step of the rotation, from 1.
func (t *Trust) Step() int {
	if t.Switched && t.Rotation != RotationLeaf {
		return 2
	}
	return 1
}
