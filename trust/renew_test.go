package trust_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// founded returns the material of a new cluster's first peer, in a folder. Its certificate is issued now.
func founded(t *testing.T, life time.Duration) (*trust.Material, string) {
	t.Helper()
	m := must(trust.Found(trust.Member{Name: "p1", Names: []string{"head.example.org"}, Life: life}, time.Now()))
	dir := filepath.Join(t.TempDir(), "trust")
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	return m, dir
}

// log is a log that tests read.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// own issues certificates as a peer does for itself.
func own(dir string) trust.Sign {
	return func(_ context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		m, err := trust.Load(dir)
		if err != nil {
			return nil, err
		}
		return m.SignFor(trust.Member{Role: trust.RolePeer, Name: "p1", Names: trust.NamesOf(m.Certificate), Life: life}, request, time.Now())
	}
}

// A certificate is renewed at half of its life, for as long again, over and over, with its names and another key, in the
// folder and for the next connections; an error of one try is not the end.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, dir := founded(t, 24*time.Hour)
		c := must(trust.NewCredentials(m, time.Now, nil))
		broken, said := true, &log{}
		sign := func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
			if broken {
				return nil, errors.New("no peer answers")
			}
			return own(dir)(ctx, request, life)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&trust.Renewal{Dir: dir, Credentials: c, Sign: sign, Now: time.Now, Log: slog.New(slog.NewTextHandler(said, nil))}).Run(ctx)
		}()
		until := func(at time.Time) {
			time.Sleep(max(time.Until(at), 0) + 2*time.Minute)
			synctest.Wait()
		}
		until(trust.DueAt(m.Certificate).Add(-5 * time.Minute))
		if said.String() != "" || !c.Leaf().Equal(m.Certificate) {
			t.Fatalf("renewed too early: %s", said)
		}
		until(trust.DueAt(m.Certificate))
		if !strings.Contains(said.String(), "level=WARN msg=certificate_not_renewed") || strings.Contains(said.String(), "level=ERROR") {
			t.Errorf("a first try without an answer: %s", said)
		}
		until(m.Certificate.NotAfter.Add(-7 * time.Hour))
		if !strings.Contains(said.String(), "level=ERROR msg=certificate_not_renewed") {
			t.Errorf("a third of the life is left: %s", said)
		}
		broken = false
		for range 5 {
			before := c.Leaf()
			until(trust.DueAt(before))
			after := c.Leaf()
			if after.Equal(before) || trust.LifeOf(after) != 24*time.Hour || strings.Join(trust.NamesOf(after), " ") != "head.example.org" {
				t.Fatalf("the certificate after %s is valid until %s, for %s", before.NotAfter, after.NotAfter, trust.NamesOf(after))
			}
			if kept := must(trust.Load(dir)); !kept.Certificate.Equal(after) ||
				bytes.Equal(after.RawSubjectPublicKeyInfo, before.RawSubjectPublicKeyInfo) {
				t.Fatal("the folder has another certificate, or the key is the same")
			}
		}
		stop()
		<-done
	})
}

// A peer's answer that is not the certificate that was asked for changes nothing.
func TestRenewalsThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]func(m *trust.Material, request []byte) (*trust.Signed, error){
		"garbage": func(*trust.Material, []byte) (*trust.Signed, error) {
			return &trust.Signed{Certificate: []byte("x")}, nil
		},
		"another name": func(m *trust.Material, r []byte) (*trust.Signed, error) {
			return m.SignFor(trust.Member{Role: trust.RolePeer, Name: "p2", Life: time.Hour}, r, time.Now())
		},
		"another role": func(m *trust.Material, r []byte) (*trust.Signed, error) {
			return m.SignFor(trust.Member{Role: trust.RoleNode, Name: "p1", Life: time.Hour}, r, time.Now())
		},
		"another cluster": func(_ *trust.Material, r []byte) (*trust.Signed, error) {
			return must(trust.Found(trust.Member{Name: "p1"}, time.Now())).SignFor(trust.Member{Role: trust.RolePeer, Name: "p1", Life: time.Hour}, r,
				time.Now())
		},
		"another key": func(m *trust.Material, _ []byte) (*trust.Signed, error) {
			return m.SignFor(trust.Member{Role: trust.RolePeer, Name: "p1", Life: time.Hour}, must(trust.NewRequest(must(trust.NewKey()))), time.Now())
		},
		"expired": func(m *trust.Material, r []byte) (*trust.Signed, error) {
			return m.SignFor(trust.Member{Role: trust.RolePeer, Name: "p1", Life: time.Second}, r, time.Now().Add(-time.Hour))
		},
		"too many authorities": func(m *trust.Material, r []byte) (*trust.Signed, error) {
			s, err := m.SignFor(trust.Member{Role: trust.RolePeer, Name: "p1", Life: time.Hour}, r, time.Now())
			s.Authorities = bytes.Repeat(s.Authorities, 4)
			return s, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, dir := founded(t, time.Hour)
				time.Sleep(55 * time.Minute)
				renewOnce(t, m, dir, sign)
			})
		})
	}
}

