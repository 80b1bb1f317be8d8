package issue

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/trust"
)

// Keyring is the [Authority] of a peer: the secrets in the folder, as far as the state says that they count.
type Keyring struct {
	Dir         string // of keys and certificates
	Credentials *trust.Credentials
	Present     func() membership.Trust                           // of the state
	Fetch       func(ctx context.Context) (*trust.Secrets, error) // from another peer; nil: there is none
	Now         func() time.Time
	Sealing     *sealing.Ring // keys by which texts of users are sealed

	mu sync.Mutex // held while the secrets for later change
}

// BundleOf returns what the state says that the cluster trusts.
func BundleOf(t *membership.Trust) (*trust.Bundle, error) {
	b := &trust.Bundle{Revision: t.Revision}
	for _, text := range []string{t.Authority, t.Accepted} {
		if text != "" {
			c, err := parse(text)
			if err != nil {
				return nil, err
			}
			b.Authorities = append(b.Authorities, c)
		}
	}
	if t.Link == "" {
		return b, nil
	}
	var err error
	b.Link, err = parse(t.Link)
	return b, err
}

func parse(text string) (*x509.Certificate, error) {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// material returns what this peer trusts and issues certificates with, out of its folder and other secrets.
func (k *Keyring) material(others *trust.Secrets) (*trust.Material, error) {
	m, err := trust.Load(k.Dir)
	if err != nil {
		return nil, err
	}
	next, err := trust.LoadNext(k.Dir)
	if err != nil {
		return nil, err
	}
	t := k.Present()
	if t.Revision <= m.Revision {
		return m, nil
	}
	b, err := BundleOf(&t)
	if err != nil {
		return nil, err
	}
	return m.Follow(b, next.And(others))
}

// Material returns what this peer trusts, and issues certificates with.
func (k *Keyring) Material() (*trust.Material, error) { return k.material(&trust.Secrets{}) }

// About returns the id of the cluster, and the hash of the authority's key.
func (k *Keyring) About() (cluster string, pin trust.Pin) {
	return k.Credentials.Own().Cluster, k.Credentials.Pin()
}

// Certify issues the certificate of a member.
func (k *Keyring) Certify(m trust.Member, request []byte) (*trust.Signed, error) {
	known, err := k.material(&trust.Secrets{})
	if err != nil {
		return nil, err
	}
	if m.Life == 0 { // of a machine that joins: as that of this peer
		m.Life = trust.LifeOf(known.Certificate)
	}
	return known.SignFor(m, request, k.Now())
}

// Sign issues the certificate of this peer itself. Secrets that the present revision needs and that are not here yet are
// fetched from another peer.
func (k *Keyring) Sign(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
	m, err := k.material(&trust.Secrets{})
	if _, missing := errors.AsType[*trust.MissingError](err); missing && k.Fetch != nil {
		fetched, failed := k.Fetch(ctx)
		if failed != nil {
			return nil, fmt.Errorf("%w (%w)", err, failed)
		}
		m, err = k.material(fetched)
	}
	if err != nil {
		return nil, err
	}
	own, err := m.Identity()
	if err != nil {
		return nil, err
	}
	return m.SignFor(trust.Member{Role: own.Role, Name: own.Name, Names: trust.NamesOf(m.Certificate), Life: life}, request, k.Now())
}

// Secrets returns all secrets of the cluster in the folder.
func (k *Keyring) Secrets() (*trust.Secrets, error) {
	m, err := trust.Load(k.Dir)
	if err != nil {
		return nil, err
	}
	next, err := trust.LoadNext(k.Dir)
	if err != nil {
		return nil, err
	}
	return m.Secrets().And(next).And(&trust.Secrets{Sealing: k.Sealing.Keys()}), nil
}

// kept is how many secrets of a kind are kept for later: those of a rotation that is about to begin, and of one before that did not.
const kept = 2

// Keep stores the secrets of a rotation that is about to begin, and keys by which texts of users are sealed.
func (k *Keyring) Keep(next *trust.Secrets) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(next.Sealing) > 0 {
		if err := k.Sealing.Add(next.Sealing...); err != nil || len(next.Authorities) == 0 {
			return err
		}
	}
	before, err := trust.LoadNext(k.Dir)
	if err != nil {
		return err
	}
	all := next.And(before)
	all.Authorities = all.Authorities[:min(kept, len(all.Authorities))]
	all.Sealing = nil
	return trust.SaveNext(k.Dir, all)
}

// TakeSealing moves keys by which texts of users are sealed out of the folder, where a restore has left them, to their own file.
func (k *Keyring) TakeSealing() error {
	next, err := trust.LoadNext(k.Dir)
	if err != nil || len(next.Sealing) == 0 {
		return err
	}
	if err := k.Sealing.Add(next.Sealing...); err != nil {
		return err
	}
	next.Sealing = nil
	return trust.SaveNext(k.Dir, next)
}

// Prepare makes the next credential of a rotation.
func (k *Keyring) Prepare(r membership.Rotation) (*command.BeginRotation, *trust.Secrets, error) {
	m, err := k.material(&trust.Secrets{})
	if err != nil {
		return nil, nil, err
	}
	b := &command.BeginRotation{Rotation: r, Revision: m.Revision}
	if r != membership.RotationAuthority {
		return b, &trust.Secrets{}, nil
	}
	present, err := m.Issuer()
	if err != nil {
		return nil, nil, err
	}
	next, link, err := present.Successor(k.Now())
	if err != nil {
		return nil, nil, err
	}
	text := func(c *x509.Certificate) string { return base64.StdEncoding.EncodeToString(c.Raw) }
	b.Former, b.Next, b.Link = text(present.Certificate), text(next.Certificate), text(link)
	return b, &trust.Secrets{Authorities: []crypto.Signer{next.Key()}}, nil
}
