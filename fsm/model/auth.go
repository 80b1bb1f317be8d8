package model

import (
	"cmp"
	"time"
)

// Bounds of users and tokens.
const (
	MaxTokens   = 10_000
	MaxUsers    = 10_000
	MaxProjects = 256 // of one user
)

// KeepExpired is how long a token is listed after its end; it is removed when another is made after that.
const KeepExpired = 30 * 24 * time.Hour

// Auth is whether and since when the cluster authenticates callers.
type Auth struct {
	Since Time `cbor:"1,keyasint,omitempty"` // 0: it does not
}

// On reports whether the cluster authenticates callers.
func (a Auth) On() bool { return a.Since > 0 }

// Token authenticates a user, or lets a machine join the cluster. The token itself is 256 random bits and is stored nowhere.
//
//berth:row
type Token struct {
	Hash    Hash   `cbor:"1,keyasint,omitempty"` // SHA-256 of the token
	Name    string `cbor:"2,keyasint,omitempty"` // for people
	User    string `cbor:"3,keyasint,omitempty"` // the user; of a machine its name, where only that may join
	Role    Role   `cbor:"4,keyasint,omitempty"` // what it allows at most; RoleNone: all that its user may
	Made    Time   `cbor:"5,keyasint,omitempty"`
	By      string `cbor:"6,keyasint,omitempty"` // actor
	Expires Time   `cbor:"7,keyasint,omitempty"` // not good from then on; 0: for ever
	First   bool   `cbor:"8,keyasint,omitempty"` // made by the cluster, good for making one other
	Network string `cbor:"9,keyasint,omitempty"` // of a machine: the network that it must join from (CIDR); empty: any

	Hosts string `cbor:"10,keyasint,omitempty"` // of a peer: host names and addresses for its certificate, with commas between them
}

// Joins reports whether the token lets a machine join the cluster.
func (t *Token) Joins() bool { return t.Role.Machine() }

// Of returns the user of the token, and whether it is a user's, not a machine's.
func (t *Token) Of() (user string, human bool) {
	return t.User, !t.Joins() && !t.First
}

// Good reports whether the token has not expired.
func (t *Token) Good(now Time) bool { return t.Expires == 0 || now < t.Expires }

// Allows returns the role of a caller with the token whose user has the given role.
func (t *Token) Allows(user Role) Role {
	if t.Role == RoleNone || t.Role.Human() && user < t.Role {
		return user
	}
	return t.Role
}

// User is a user of the cluster.
//
//berth:row
type User struct {
	Name string `cbor:"1,keyasint,omitempty"`
	Role Role   `cbor:"2,keyasint,omitempty"`
	Made Time   `cbor:"3,keyasint,omitempty"` // what is older belongs to a former user of the name
	By   string `cbor:"4,keyasint,omitempty"` // actor

	// Subject is the hash of the user's account at the identity provider; zero: none, the user has local tokens only. Stated is when
	// the provider has stated the role and the projects, and Binds has the next sign-in under the name set Subject.
	Subject Hash `cbor:"5,keyasint,omitzero"`
	Stated  Time `cbor:"6,keyasint,omitempty"`
	Binds   bool `cbor:"7,keyasint,omitempty"`
}

// ByProvider is [Member.By] of memberships that the identity provider has stated.
const ByProvider = "oidc"

// Takes reports whether a sign-in of an account at the identity provider is one of the user.
func (u *User) Takes(account Hash) bool { return u.Binds || u.Subject == account && !account.IsZero() }

// UserName names a user as a key.
type UserName string

// Compare orders by the alphabet.
func (u UserName) Compare(o UserName) int { return cmp.Compare(u, o) }

// Member is a user's membership of a project.
//
//berth:row
type Member struct {
	Key MemberKey `cbor:"1,keyasint,omitempty"`
	By  string    `cbor:"2,keyasint,omitempty"` // actor
}

// MemberKey names a user and one of the user's projects.
type MemberKey struct {
	User    string `cbor:"1,keyasint,omitempty"`
	Project string `cbor:"2,keyasint,omitempty"`
}

// Compare orders by user, then project.
func (k MemberKey) Compare(o MemberKey) int {
	return cmp.Or(cmp.Compare(k.User, o.User), cmp.Compare(k.Project, o.Project))
}
