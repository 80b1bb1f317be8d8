package trust_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// The ports of peers and of agents refuse every certificate that is not that of a peer of this cluster and generation, give the
// reason, and go on. An agent follows a peer of a newer generation.
func TestPortsRefuse(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for _, i := range []trust.Identity{peer("p0"), node("gpu1")} {
		own := credentials(t, material(t, a, i))
		p := peerPort(t, own)
		raw := func(config *tls.Config) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			return said(trust.Dial(ctx, nil, p.address, config))
		}
		refuses := func(name string, config *tls.Config, fault trust.Fault) {
			t.Helper()
			if holder, err := raw(config); err == nil {
				t.Errorf("%s: %s: accepted as %q", i, name, holder)
			}
			if err := <-p.refused; trust.FaultOf(err) != fault || err == nil {
				t.Errorf("%s: %s: refused for %v, want %s", i, name, err, fault)
			}
		}
		for name, v := range wrong(t, a) {
			if i.Role == trust.RolePeer || v.fault != trust.FaultGeneration {
				refuses(name, anyServer(v.Material), v.fault)
			}
		}
		refuses("no certificate", anyServer(nil), trust.FaultNone)
		good := material(t, a, peer("p2"))
		old := anyServer(good)
		old.MaxVersion = tls.VersionTLS12
		refuses("TLS 1.2", old, "")
		plain, err := net.Dial("tcp", p.address)
		if holder, err := said(plain, err); err == nil {
			t.Errorf("%s: plain text: accepted as %q", i, holder)
		}
		if holder, err := raw(credentials(t, good).Client()); i.Role == trust.RolePeer && (holder != "p2" || err != nil) {
			t.Errorf("%s: the right one afterwards: %q, %v", i, holder, err)
		}
		if holder, err := raw(credentials(t, good).NodeClient()); i.Role == trust.RoleNode && (holder != "p2" || err != nil) {
			t.Errorf("%s: the right one afterwards: %q, %v", i, holder, err)
		}
	}
}

// Whatever dials refuses the same certificates of servers, in one line with the address.
func TestDialersRefuse(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for name, v := range map[string]struct {
		config  *tls.Config
		right   trust.Identity
		follows bool // a newer generation is accepted
	}{
		"a peer at a peer":    {credentials(t, material(t, a, peer("p0"))).Client(), peer("p1"), false},
		"a peer at an agent":  {credentials(t, material(t, a, peer("p0"))).NodeClient(), node("gpu1"), false},
		"an agent at a peer":  {credentials(t, material(t, a, node("gpu1"))).Client(), peer("p1"), true},
		"a user with a login": {trust.Visitor(trust.Known{Authorities: []*x509.Certificate{a.Certificate}}, noon, nil), peer("p1"), true},
		"a user with a hash":  {trust.Pinned(trust.PinOf(a.Certificate), noon, func(*x509.Certificate) error { return nil }), peer("p1"), true},
	} {
		for what, w := range wrongFor(t, a, v.right) {
			if v.follows && w.fault == trust.FaultGeneration {
				continue
			}
			err := dialed(t, w.Material, a, v.config)
			if trust.FaultOf(err) != w.fault || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "127.0.0.1:") {
				t.Errorf("%s: %s: %v, want %s", name, what, err, w.fault)
			}
		}
		if err := dialed(t, material(t, a, v.right), a, v.config); err != nil {
			t.Errorf("%s: the right one: %v", name, err)
		}
	}
}

// serverWith returns the address of a server with a certificate, which shows the authority, too.
func serverWith(t *testing.T, m *trust.Material, a *trust.Authority) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{m.Certificate.Raw, a.Certificate.Raw}, PrivateKey: m.Key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// dialed dials a server with a certificate.
func dialed(t *testing.T, m *trust.Material, a *trust.Authority, config *tls.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	conn, err := trust.Dial(ctx, nil, serverWith(t, m, a), config)
	if err != nil {
		return err
	}
	return conn.Close()
}

// A machine whose clock is wrong by less than an hour takes part at each port. One whose clock is off by more is refused, or refuses, and
// the reason names the certificate's time and the clock's.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for skew, fault := range map[time.Duration]trust.Fault{
		0: "", 10 * time.Second: "", -10 * time.Second: "", 2 * time.Minute: "", -2 * time.Minute: "", -trust.Backdate: "",
		-2 * time.Hour: trust.FaultEarly, -365 * 24 * time.Hour: trust.FaultEarly, 365 * 24 * time.Hour: trust.FaultExpired,
		time.Unix(0, 0).Sub(noon()): trust.FaultEarly,
	} {
		skewed := func() time.Time { return noon().Add(skew) }
		for _, port := range []trust.Identity{peer("p1"), node("gpu1")} {
			for _, wrong := range []string{"server", "client"} {
				clocks := map[string]func() time.Time{"server": noon, "client": noon}
				clocks[wrong] = skewed
				server, err := trust.NewCredentials(material(t, a, port), clocks["server"], nil)
				client, other := trust.NewCredentials(material(t, a, peer("p2")), clocks["client"], nil)
				if err := errors.Join(err, other); err != nil {
					t.Fatal(err)
				}
				p := peerPort(t, server)
				config := client.Client()
				if port.Role == trust.RoleNode {
					config = client.NodeClient()
				}
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				holder, err := said(trust.Dial(ctx, nil, p.address, config))
				cancel()
				where := fmt.Sprintf("%s at %s, the %s is off by %s", "p2", port, wrong, skew)
				if fault == "" {
					if err != nil || holder != "p2" {
						t.Errorf("%s: %q, %v", where, holder, err)
					}
					continue
				}
				reason := err
				if wrong == "server" {
					reason = <-p.refused
				}
				if err == nil || trust.FaultOf(reason) != fault || !strings.Contains(reason.Error(), "this machine's clock shows "+skewed().UTC().Format(time.DateTime)) {
					t.Errorf("%s: %v, want %s", where, reason, fault)
				}
			}
		}
	}
}

// The API refuses members whose certificates do not count by the clock of the peer, and users refuse a peer by theirs.
func TestClocksAtTheAPI(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	roots := []*x509.Certificate{a.Certificate}
	for skew, fault := range map[time.Duration]trust.Fault{
		0: "", -2 * time.Minute: "", -2 * time.Hour: trust.FaultEarly,
		365 * 24 * time.Hour: trust.FaultExpired,
	} {
		skewed := func() time.Time { return noon().Add(skew) }
		right := web(t, credentials(t, material(t, a, peer("p1"))), false)
		if _, err := get(t, "https://"+right, trust.Visitor(trust.Known{Authorities: roots}, skewed, nil)); trust.FaultOf(err) != fault {
			t.Errorf("a user whose clock is off by %s: %v", skew, err)
		}
		wrong, err := trust.NewCredentials(material(t, a, peer("p1")), skewed, nil)
		if err != nil {
			t.Fatal(err)
		}
		agent := credentials(t, material(t, a, node("gpu1")))
		if got, err := get(t, "https://"+web(t, wrong, false), agent.Client()); (err == nil) != (fault == "") {
			t.Errorf("an agent at a peer whose clock is off by %s: %q, %v", skew, got, err)
		}
	}
}
