package trust_test

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// succession is an authority, its successor, and the link between them.
type succession struct {
	old, next *trust.Authority
	link      *x509.Certificate
}

func successionOf(t testing.TB) *succession {
	t.Helper()
	s := &succession{old: authority(t, home)}
	var err error
	if s.next, s.link, err = s.old.Successor(noon()); err != nil {
		t.Fatal(err)
	}
	return s
}

// bundles are what the cluster trusts in the steps of a rotation of the authority.
func (s *succession) bundles() []*trust.Bundle {
	old, next := s.old.Certificate, s.next.Certificate
	return []*trust.Bundle{
		{Revision: 1, Authorities: []*x509.Certificate{old, next}},
		{Revision: 2, Authorities: []*x509.Certificate{next, old}, Link: s.link},
		{Revision: 3, Authorities: []*x509.Certificate{next}, Link: s.link},
	}
}

// material is what a peer has in a step: from 0, before the rotation, to 3.
func (s *succession) material(t testing.TB, i trust.Identity, step int) *trust.Material {
	t.Helper()
	issuer := s.old
	if step >= 2 {
		issuer = s.next
	}
	m := material(t, issuer, i)
	m.Keys = []crypto.Signer{s.old.Key()}
	if step == 0 {
		return m
	}
	followed, err := m.Follow(s.bundles()[step-1], &trust.Secrets{Authorities: []crypto.Signer{s.next.Key()}})
	if err != nil {
		t.Fatal(err)
	}
	return followed
}

// Members of two consecutive steps accept each other in both directions; those of steps further apart do not meet, since each
// step waits for all.
func TestMembersOfConsecutiveStepsMeet(t *testing.T) {
	t.Parallel()
	s := successionOf(t)
	for step := range 4 {
		p := peerPort(t, credentials(t, s.material(t, peer("p1"), step)))
		for other := range 4 {
			m := s.material(t, peer("p2"), other)
			holder, err := said(trust.Network{Credentials: credentials(t, m)}.Dial(p.address, soon))
			if meet := max(step, other)-min(step, other) <= 1; meet && (err != nil || holder != "p2") {
				t.Errorf("a peer of step %d at one of step %d: %q, %v", other, step, holder, err)
			}
		}
	}
	first, last := s.material(t, peer("p1"), 0), s.material(t, peer("p2"), 3)
	if _, err := said(trust.Network{Credentials: credentials(t, first)}.Dial(peerPort(t, credentials(t, last)).address, soon)); err == nil {
		t.Error("the former authority is accepted after the rotation")
	}
}

// A client that knows the former authority follows the rotation at any time, and learns the present one; a member accepts no
// link in place of an authority.
func TestClientsFollowTheAuthority(t *testing.T) {
	t.Parallel()
	s := successionOf(t)
	pinned := func(pin trust.Pin, address string) (found *x509.Certificate, err error) {
		_, err = get(t, "https://"+address, trust.Pinned(pin, noon, func(c *x509.Certificate) error { found = c; return nil }))
		return found, err
	}
	for step := range 4 {
		m := s.material(t, peer("p1"), step)
		closed := web(t, credentials(t, m), false)
		var learned []*x509.Certificate
		config := trust.Visitor(trust.Known{Authorities: []*x509.Certificate{s.old.Certificate}, Generation: 1}, noon,
			func(k trust.Known) { learned = k.Authorities })
		if _, err := get(t, "https://"+closed, config); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		if same := step == 0; same != (learned == nil) || !same && !slices.EqualFunc(learned, m.Authorities, (*x509.Certificate).Equal) {
			t.Errorf("step %d: the client has learned %d authorities", step, len(learned))
		}
		if step == 0 {
			continue
		}
		if found, err := pinned(trust.PinOf(s.next.Certificate), closed); err != nil && step > 1 || step > 1 && !found.Equal(s.next.Certificate) {
			t.Errorf("step %d: by the hash of the next one: %v", step, err)
		}
		if found, err := pinned(trust.PinOf(s.old.Certificate), closed); (err == nil) != (step < 3) ||
			err == nil && !found.Equal(s.old.Certificate) {
			t.Errorf("step %d: by the hash of the former one: %v", step, err)
		}
	}
	thief := authority(t, home)
	forged, _, err := thief.Successor(noon())
	if err != nil {
		t.Fatal(err)
	}
	m := material(t, forged, peer("p1"))
	m.Authorities, m.Link = append(m.Authorities, s.old.Certificate), s.link
	closed := web(t, credentials(t, m), false)
	if _, err := get(t, "https://"+closed,
		trust.Visitor(trust.Known{Authorities: []*x509.Certificate{s.old.Certificate}}, noon, nil)); trust.FaultOf(err) != trust.FaultUnsigned {
		t.Errorf("an authority without a link: %v", err)
	}
	linked := s.material(t, peer("p3"), 3)
	if _, err := said(trust.Network{Credentials: credentials(t, linked)}.Dial(peerPort(t, credentials(t, s.material(t, peer("p1"), 0))).address,
		soon)); err == nil {
		t.Error("a member accepts a link")
	}
}

