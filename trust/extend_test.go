package trust_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// A peer with the key of the authority renews its expired certificate at its start, so that a cluster that was off for long starts again.
// What was revoked stays revoked, and no other member does so.
func TestAnExpiredPeerExtendsItsCertificate(t *testing.T) {
	t.Parallel()
	start := noon()
	first := must(trust.Found(trust.Member{Name: "p1", Names: []string{"head.example.org"}}, start))
	later := start.Add(100 * 24 * time.Hour)
	save := func(m *trust.Material) string {
		dir := filepath.Join(t.TempDir(), "trust")
		if err := trust.Save(dir, m); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := save(first)
	if extended, err := trust.Extend(dir, start.Add(time.Hour)); extended || err != nil {
		t.Errorf("a certificate that counts: %t, %v", extended, err)
	}
	if _, err := trust.Open(dir, trust.RolePeer, "p1", func() time.Time { return later }, nil); err == nil {
		t.Fatal("the certificate has not expired")
	}
	if extended, err := trust.Extend(dir, later); !extended || err != nil {
		t.Fatalf("%t, %v", extended, err)
	}
	c, err := trust.Open(dir, trust.RolePeer, "p1", func() time.Time { return later }, nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf := c.Leaf()
	if !trust.IssuedAt(leaf).Equal(start) || leaf.NotAfter.Sub(later) != trust.Life ||
		!strings.Contains(strings.Join(trust.NamesOf(leaf), ","), "head.example.org") {
		t.Errorf("issued %s, until %s, of %q", trust.IssuedAt(leaf), leaf.NotAfter, trust.NamesOf(leaf))
	}
	if later.Before(trust.DueAt(leaf)) {
		t.Error("the peer does not get another certificate as soon as it runs")
	}
	revoked := start.Add(24 * time.Hour)
	other, err := trust.NewCredentials(must(first.Certify(trust.Member{Role: trust.RolePeer, Name: "p2"}, later)),
		func() time.Time { return later },
		func(i trust.Identity, issued time.Time) bool { return i.Name == "p1" && issued.Before(revoked) })
	if err != nil {
		t.Fatal(err)
	}
	if got := trust.FaultOf(other.Judge(leaf)); got != trust.FaultRevoked {
		t.Errorf("a peer that was revoked meanwhile: %q", got)
	}
	node := save(must(first.Certify(trust.Member{Role: trust.RoleNode, Name: "gpu1"}, start)))
	keyless := *first
	keyless.Keys = nil
	for name, at := range map[string]string{"a node": node, "a peer without the key": save(&keyless)} {
		if extended, err := trust.Extend(at, later); extended || err != nil {
			t.Errorf("%s: %t, %v", name, extended, err)
		}
	}
	if extended, err := trust.Extend(save(first), start.Add(trust.AuthorityLife+time.Hour)); extended || err == nil ||
		!strings.Contains(err.Error(), "that of the authority") {
		t.Errorf("after the end of the authority: %t, %v", extended, err)
	}
}