// renewOnce tries to renew a certificate once, and fails unless that changes nothing.
func renewOnce(t *testing.T, m *trust.Material, dir string, sign func(m *trust.Material, request []byte) (*trust.Signed, error)) {
	t.Helper()
	c := must(trust.NewCredentials(m, time.Now, nil))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, tried := &log{}, false
	(&trust.Renewal{
		Dir: dir, Credentials: c, Now: time.Now, Log: slog.New(slog.NewTextHandler(said, nil)),
		Sign: func(_ context.Context, request []byte, _ time.Duration) (*trust.Signed, error) {
			if tried { // the log has the outcome of the first try
				stop()
				return nil, ctx.Err()
			}
			tried = true
			return sign(m, request)
		},
	}).Run(ctx)
	if kept := must(trust.Load(dir)); !kept.Certificate.Equal(m.Certificate) || !c.Leaf().Equal(m.Certificate) ||
		!strings.Contains(said.String(), "is of no use") {
		t.Errorf("taken over; %s", said)
	}
}

// The times at which the certificates of many machines are renewed are spread over a tenth of their life.
func TestRenewalsAreSpread(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	key := must(trust.NewKey())
	first, last := time.Time{}, time.Time{}
	for range 200 {
		c := must(a.Issue(trust.Terms{Identity: node("n"), Key: key.Public(), Now: noon()}))
		at := trust.DueAt(c)
		if at.After(c.NotAfter.Add(-trust.Life/2)) || at.Before(c.NotAfter.Add(-trust.Life/2-trust.Life/10)) {
			t.Fatalf("renewed at %s", at)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if last.Sub(first) < trust.Life/20 {
		t.Errorf("all within %s", last.Sub(first))
	}
}

// A revision that could not be stored is neither used nor confirmed, and tried again. A certificate that the cluster does not know is
// renewed, which records it.
func TestRenewalsThatTheClusterMustKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, dir := founded(t, 24*time.Hour)
		c := must(trust.NewCredentials(m, time.Now, nil))
		var broken, unknown atomic.Bool
		broken.Store(true)
		unknown.Store(true)
		confirmed := 0
		r := &trust.Renewal{
			Dir: dir, Credentials: c, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Sign: func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
				signed := must(own(dir)(ctx, request, life))
				signed.Revision = 1
				if broken.Load() { // the folder becomes a file
					must(0, errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)))
				} else if c.Revision() == 1 {
					unknown.Store(false)
				}
				return signed, nil
			},
			Follow: &trust.Following{
				Newest: func() uint64 { return 1 }, Wake: func() <-chan struct{} { return nil },
				Confirm: func(context.Context, uint64) error {
					if unknown.Load() {
						return trust.ErrUnrecorded
					}
					confirmed++
					return nil
				},
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		synctest.Wait()
		if c.Revision() != 0 || confirmed != 0 {
			t.Errorf("what could not be stored is used: revision %d, confirmed %d times", c.Revision(), confirmed)
		}
		must(0, errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)))
		broken.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if c.Revision() != 1 || unknown.Load() || confirmed != 1 {
			t.Errorf("revision %d, confirmed %d times, unknown to the cluster: %v", c.Revision(), confirmed, unknown.Load())
		}
		stop()
		<-done
	})
}
