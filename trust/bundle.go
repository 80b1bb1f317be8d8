package trust

import (
	"crypto/x509"
	"fmt"
	"time"
)

// Bundle is the public part of what a cluster trusts, at a revision. It says which credentials count; the secrets are on
// the disks of the members.
type Bundle struct {
	Revision    uint64
	Authorities []*x509.Certificate // the one that issues first; none: as before
	Link        *x509.Certificate   // of the key of Authorities[0], signed by the authority before it; nil: none
}

// MissingError says that a machine lacks a secret that the bundle of its cluster needs.
type MissingError struct{ What string }

// Error returns the reason in one line.
func (e *MissingError) Error() string {
	return e.What + " is not on this machine yet, and comes from the other peers: try again"
}

// Secrets returns the secrets of a material.
func (m *Material) Secrets() *Secrets { return &Secrets{Authorities: m.Keys} }

// Follow returns the material with what a bundle says, out of the secrets in the material and others. The certificate stays
// as it is. The error is a [MissingError] if a secret is not there.
func (m *Material) Follow(b *Bundle, others *Secrets) (*Material, error) {
	next := *m
	next.Revision = b.Revision
	known := m.Secrets().And(others)
	if len(b.Authorities) > 0 {
		next.Authorities, next.Link, next.Keys = b.Authorities, b.Link, nil
		for _, c := range b.Authorities {
			a, err := issuerOf(c, known.Authorities)
			if err != nil {
				pin := PinOf(c)
				return nil, &MissingError{fmt.Sprintf("the key of the authority %x", pin[:8])}
			}
			next.Keys = append(next.Keys, a.key)
		}
	}
	return &next, nil
}

// Successor makes an authority that may replace one, and its link: a certificate of the successor's key that is signed by
// the present authority, by which clients that know only the present one recognize the successor.
func (a *Authority) Successor(now time.Time) (next *Authority, link *x509.Certificate, err error) {
	if next, err = NewAuthority(a.Cluster(), now); err != nil {
		return nil, nil, err
	}
	template := authorityTemplate(a.Cluster(), now)
	template.NotAfter = earlier(template.NotAfter, a.Certificate.NotAfter)
	template.MaxPathLen, template.MaxPathLenZero = 0, true
	link, err = a.sign(template, next.key.Public())
	return next, link, err
}
