package trust_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// A peer that a recovery has left behind learns of that by the certificate of a peer or of a node of the later generation, which the
// authority of the cluster has signed, and by no other.
func TestAPeerLearnsThatItWasLeftBehind(t *testing.T) {
	t.Parallel()
	a, stranger := authority(t, home), authority(t, home) // another authority under the id of the cluster
	at := func(i trust.Identity, generation uint64) trust.Identity { i.Generation = generation; return i }
	laterPeer, laterNode, present := at(peer("p9"), 3), at(node("gpu1"), 3), node("gpu2")
	for name, v := range map[string]struct {
		own   trust.Identity
		other *trust.Credentials
		node  bool
		text  string
	}{
		"a peer of a later generation": {peer("p1"), credentials(t, material(t, a, laterPeer)), false, "generation 3, and this peer 1"},
		"a node that has followed":     {peer("p1"), credentials(t, material(t, a, laterNode)), true, "berth cluster recover --generation 4"},
		"a node that has not":          {peer("p1"), credentials(t, material(t, a, present)), true, ""},
		"an authority of the same id":  {peer("p1"), credentials(t, material(t, stranger, laterPeer)), false, ""},
		"a node that dials a peer":     {node("gpu3"), credentials(t, material(t, a, laterPeer)), false, ""},
		"a peer of that generation":    {at(peer("p8"), 3), credentials(t, material(t, a, laterPeer)), false, ""},
	} {
		at := noon()
		own := must(trust.NewCredentials(material(t, a, v.own), func() time.Time { return at }, nil))
		config := own.Client()
		if v.node {
			config = own.NodeClient()
		}
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		if conn, err := trust.Dial(ctx, nil, peerPort(t, v.other).address, config); err == nil {
			_ = conn.Close()
		}
		cancel()
		if got := own.Outlived(); got != "" {
			t.Errorf("%s, when a node was just heard: %q", name, got)
		}
		at = at.Add(trust.FollowAfter)
		if got := own.Outlived(); !strings.Contains(got, v.text) || (got == "") != (v.text == "") {
			t.Errorf("%s: %q, want %q", name, got, v.text)
		}
	}
}

// A certificate of a later generation stops no peer whose nodes renew their leases, and does not count for ever.
func TestAPeerWithItsNodesIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	at := noon()
	own := must(trust.NewCredentials(material(t, authority(t, home), peer("p1")), func() time.Time { return at }, nil))
	own.Outlive(2)
	for range 100 {
		at = at.Add(trust.FollowAfter / 3)
		own.Led()
		own.Outlive(2)
		if got := own.Outlived(); got != "" {
			t.Fatalf("while nodes renew: %q", got)
		}
	}
	at = at.Add(trust.FollowAfter)
	if got := own.Outlived(); !strings.Contains(got, "generation 2") || own.Later() != got {
		t.Errorf("without a node: %q", got)
	}
	own.Led()
	if got := own.Outlived(); got != "" {
		t.Errorf("a node is back: %q", got)
	}
	own.Outlive(9)
	at = at.Add(time.Hour)
	if got := own.Outlived(); got != "" {
		t.Errorf("an hour after the certificate was shown: %q", got)
	}
	own.Outlive(2)
	if got := own.Outlived(); !strings.Contains(got, "generation 2") {
		t.Errorf("another one is shown: %q", got)
	}
}

// A node that has followed a recovery gets a certificate of the later generation at once, and not again and again.
func TestANodeThatFollowsGetsAnotherCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster := must(trust.Found(trust.Member{Name: "p1"}, time.Now()))
		own := must(cluster.Certify(trust.Member{Role: trust.RoleNode, Name: "gpu1"}, time.Now()))
		own.Generation = 2 // as it is stored when the node follows
		dir := filepath.Join(t.TempDir(), "trust")
		if err := trust.Save(dir, own); err != nil {
			t.Fatal(err)
		}
		cluster.Generation = 2
		c, asked := must(trust.NewCredentials(own, time.Now, nil)), 0
		sign := func(_ context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
			asked++
			return cluster.SignFor(trust.Member{Role: trust.RoleNode, Name: "gpu1", Life: life}, request, time.Now())
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&trust.Renewal{Dir: dir, Credentials: c, Sign: sign, Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stop()
		<-done
		if i := c.Own(); i.Generation != 2 || asked != 1 {
			t.Errorf("generation %d after %d requests", i.Generation, asked)
		}
	})
}

// Why a certificate is refused is said of those only that an authority of the cluster has signed.
func TestJudge(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	later := noon().Add(100 * 24 * time.Hour)
	own, err := trust.NewCredentials(material(t, a, peer("p1")), func() time.Time { return later },
		func(i trust.Identity, _ time.Time) bool { return i.Name == "gone" })
	if err != nil {
		t.Fatal(err)
	}
	of := func(m *trust.Material) *x509.Certificate { return m.Certificate }
	for name, v := range map[string]struct {
		leaf *x509.Certificate
		want trust.Fault
	}{
		"counts":              {of(materialAt(t, a, node("gpu1"), later)), ""},
		"revoked":             {of(materialAt(t, a, peer("gone"), later)), trust.FaultRevoked},
		"expired":             {of(material(t, a, peer("p2"))), trust.FaultExpired},
		"made up, as revoked": {of(materialAt(t, authority(t, home), peer("gone"), later)), trust.FaultUnsigned},
		"of an authority":     {a.Certificate, trust.FaultForm},
	} {
		if got := trust.FaultOf(own.Judge(v.leaf)); got != v.want {
			t.Errorf("%s: %q, want %q", name, got, v.want)
		}
	}
}
