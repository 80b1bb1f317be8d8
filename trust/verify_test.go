package trust_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// anyUsage is for both sides of a connection.
func anyUsage() []x509.ExtKeyUsage {
	return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// refusal is a certificate that is refused, and why.
type refusal struct {
	*trust.Material
	fault trust.Fault
}

// wrong are certificates that a port of peers of the cluster home refuses, at noon, and why.
func wrong(t testing.TB, a *trust.Authority) map[string]refusal {
	t.Helper()
	return wrongFor(t, a, peer("p1"))
}

// wrongFor are certificates that are refused where that of a member is expected.
func wrongFor(t testing.TB, a *trust.Authority, right trust.Identity) map[string]refusal {
	t.Helper()
	other := authority(t, home)
	foreign := authority(t, trust.NewCluster())
	good := material(t, a, right)
	named := right.String()
	of := func(change func(*trust.Identity)) *trust.Material {
		i := right
		change(&i)
		if i.Cluster != home {
			return material(t, foreign, i)
		}
		return material(t, a, i)
	}
	otherRole := map[trust.Role]trust.Role{trust.RolePeer: trust.RoleNode, trust.RoleNode: trust.RolePeer}[right.Role]
	return map[string]refusal{
		"self-signed":        {(&forged{uris: []string{named}, usage: anyUsage()}).material(t, good), trust.FaultUnsigned},
		"other authority":    {material(t, other, right), trust.FaultUnsigned},
		"other cluster":      {of(func(i *trust.Identity) { i.Cluster = foreign.Cluster() }), trust.FaultCluster},
		"newer generation":   {of(func(i *trust.Identity) { i.Generation = 2 }), trust.FaultGeneration},
		"other role":         {of(func(i *trust.Identity) { i.Role = otherRole }), trust.FaultRole},
		"expired":            {materialAt(t, a, right, noon().Add(-trust.Life-time.Minute)), trust.FaultExpired},
		"not yet valid":      {materialAt(t, a, right, noon().Add(trust.Backdate+time.Minute)), trust.FaultEarly},
		"no identity":        {(&forged{usage: anyUsage()}).material(t, good), trust.FaultForm},
		"identity elsewhere": {(&forged{uris: []string{"https://" + home + "/g1/" + string(right.Role) + "/" + right.Name}, usage: anyUsage()}).material(t, good), trust.FaultForm},
		"two identities":     {(&forged{uris: []string{named, peer("p2").String()}, usage: anyUsage()}).material(t, good), trust.FaultForm},
		"an authority":       {(&forged{uris: []string{named}, usage: anyUsage(), isCA: true}).material(t, good), trust.FaultForm},
		"no usage": {
			(&forged{uris: []string{named}, usage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}}).material(t, good),
			trust.FaultUsage,
		},
		"signed by a node": {
			(&forged{uris: []string{named}, usage: anyUsage(), issuer: good.Certificate, signer: good.Key}).material(t, good),
			trust.FaultUnsigned,
		},
	}
}

func TestCertificatesThatAreRefused(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for _, server := range []bool{true, false} {
		rules := trust.Rules{
			Cluster: home, Generation: 1, Role: trust.RolePeer, Roots: []*x509.Certificate{a.Certificate}, Server: server,
			Now: noon(),
		}
		for name, v := range wrong(t, a) {
			_, err := rules.Verify([]*x509.Certificate{v.Certificate})
			if trust.FaultOf(err) != v.fault {
				t.Errorf("%s: fault %q, want %q: %v", name, trust.FaultOf(err), v.fault, err)
			} else if text := err.Error(); strings.Contains(text, "\n") {
				t.Errorf("%s: more than one line: %s", name, text)
			}
		}
		if _, err := rules.Verify(nil); trust.FaultOf(err) != trust.FaultNone {
			t.Errorf("none: %v", err)
		}
	}
}

