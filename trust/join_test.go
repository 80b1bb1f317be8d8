package trust_test

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// A machine that joins recognizes the cluster by the pin before it sends anything.
func TestPinned(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	at := web(t, credentials(t, material(t, a, peer("p0"))), false)
	var found *x509.Certificate
	note := func(c *x509.Certificate) error { found = c; return nil }
	if got, err := get(t, "https://"+at, trust.Pinned(trust.PinOf(a.Certificate), noon, note)); got != "secure" || err != nil || !found.Equal(a.Certificate) {
		t.Errorf("%q, %v", got, err)
	}
	found = nil
	if _, err := get(t, "https://"+at,
		trust.Pinned(trust.PinOf(authority(t, home).Certificate), noon, note)); trust.FaultOf(err) != trust.FaultCluster || found != nil {
		t.Errorf("another cluster: %v", err)
	}
	full := errors.New("of another cluster than this machine")
	if _, err := get(t, "https://"+at, trust.Pinned(trust.PinOf(a.Certificate), noon, func(*x509.Certificate) error { return full })); !errors.Is(err,
		full) {
		t.Errorf("a machine that does not want the cluster: %v", err)
	}
	// The pin alone is no proof: the certificate of the server must be signed by the pinned authority.
	thief := material(t, authority(t, home), peer("p0"))
	thief.Authorities = []*x509.Certificate{a.Certificate}
	if _, err := get(t, "https://"+web(t, credentials(t, thief), false),
		trust.Pinned(trust.PinOf(a.Certificate), noon, note)); trust.FaultOf(err) != trust.FaultUnsigned {
		t.Errorf("a server that shows the authority of another cluster: %v", err)
	}
}

// A connection may outlive a revocation and the certificate of the other side.
func TestConnectionsOutliveNoRight(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	var revoked atomic.Bool
	var clock atomic.Int64
	own := material(t, a, peer("p0"))
	c, err := trust.NewCredentials(own, func() time.Time { return noon().Add(time.Duration(clock.Load())) },
		func(i trust.Identity, _ time.Time) bool { return revoked.Load() && i.Name == "gpu1" })
	if err != nil {
		t.Fatal(err)
	}
	at := web(t, c, false)
	transport := &http.Transport{TLSClientConfig: credentials(t, material(t, a, node("gpu1"))).Client()}
	defer transport.CloseIdleConnections()
	ask := func() string {
		t.Helper()
		r, err := (&http.Client{Transport: transport, Timeout: soon}).Get("https://" + at)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := ask(); got != "node gpu1" {
		t.Fatalf("answered %q", got)
	}
	revoked.Store(true)
	if got := ask(); got != "secure" {
		t.Errorf("revoked, and the answer on the same connection is %q", got)
	}
	revoked.Store(false)
	clock.Store(int64(trust.Life) + 1)
	if got := ask(); got != "node gpu1, outlived" {
		t.Errorf("expired, and the answer on the same connection is %q", got)
	}
}
