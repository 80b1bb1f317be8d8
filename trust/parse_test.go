package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"net/url"
	"testing"

	"github.com/berth-gpu/berth/trust"
)

func FuzzIdentity(f *testing.F) {
	for _, s := range []string{peer("p1").String(), node("a b/ü").String(), "berth://" + home + "/g01/peer/p1", "berth://x@" + home + "/g1/peer/p1", "berth:///g1/peer/p1?x#y", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		i, err := trust.ParseIdentity(u)
		if err != nil {
			return
		}
		if i.Check() != nil || i.String() != u.String() {
			t.Fatalf("%q was read as %+v, which is written as %q", s, i, i)
		}
	})
}

func TestIdentitiesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "berth:", "https://" + home + "/g1/peer/p1", "berth://" + home + "/g1/peer", "berth://" + home + "/g1/peer/p1/x", "berth://" + home + "/1/peer/p1",
		"berth://" + home + "/g-1/peer/p1", "berth://" + home + "/g0/peer/p1", "berth://" + home + "/g01/peer/p1", "berth://" + home + "/g1/root/p1", "berth://" + home + "/g1/peer/",
		"berth://" + home + "/g1/peer/p1?x=1", "berth://" + home + "/g1/peer/p1#x", "berth://u@" + home + "/g1/peer/p1", "berth://" + home + ":7/g1/peer/p1", "berth://ABC/g1/peer/p1",
		"berth://" + home + "/g99999999999999999999/peer/p1", "berth://" + home + "/g1/peer/%70%31", "berth://" + home + "/g1/peer/..",
	} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := trust.ParseIdentity(u); err == nil {
			t.Errorf("%q was read as %+v", s, i)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	key := must(trust.NewKey())
	der := must(trust.NewRequest(key))
	public, err := trust.ParseRequest(der)
	own, is := key.Public().(*ecdsa.PublicKey)
	if err != nil || !is || !own.Equal(public) {
		t.Fatalf("%v, %v", public, err)
	}
	changed := bytes.Clone(der)
	changed[len(changed)-1] ^= 1
	weak := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	small := must(rsa.GenerateKey(rand.Reader, 2048))
	for name, b := range map[string][]byte{
		"none": nil, "garbage": []byte("x"), "changed": changed, "cut off": der[:len(der)-1], "longer": append(bytes.Clone(der), 0), "too long": make([]byte, 5000),
		"a short curve": must(trust.NewRequest(weak)), "RSA": must(trust.NewRequest(small)),
	} {
		if _, err := trust.ParseRequest(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzRequest(f *testing.F) {
	key, err := trust.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	der, err := trust.NewRequest(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = trust.ParseRequest(b) })
}

func FuzzCertificates(f *testing.F) {
	a := authority(f, home)
	f.Add(trust.EncodeCertificates(a.Certificate, a.Certificate))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	rules := trust.Rules{Cluster: home, Generation: 1, Roots: []*x509.Certificate{a.Certificate}, Now: noon()}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := trust.DecodeCertificates(text, 3)
		if err != nil {
			return
		}
		if len(list) == 0 || len(list) > 3 {
			t.Fatalf("%d certificates", len(list))
		}
		if i, err := rules.Verify(list); err == nil && i.Check() != nil {
			t.Fatalf("%+v was accepted", i)
		}
	})
}
