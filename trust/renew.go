package trust

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// renewEvery is how often the age of a certificate is looked at, at most.
const renewEvery = time.Minute

// Signed is the answer to a request for a certificate.
type Signed struct {
	Certificate []byte // DER
	Authorities []byte // PEM; empty: as before
	Link        []byte // DER, see [Bundle]; empty: none
	Revision    uint64 // of the cluster's trust

	Keys []crypto.Signer // of authorities, for peers; none: as before
}

// Sign returns a certificate for a request, valid for at most so long.
type Sign func(ctx context.Context, request []byte, life time.Duration) (*Signed, error)

// Renewal renews the certificate of a folder.
type Renewal struct {
	Dir         string
	Credentials *Credentials
	Sign        Sign
	Now         func() time.Time
	Log         *slog.Logger

	Follow    *Following        // nil: revisions of the cluster's trust are not followed
	Changed   func(m *Material) // called once the machine uses other material; nil: nothing to do
	confirmed uint64            // revision
}

// ErrUnrecorded means that the cluster has no record of this machine's certificate.
var ErrUnrecorded = errors.New("no certificate of this machine is recorded")

// Following is how a machine follows the revisions of its cluster's trust.
type Following struct {
	Newest  func() uint64                                    // revision, as far as this machine knows
	Wake    func() <-chan struct{}                           // receives or is closed when Newest may have changed
	Confirm func(ctx context.Context, revision uint64) error // reports to the cluster that this machine uses a revision
}

// LifeOf returns for how long a certificate was issued.
func LifeOf(c *x509.Certificate) time.Duration { return c.NotAfter.Sub(c.NotBefore) - Backdate }

// DueAt returns when a certificate is renewed: at half of its life, up to a tenth earlier, by its serial number, so that
// machines that joined together do not all renew at once.
func DueAt(c *x509.Certificate) time.Time {
	life := LifeOf(c)
	serial := c.SerialNumber.Bytes()
	early := life / 10 * time.Duration(serial[len(serial)-1]) / 255
	return c.NotAfter.Add(-life/2 - early)
}

// followEvery is the pause between two tries to follow a revision of the cluster's trust.
const followEvery = 2 * time.Second

