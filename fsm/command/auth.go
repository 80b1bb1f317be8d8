package command

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// FoundAuth makes the cluster require authentication from now on. A repetition only replaces a first token
// that has expired, while no token is valid for the role admin.
type FoundAuth struct {
	Token model.Hash `cbor:"1,keyasint,omitempty"` // of the first token; zero: none is made
}

// Kind returns KindFoundAuth.
func (*FoundAuth) Kind() Kind { return KindFoundAuth }

// Validate returns nil: the command is valid with and without a token.
func (*FoundAuth) Validate() error { return nil }

// MakeToken makes a token. An unknown user is created, with the token's role. With the role of a machine, the token
// lets one machine join the cluster.
type MakeToken struct {
	Hash    model.Hash `cbor:"1,keyasint,omitempty"`
	Name    string     `cbor:"2,keyasint,omitempty"`
	User    string     `cbor:"3,keyasint,omitempty"` // of a machine its name; empty: any name that is not in use
	Role    model.Role `cbor:"4,keyasint,omitempty"` // RoleNone: as its user, which must then exist
	Expires model.Time `cbor:"5,keyasint,omitempty"` // 0: never
	Spend   model.Hash `cbor:"6,keyasint,omitempty"` // the first token, which is given for it
	Network string     `cbor:"7,keyasint,omitempty"` // that a machine must join from (CIDR); empty: any
	Hosts   string     `cbor:"8,keyasint,omitempty"` // of a peer: host names and addresses for its certificate, with commas between them
	Capped  bool       `cbor:"9,keyasint,omitempty"` // the caller is no operator: what is kept for operators is closed to it
}

// Kind returns KindMakeToken.
func (*MakeToken) Kind() Kind { return KindMakeToken }

// Validate checks names and role.
func (b *MakeToken) Validate() error {
	machine := b.Role.Machine()
	switch {
	case b.Hash.IsZero():
		return invalid("token", "256 random bits")
	case !model.Text(b.Name, model.MaxName):
		return model.WantText("name", b.Name, model.MaxName)
	case b.Role != model.RoleNone && !b.Role.Valid():
		return invalid("role", "viewer, user, operator, admin, agent or peer")
	case machine && b.User == "":
	case machine && !model.Name(b.User):
		return model.WantName("node", b.User)
	case !model.Name(b.User):
		return model.WantName("user", b.User)
	}
	switch {
	case b.Expires < 0, machine && b.Expires == 0:
		return invalid("expires", "an instant")
	case b.Network == "":
	case !machine:
		return invalid("network", "nothing: only machines that join are bound to a network")
	default:
		if p, err := netip.ParsePrefix(b.Network); err != nil || p.Masked().String() != b.Network {
			return invalid("network", "a network such as 10.1.2.0/24")
		}
	}
	return validHosts(b)
}

// maxHosts bounds the names in a certificate.
const maxHosts = 16

// validHosts checks the names that a peer's certificate gets.
func validHosts(b *MakeToken) error {
	if b.Hosts == "" {
		return nil
	}
	if b.Role != model.RolePeer {
		return invalid("hosts", "nothing: only the certificates of peers have host names")
	}
	all := strings.Split(b.Hosts, ",")
	if len(all) > maxHosts {
		return invalid("hosts", fmt.Sprintf("at most %d host names and addresses", maxHosts))
	}
	for _, host := range all {
		if _, err := netip.ParseAddr(host); err != nil && !model.HostName(host) {
			return invalid("hosts", "host names and IP addresses, such as head1.example.org")
		}
	}
	return nil
}

// DropTokens revokes tokens, or removes those that have expired, and ends sessions. The result's Number is how many there were.
type DropTokens struct {
	Tokens []model.Hash `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindDropTokens.
func (*DropTokens) Kind() Kind { return KindDropTokens }

// Validate bounds the list.
func (b *DropTokens) Validate() error { return validCount("tokens", len(b.Tokens), 1, 1000) }

// SetUser creates a user, or changes a user's role and projects.
type SetUser struct {
	User  string     `cbor:"1,keyasint,omitempty"`
	Role  model.Role `cbor:"2,keyasint,omitempty"` // RoleNone: as it is
	Join  []string   `cbor:"3,keyasint,omitempty"` // projects
	Leave []string   `cbor:"4,keyasint,omitempty"`
	// Subject is the hash of an account at the identity provider, which has signed in as the user: then Role and Join are all that
	// the provider has stated, at the instant Stated, and Leave has no effect. Zero: the command is an admin's.
	Subject model.Hash `cbor:"5,keyasint,omitzero"`
	Stated  model.Time `cbor:"6,keyasint,omitempty"`
	Bind    bool       `cbor:"7,keyasint,omitempty"` // the next sign-in under the name makes the user that of its account
}

// Kind returns KindSetUser.
func (*SetUser) Kind() Kind { return KindSetUser }

// Validate checks names and role.
func (b *SetUser) Validate() error {
	switch {
	case !model.Name(b.User):
		return model.WantName("user", b.User)
	case b.Role != model.RoleNone && !b.Role.Human():
		return invalid("role", "viewer, user, operator or admin")
	case !b.Subject.IsZero() && (b.Role == model.RoleNone || b.Stated <= 0):
		return invalid("subject", "given with a role and an instant")
	case b.Subject.IsZero() && b.Stated != 0:
		return invalid("stated", "given with a subject only")
	}
	if err := validFirstOf(validCount("join", len(b.Join), 0, model.MaxProjects), validCount("leave", len(b.Leave), 0, model.MaxProjects)); err != nil {
		return err
	}
	for _, list := range [][]string{b.Join, b.Leave} {
		for _, project := range list {
			if !model.Name(project) {
				return model.WantName("projects", project)
			}
		}
	}
	return nil
}

// RemoveUser removes a user, including tokens, webhooks, reservations and places in projects. The user's jobs
// and allocations stay, for operators to end: a later user of the same name does not own them.
type RemoveUser struct {
	User string `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRemoveUser.
func (*RemoveUser) Kind() Kind { return KindRemoveUser }

// Validate requires a name.
func (b *RemoveUser) Validate() error {
	if !model.Name(b.User) {
		return invalid("user", "a user's name")
	}
	return nil
}