// What a bundle needs and the machine lacks is named; with the secret of another place it is there.
func TestFollowNeedsTheSecrets(t *testing.T) {
	t.Parallel()
	s := successionOf(t)
	m := s.material(t, peer("p1"), 0)
	next := s.bundles()[0]
	if _, err := m.Follow(next, &trust.Secrets{}); err == nil {
		t.Errorf("followed %+v", next)
	} else if _, is := errors.AsType[*trust.MissingError](err); !is {
		t.Errorf("%+v: %v", next, err)
	}
	got, err := m.Follow(next, &trust.Secrets{Authorities: []crypto.Signer{s.next.Key()}})
	if err != nil || got.Revision != next.Revision || len(got.Authorities) != 2 || len(m.Authorities) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The files of a rotation are those of its owner only, come back as they were, and are named if they are damaged.
func TestFilesOfARotation(t *testing.T) {
	t.Parallel()
	s := successionOf(t)
	dir := filepath.Join(t.TempDir(), "trust")
	m := s.material(t, peer("p1"), 2)
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	next := &trust.Secrets{Authorities: []crypto.Signer{s.next.Key()}, Sealing: [][]byte{make([]byte, 32)}}
	if err := trust.SaveNext(dir, next); err != nil {
		t.Fatal(err)
	}
	got := must(trust.Load(dir))
	if got.Revision != 2 || len(got.Keys) != 2 || len(got.Authorities) != 2 || !got.Link.Equal(s.link) {
		t.Errorf("loaded %+v", got)
	}
	if issuer, err := got.Issuer(); err != nil || !issuer.Certificate.Equal(s.next.Certificate) {
		t.Errorf("certificates are issued by %v, %v", issuer, err)
	}
	kept := must(trust.LoadNext(dir))
	if both := kept.And(next); len(both.Authorities) != 1 || len(both.Sealing) != 1 {
		t.Errorf("stored for later: %+v", kept)
	}
	for _, e := range must(os.ReadDir(dir)) {
		if info := must(e.Info()); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
	}
	for _, name := range []string{"link.pem", "revision", "next-authority.key", "next-sealing.key"} {
		path := filepath.Join(dir, name)
		whole := must(os.ReadFile(path))
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, one := trust.Load(dir)
		_, two := trust.LoadNext(dir)
		if err := errors.Join(one, two); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.Link = nil
	if err := errors.Join(trust.Save(dir, m), trust.SaveNext(dir, &trust.Secrets{})); err != nil {
		t.Fatal(err)
	}
	if got, kept := must(trust.Load(dir)), must(trust.LoadNext(dir)); got.Link != nil || len(kept.Authorities)+len(kept.Sealing) > 0 {
		t.Errorf("what was removed is there: %+v, %+v", got, kept)
	}
}

// A machine that is behind the cluster has its certificate renewed at once, and reports the revision only once it is in use. An
// answer of a peer that lags is not taken.
func TestRenewalFollowsTheCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, dir := founded(t, 24*time.Hour)
		c := must(trust.NewCredentials(m, time.Now, nil))
		var newest, answer atomic.Uint64
		var deaf atomic.Bool
		deaf.Store(true)
		wake := make(chan struct{}, 1)
		var confirmed []uint64
		changed := 0
		r := &trust.Renewal{
			Dir: dir, Credentials: c, Now: time.Now, Log: slog.New(slog.DiscardHandler), Changed: func(*trust.Material) { changed++ },
			Sign: func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
				signed := must(own(dir)(ctx, request, life))
				signed.Revision = answer.Load()
				return signed, nil
			},
			Follow: &trust.Following{
				Newest: newest.Load, Wake: func() <-chan struct{} { return wake },
				Confirm: func(_ context.Context, revision uint64) error {
					if used := must(trust.Load(dir)).Revision; used != revision || c.Revision() != revision {
						t.Errorf("revision %d is confirmed, and %d is stored", revision, used)
					}
					if deaf.Load() {
						return errors.New("no peer answers")
					}
					confirmed = append(confirmed, revision)
					return nil
				},
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		step := func(cluster, peers uint64) {
			newest.Store(cluster)
			answer.Store(peers)
			wake <- struct{}{}
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		step(4, 4)
		if changed != 1 || c.Revision() != 4 || len(confirmed) != 0 {
			t.Errorf("renewed %d times, revision %d, confirmed %v", changed, c.Revision(), confirmed)
		}
		deaf.Store(false)
		step(5, 3)
		if c.Revision() != 4 || !slices.Equal(confirmed, []uint64{4}) {
			t.Errorf("the answer of a peer that lags: revision %d, confirmed %v", c.Revision(), confirmed)
		}
		step(5, 5)
		if changed != 2 || c.Revision() != 5 || !slices.Equal(confirmed, []uint64{4, 5}) {
			t.Errorf("renewed %d times, revision %d, confirmed %v", changed, c.Revision(), confirmed)
		}
		stop()
		<-done
	})
}

// Connections between peers end when the certificate of the other side is revoked or expires, or its authority is no longer
// accepted; others stay.
func TestOpenConnectionsEnd(t *testing.T) {
	t.Parallel()
	s := successionOf(t)
	for name, end := range map[string]func(c *trust.Credentials, at *time.Time, revoked *bool) error{
		"nothing": func(*trust.Credentials, *time.Time, *bool) error { return nil },
		"expired": func(_ *trust.Credentials, at *time.Time, _ *bool) error {
			*at = at.Add(trust.Life + time.Hour)
			return nil
		},
		"revoked": func(_ *trust.Credentials, _ *time.Time, revoked *bool) error { *revoked = true; return nil },
		"authority": func(c *trust.Credentials, _ *time.Time, _ *bool) error {
			return c.Replace(s.material(t, peer("p1"), 3))
		},
	} {
		for _, dials := range []bool{false, true} {
			at, revoked := noon(), false
			one, err := trust.NewCredentials(s.material(t, peer("p1"), 1), func() time.Time { return at },
				func(trust.Identity, time.Time) bool { return revoked })
			if err != nil {
				t.Fatal(err)
			}
			other := connected(t, one, credentials(t, s.material(t, peer("p2"), 1)), dials)
			if err := end(one, &at, &revoked); err != nil {
				t.Fatal(err)
			}
			want := 1
			if name == "nothing" {
				want = 0
			}
			if closed, ending := one.Sweep(); closed != 0 || ending != want {
				t.Errorf("%s, dials: %v: %d connections were closed at once, %d will be", name, dials, closed, ending)
			}
			at = at.Add(trust.Grace)
			if closed, ending := one.Sweep(); closed != want || ending != 0 {
				t.Errorf("%s, dials: %v: %d connections were closed, not %d", name, dials, closed, want)
			}
			if want == 1 {
				if _, err := other.Read(make([]byte, 1)); err == nil {
					t.Errorf("%s, dials: %v: the other side reads on", name, dials)
				}
			}
			if again, _ := one.Sweep(); again != 0 {
				t.Errorf("%s: closed twice", name)
			}
		}
	}
}

// connected connects two peers, and returns the end of the second.
func connected(t *testing.T, one, two *trust.Credentials, dials bool) net.Conn {
	t.Helper()
	from, to := two, one
	if dials {
		from, to = one, two
	}
	l := must(trust.Network{Credentials: to}.Listen("127.0.0.1:0"))
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // the handshake is complete
		}
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	conn := must(trust.Network{Credentials: from}.Dial(l.Addr().String(), soon))
	_ = must(conn.Write([]byte("x")))
	other := <-accepted
	t.Cleanup(func() { _, _, _ = conn.Close(), other.Close(), l.Close() })
	if dials {
		return other
	}
	return conn
}
