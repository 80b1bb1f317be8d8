package trust

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Subfolder is where servers and agents keep their keys and certificates, below their data folders.
const Subfolder = "trust"

// Member is a peer or a node for which a certificate is made.
type Member struct {
	Role  Role
	Name  string
	Names []string      // host names and addresses of its machine, for people
	Life  time.Duration // 0: [Life]
}

// Found makes a new cluster: an authority, a random id, and the material of the first peer. Nothing is written yet: see
// [Save].
func Found(first Member, now time.Time) (*Material, error) {
	authority, err := NewAuthority(NewCluster(), now)
	if err != nil {
		return nil, err
	}
	m := &Material{Authorities: []*x509.Certificate{authority.Certificate}, Keys: []crypto.Signer{authority.key}, Generation: 1}
	first.Role = RolePeer
	return m.Certify(first, now)
}

// Certify makes the material of another member of the cluster, with a new key. Only a machine with the key of the
// authority can do this. Peers get that key, too.
func (m *Material) Certify(other Member, now time.Time) (*Material, error) {
	authority, err := m.Issuer()
	if err != nil {
		return nil, err
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	certificate, err := authority.Issue(Terms{
		Identity: Identity{Cluster: authority.Cluster(), Generation: m.Generation, Role: other.Role, Name: other.Name},
		Key:      key.Public(), Names: other.Names, Now: now, Life: other.Life,
	})
	if err != nil {
		return nil, err
	}
	member := *m
	member.Key, member.Certificate = key, certificate
	if other.Role != RolePeer {
		member.Keys = nil
	}
	return &member, nil
}

// Open returns the credentials of the folder of a member. An empty name is any. Its error says what is wrong with the
// folder and what to do.
func Open(dir string, role Role, name string, now func() time.Time, revoked Revoked) (*Credentials, error) {
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	own, err := m.Identity()
	switch {
	case err != nil:
		return nil, err
	case own.Role != role:
		return nil, fmt.Errorf("%s is the folder of a %s, and this is a %s: name another data folder, or join as a %s", dir, own.Role, role, role)
	case name != "" && own.Name != name:
		return nil, fmt.Errorf("%s is the folder of %s %q, and this is %q: name that one, or another data folder", dir, role, own.Name, name)
	case role == RolePeer && len(m.Keys) == 0:
		return nil, errors.New(dir + " lacks the key of the authority, which every peer has: renew the certificate with berth join peer --renew")
	case now().After(m.Certificate.NotAfter):
		return nil, fmt.Errorf("the certificate in %s expired at %s and this machine's clock shows %s: correct the clock, or renew the certificate: berth join %s --renew, with a token for this name "+
			"(on a peer: berth token join %s --name %s; or there berth cert issue %s %s, whose folder takes the place of this one)",
			dir, stamp(m.Certificate.NotAfter), stamp(now()), role, role, own.Name, role, own.Name)
	}
	return NewCredentials(m, now, revoked)
}