func TestRulesOfOneSide(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	generation := func(i trust.Identity, g uint64) trust.Identity { i.Generation = g; return i }
	for name, v := range map[string]struct {
		holder trust.Identity
		change func(*trust.Rules)
		fault  trust.Fault
	}{
		"right":                   {peer("p1"), func(*trust.Rules) {}, ""},
		"any role":                {node("gpu1"), func(r *trust.Rules) { r.Role = "" }, ""},
		"the name":                {peer("p1"), func(r *trust.Rules) { r.Name = "p1" }, ""},
		"another name":            {peer("p1"), func(r *trust.Rules) { r.Name = "p2" }, trust.FaultName},
		"old peer":                {peer("p1"), func(r *trust.Rules) { r.Generation = 2 }, trust.FaultGeneration},
		"old peer, for a node":    {peer("p1"), func(r *trust.Rules) { r.Generation, r.Follow = 2, true }, trust.FaultGeneration},
		"newer peer, for a node":  {generation(peer("p1"), 2), func(r *trust.Rules) { r.Follow = true }, ""},
		"old node":                {node("gpu1"), func(r *trust.Rules) { r.Generation, r.Role = 2, trust.RoleNode }, ""},
		"newer node":              {generation(node("gpu1"), 2), func(r *trust.Rules) { r.Role = trust.RoleNode }, trust.FaultGeneration},
		"newer node, for a node":  {generation(node("gpu1"), 2), func(r *trust.Rules) { r.Role, r.Follow = "", true }, trust.FaultGeneration},
		"no authority":            {peer("p1"), func(r *trust.Rules) { r.Roots = nil }, trust.FaultUnsigned},
		"an hour early":           {peer("p1"), func(r *trust.Rules) { r.Now = noon().Add(-trust.Backdate) }, ""},
		"earlier":                 {peer("p1"), func(r *trust.Rules) { r.Now = noon().Add(-trust.Backdate - time.Second) }, trust.FaultEarly},
		"its last second":         {peer("p1"), func(r *trust.Rules) { r.Now = noon().Add(trust.Life) }, ""},
		"a second later":          {peer("p1"), func(r *trust.Rules) { r.Now = noon().Add(trust.Life + time.Second) }, trust.FaultExpired},
		"1970":                    {peer("p1"), func(r *trust.Rules) { r.Now = time.Unix(0, 0) }, trust.FaultEarly},
		"revoked":                 {peer("p1"), func(r *trust.Rules) { r.Revoked = func(trust.Identity, time.Time) bool { return true } }, trust.FaultRevoked},
		"another one is revoked":  {peer("p1"), func(r *trust.Rules) { r.Revoked = func(i trust.Identity, _ time.Time) bool { return i.Name == "p2" } }, ""},
		"an odd but correct name": {peer("a b/ü%2F?#"), func(*trust.Rules) {}, ""},
	} {
		rules := trust.Rules{
			Cluster: home, Generation: 1, Role: trust.RolePeer, Roots: []*x509.Certificate{a.Certificate}, Server: true,
			Now: noon(),
		}
		v.change(&rules)
		got, err := rules.Verify([]*x509.Certificate{material(t, a, v.holder).Certificate})
		if trust.FaultOf(err) != v.fault || err == nil && got != v.holder {
			t.Errorf("%s: %+v, fault %q, want %q: %v", name, got, trust.FaultOf(err), v.fault, err)
		}
	}
}

// An authority issues for its own cluster only, no certificate outlives the authority, and names that are none are
// refused.
func TestIssue(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Issue(trust.Terms{Identity: node("gpu1"), Key: key.Public(), Now: noon(), Names: []string{"berth.example.org"}}); err == nil {
		t.Error("the certificate of a node has the name of a host")
	}
	late, err := a.Issue(trust.Terms{Identity: peer("p1"), Key: key.Public(), Now: a.Certificate.NotAfter.Add(-time.Hour)})
	if err != nil || !late.NotAfter.Equal(a.Certificate.NotAfter) {
		t.Errorf("%v, %v", late, err)
	}
	for name, change := range map[string]func(*trust.Identity){
		"other cluster": func(i *trust.Identity) { i.Cluster = trust.NewCluster() },
		"upper case":    func(i *trust.Identity) { i.Cluster = strings.ToUpper(home) },
		"short":         func(i *trust.Identity) { i.Cluster = home[2:] },
		"generation 0":  func(i *trust.Identity) { i.Generation = 0 },
		"no role":       func(i *trust.Identity) { i.Role = "" },
		"other role":    func(i *trust.Identity) { i.Role = "admin" },
		"no name":       func(i *trust.Identity) { i.Name = "" },
		"a line":        func(i *trust.Identity) { i.Name = "a\nb" },
		"a blank":       func(i *trust.Identity) { i.Name = " a" },
		"up":            func(i *trust.Identity) { i.Name = ".." },
		"too long":      func(i *trust.Identity) { i.Name = strings.Repeat("x", 129) },
		"no text":       func(i *trust.Identity) { i.Name = "\xff" },
	} {
		i := peer("p1")
		change(&i)
		if _, err := a.Issue(trust.Terms{Identity: i, Key: key.Public(), Now: noon()}); err == nil {
			t.Errorf("%s: a certificate was issued", name)
		}
	}
	if _, err := trust.NewAuthority("x", noon()); err == nil {
		t.Error("an authority for a cluster without an id")
	}
	if _, err := trust.OpenAuthority(a.Certificate, key); err == nil {
		t.Error("a foreign key opens the authority")
	}
}

// No program that knows the authority takes the machine of a node for a server, whatever name it asks for, while peers accept the
// node on both sides of a connection.
func TestTheCertificateOfANodeIsNoServers(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for _, i := range []trust.Identity{node("gpu1.example.org"), node(strings.Repeat("long", 30)), node("10.0.0.7")} {
		leaf := material(t, a, i).Certificate
		pool := x509.NewCertPool()
		pool.AddCert(a.Certificate)
		if _, err := leaf.Verify(x509.VerifyOptions{
			Roots: pool, CurrentTime: noon(),
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}); err == nil {
			t.Errorf("%s: accepted as that of a server", i.Name)
		}
		for _, host := range []string{"gpu1.example.org", "localhost", "10.0.0.7", "node", trust.ServerName, leaf.Subject.CommonName} {
			if leaf.VerifyHostname(host) == nil {
				t.Errorf("%s: good for the host %s", i.Name, host)
			}
		}
		if name := leaf.Subject.CommonName; !strings.Contains(name, " ") {
			t.Errorf("%s: %q could be the name of a host, and some programs compare it with one", i.Name, name)
		}
		for _, server := range []bool{true, false} {
			rules := trust.Rules{
				Cluster: home, Generation: 1, Role: trust.RoleNode, Roots: []*x509.Certificate{a.Certificate}, Server: server,
				Now: noon(),
			}
			if _, err := rules.Verify([]*x509.Certificate{leaf}); err != nil {
				t.Errorf("%s, as the server %v: %v", i.Name, server, err)
			}
		}
	}
}
