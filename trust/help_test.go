package trust_test

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

const home = "00112233445566778899aabbccddeeff" // the cluster of most tests

// noon is the time of most tests.
func noon() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

// must returns a value, and panics if there is an error in its place.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func authority(t testing.TB, cluster string) *trust.Authority {
	t.Helper()
	return must(trust.NewAuthority(cluster, noon()))
}

func peer(name string) trust.Identity {
	return trust.Identity{Cluster: home, Generation: 1, Role: trust.RolePeer, Name: name}
}

func node(name string) trust.Identity {
	i := peer(name)
	i.Role = trust.RoleNode
	return i
}

// material is what a machine of that identity keeps, certified by an authority at noon.
func material(t testing.TB, a *trust.Authority, i trust.Identity) *trust.Material {
	t.Helper()
	return materialAt(t, a, i, noon())
}

func materialAt(t testing.TB, a *trust.Authority, i trust.Identity, now time.Time) *trust.Material {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	terms := trust.Terms{Identity: i, Key: key.Public(), Now: now}
	if i.Role == trust.RolePeer {
		terms.Names = []string{"p1.example.org", "10.0.0.7", "fd00::7"}
	}
	c, err := a.Issue(terms)
	if err != nil {
		t.Fatal(err)
	}
	return &trust.Material{Key: key, Certificate: c, Authorities: []*x509.Certificate{a.Certificate}, Generation: i.Generation}
}

// forged is a certificate that the rules of [trust.Authority] do not allow.
type forged struct {
	uris   []string
	usage  []x509.ExtKeyUsage
	isCA   bool
	signer crypto.Signer // nil: the certificate signs itself
	issuer *x509.Certificate
}

func (f *forged) material(t testing.TB, like *trust.Material) *trust.Material {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "forged"}, NotBefore: noon().Add(-time.Hour), NotAfter: noon().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: f.usage, IsCA: f.isCA, BasicConstraintsValid: true,
	}
	for _, text := range f.uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	issuer, signer := f.issuer, f.signer
	if signer == nil {
		issuer, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	m := *like
	m.Key, m.Certificate = key, c
	return &m
}

func credentials(t testing.TB, m *trust.Material) *trust.Credentials {
	t.Helper()
	c, err := trust.NewCredentials(m, noon, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
