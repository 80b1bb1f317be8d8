package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"net/url"
	"strings"
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
		"berth://" + home + "/g99999999999999999999/peer/p1", "berth://" + home + "/g18446744073709551615/peer/p1", "berth://" + home + "/g1000001/peer/p1", "berth://" + home + "/g1/peer/%70%31", "berth://" + home + "/g1/peer/..",
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

func TestJoinTokens(t *testing.T) {
	t.Parallel()
	pin := trust.PinOf(authority(t, home).Certificate)
	token := trust.NewToken(trust.RoleNode, pin)
	again, err := trust.ParseToken(" " + token.String() + "\n")
	if err != nil || again != token || again.Hash() != token.Hash() {
		t.Fatalf("%v, %v", again, err)
	}
	if other := trust.NewToken(trust.RoleNode, pin); other.Hash() == token.Hash() {
		t.Error("another token matches")
	}
	asPeer := token
	if asPeer.Role = trust.RolePeer; asPeer.Hash() == token.Hash() {
		t.Error("the role of a token can be changed")
	}
	text := token.String()
	for name, s := range map[string]string{
		"empty": "", "cut off": text[:len(text)-1], "longer": text + "0", "without its start": text[1:], "in capitals": strings.ToUpper(text), "two": text + " " + text,
		"another role": strings.Replace(text, "-node-", "-admin-", 1), "an API token": "berth_0123456789",
		"a secret cut off": strings.Replace(text, token.Secret, token.Secret[1:], 1), "a long one": strings.Repeat(text, 10),
		"other digits": strings.Replace(text, token.Secret, strings.Repeat("z", 32), 1),
	} {
		if _, err := trust.ParseToken(s); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), token.Secret) || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: the error contains the secret: %v", name, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add(trust.NewToken(trust.RolePeer, trust.Pin{}).String())
	f.Add("berth-join-peer---")
	f.Fuzz(func(t *testing.T, s string) {
		if token, err := trust.ParseToken(s); err == nil && token.String() != strings.TrimSpace(s) {
			t.Fatalf("%q was read as %q", s, token)
		}
	})
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