// Run renews until the context ends. A renewal that fails is tried again, more often as the end comes near. When what the
// cluster trusts changes, the machine gets another certificate with the present material at once, and confirms its use.
func (r *Renewal) Run(ctx context.Context) {
	for {
		wake := r.wake()
		r.adopt()
		r.renewIfDue(ctx)
		pause := min(renewEvery, max(LifeOf(r.Credentials.Leaf())/20, time.Second))
		if _, ending := r.Credentials.Sweep(); ending > 0 {
			pause = min(pause, Grace)
		}
		if !r.confirm(ctx) {
			pause = min(pause, followEvery)
		}
		select {
		case <-wake:
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// renewIfDue renews a certificate that is old, or of a former revision.
func (r *Renewal) renewIfDue(ctx context.Context) {
	leaf := r.Credentials.Leaf()
	left := leaf.NotAfter.Sub(r.Now())
	if r.Now().Before(DueAt(leaf)) && !r.behind() && !r.Credentials.outgrown() {
		return
	}
	if err := r.once(ctx); err != nil && ctx.Err() == nil {
		level := slog.LevelWarn
		if left < LifeOf(leaf)/3 {
			level = slog.LevelError
		}
		r.Log.Log(ctx, level, "certificate_not_renewed", "expires", leaf.NotAfter, "err", err, "remedy", "peers must be reachable and their clocks right; the next try follows")
	}
}

// confirm reports the revision that is in use, and returns whether the cluster knows that and this machine is not behind.
func (r *Renewal) confirm(ctx context.Context) bool {
	revision := r.Credentials.Revision()
	if revision > r.confirmed && r.Follow != nil {
		err := r.Follow.Confirm(ctx, revision)
		if errors.Is(err, ErrUnrecorded) { // one that was issued without the cluster: a renewal records it
			err = errors.Join(err, r.once(ctx))
		}
		if err != nil {
			if ctx.Err() == nil {
				r.Log.Warn("trust_not_confirmed", "revision", revision, "err", err, "remedy", "peers must be reachable; the next try follows")
			}
			return false
		}
		r.confirmed = revision
		r.Log.Info("trust_confirmed", "revision", revision)
	}
	return !r.behind()
}

// behind reports whether the cluster has another revision of its trust than this machine uses.
func (r *Renewal) behind() bool {
	return r.Follow != nil && r.Credentials.Revision() < r.Follow.Newest()
}

// wake returns what ends the pause between two looks.
func (r *Renewal) wake() <-chan struct{} {
	if r.Follow == nil {
		return nil
	}
	return r.Follow.Wake()
}

// adopt uses the certificate in the folder, if that is newer: berth join --renew may have put one there.
func (r *Renewal) adopt() {
	known, err := Load(r.Dir)
	if err != nil || !known.Certificate.NotAfter.After(r.Credentials.Leaf().NotAfter) {
		return
	}
	if err := r.Credentials.Adopt(known); err != nil {
		r.Log.Warn("certificate_not_adopted", "dir", r.Dir, "err", err)
		return
	}
	r.changed(known)
	r.Log.Info("certificate_adopted", "serial", Serial(known.Certificate), "expires", known.Certificate.NotAfter)
}

// once renews the certificate, with a new key.
func (r *Renewal) once(ctx context.Context) error {
	old, err := Load(r.Dir)
	if err != nil {
		return err
	}
	key, err := NewKey()
	if err != nil {
		return err
	}
	request, err := NewRequest(key)
	if err != nil {
		return err
	}
	answer, err := r.Sign(ctx, request, LifeOf(old.Certificate))
	if err != nil {
		return err
	}
	next, err := r.check(old, key, answer)
	if err != nil {
		return fmt.Errorf("the new certificate is of no use: %w", err)
	}
	saved := Save(r.Dir, next)
	// after a restart this machine would be at the former revision, which it must not report as left
	if saved != nil && next.Revision != old.Revision {
		return saved
	}
	if err := errors.Join(saved, r.Credentials.Replace(next)); err != nil {
		return err
	}
	r.changed(next)
	r.Log.Info("certificate_renewed", "serial", Serial(next.Certificate), "expires", next.Certificate.NotAfter, "revision", next.Revision)
	return nil
}

func (r *Renewal) changed(m *Material) {
	if r.Changed != nil {
		r.Changed(m)
	}
}

// check returns the material with a new certificate, if that is for the same member and valid.
func (r *Renewal) check(old *Material, key crypto.Signer, answer *Signed) (*Material, error) {
	next := *old
	next.Key = key
	var err error
	if next.Certificate, err = x509.ParseCertificate(answer.Certificate); err != nil {
		return nil, err
	}
	if len(answer.Authorities) > 0 {
		if next.Authorities, err = DecodeCertificates(answer.Authorities, MaxAuthorities); err != nil {
			return nil, err
		}
	}
	if next.Link = nil; len(answer.Link) > 0 {
		if next.Link, err = x509.ParseCertificate(answer.Link); err != nil {
			return nil, err
		}
	}
	if len(answer.Keys) > 0 {
		next.Keys = answer.Keys
	}
	if next.Revision = answer.Revision; next.Revision < old.Revision {
		return nil, fmt.Errorf("the peer that was asked has revision %d of the cluster's trust, and this machine %d: that peer lags behind", next.Revision, old.Revision)
	}
	if _, err := OpenAuthority(next.Certificate, key); err != nil {
		return nil, errors.New("the certificate is for another key")
	}
	was, err := old.Identity()
	if err != nil {
		return nil, err
	}
	rules := Rules{
		Cluster: was.Cluster, Generation: old.Generation, Follow: true, Role: was.Role, Name: was.Name, Roots: next.Authorities,
		Now: r.Now(),
	}
	i, err := rules.Verify([]*x509.Certificate{next.Certificate})
	next.Generation = max(next.Generation, i.Generation)
	return &next, err
}

// MaxAuthorities is how many authorities a machine trusts at once, at most: the present one, and during a rotation the
// next and the former one.
const MaxAuthorities = 3

// SignFor returns the certificate of a member for a request, by the authority of this machine. The certificate is
// valid for a second at least, and for [Life] at most.
func (m *Material) SignFor(other Member, request []byte, now time.Time) (*Signed, error) {
	authority, err := m.Issuer()
	if err != nil {
		return nil, err
	}
	key, err := ParseRequest(request)
	if err != nil {
		return nil, err
	}
	c, err := authority.Issue(Terms{
		Identity: Identity{Cluster: authority.Cluster(), Generation: m.Generation, Role: other.Role, Name: other.Name},
		Key:      key, Names: other.Names, Now: now, Life: min(max(other.Life, time.Second), Life),
	})
	if err != nil {
		return nil, err
	}
	signed := &Signed{Certificate: c.Raw, Authorities: EncodeCertificates(m.Authorities...), Revision: m.Revision}
	if m.Link != nil {
		signed.Link = m.Link.Raw
	}
	if other.Role == RolePeer {
		signed.Keys = m.Keys
	}
	return signed, nil
}

// NamesOf returns the host names and addresses in a certificate.
func NamesOf(c *x509.Certificate) []string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
