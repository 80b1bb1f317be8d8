package trust_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// port is a listener of the peer port that answers each connection with the name of the other side.
type port struct {
	address string
	refused chan error
}

func peerPort(t *testing.T, c *trust.Credentials) *port {
	t.Helper()
	n := trust.Network{Credentials: c}
	l, err := n.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &port{address: l.Addr().String(), refused: make(chan error, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				var first [1]byte
				if _, err := io.ReadFull(conn, first[:]); err != nil {
					p.refused <- err
					return
				}
				_, _ = io.WriteString(conn, n.Proven(conn)+"\n")
			}()
		}
	}()
	return p
}

// said returns what the port answers to a connection.
func said(conn net.Conn, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "Rxxxxxxx"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

// dialError returns the error of a member that connects to a port.
func dialError(t *testing.T, c *trust.Credentials, p *port) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	conn, err := trust.Dial(ctx, nil, p.address, c.Client())
	if err == nil {
		err = conn.Close()
	}
	return err
}

// anyServer is the configuration of a client that presents the certificate of a member, or none, to any server.
func anyServer(m *trust.Material) *tls.Config {
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the server's check of the client is what is tested
	if m != nil {
		config.Certificates = []tls.Certificate{{Certificate: [][]byte{m.Certificate.Raw}, PrivateKey: m.Key}}
	}
	return config
}

const soon = 10 * time.Second

func TestPeersKnowEachOther(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	one, two := credentials(t, material(t, a, peer("p1"))), credentials(t, material(t, a, peer("p2")))
	p := peerPort(t, one)
	n := trust.Network{Credentials: two}
	conn, err := n.Dial(p.address, soon)
	if err != nil {
		t.Fatal(err)
	}
	if other := n.Proven(conn); other != "p1" {
		t.Errorf("the server is %q", other)
	}
	if holder, err := said(conn, nil); holder != "p2" || err != nil {
		t.Errorf("the client is %q, %v", holder, err)
	}
}

// Certificates, authorities and revocations count from the next handshake on.
func TestCredentialsAreReplaced(t *testing.T) {
	t.Parallel()
	old, next := authority(t, home), authority(t, home)
	m := material(t, old, peer("p1"))
	var revoked time.Time // certificates that were issued before
	one, err := trust.NewCredentials(m, noon, func(_ trust.Identity, issued time.Time) bool { return issued.Before(revoked) })
	if err != nil {
		t.Fatal(err)
	}
	p := peerPort(t, one)
	try := func(m *trust.Material) error {
		_, err := said(trust.Network{Credentials: credentials(t, m)}.Dial(p.address, soon))
		return err
	}
	renewed := material(t, next, peer("p2"))
	renewed.Authorities = []*x509.Certificate{next.Certificate, old.Certificate}
	if try(renewed) == nil {
		t.Error("an authority that is not known yet")
	}
	both := *m
	both.Authorities = []*x509.Certificate{old.Certificate, next.Certificate}
	if err := one.Replace(&both); err != nil {
		t.Fatal(err)
	}
	if err := try(renewed); err != nil {
		t.Errorf("an authority that was added: %v", err)
	}
	revoked = noon().Add(time.Second)
	if try(renewed) == nil {
		t.Error("revoked, and accepted")
	}
}

// A node follows a peer of a higher generation, and refuses those of a lower one from then on. A peer does neither.
func TestANodeFollowsARecovery(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	later := peer("p1")
	later.Generation = 2
	before, after := peerPort(t, credentials(t, material(t, a, peer("p1")))), peerPort(t, credentials(t, material(t, a, later)))
	clock := &atomic.Int64{}
	agent := must(trust.NewCredentials(material(t, a, node("gpu1")), func() time.Time { return noon().Add(time.Duration(clock.Load())) }, nil))
	stored, full := uint64(0), true
	agent.OnGeneration(func(g uint64) error {
		if full {
			return errors.New("no space left on device")
		}
		stored = g
		return nil
	})
	dial := func(c *trust.Credentials, p *port) error { return dialError(t, c, p) }
	if err := dial(agent, before); err != nil {
		t.Fatal(err)
	}
	if err := dial(agent, after); trust.FaultOf(err) != trust.FaultGeneration || stored > 0 {
		t.Errorf("a certificate alone is believed: %v", err)
	}
	clock.Store(int64(trust.FollowAfter - time.Second))
	agent.Led()
	clock.Store(int64(2*trust.FollowAfter - 2*time.Second))
	if err := dial(agent, after); trust.FaultOf(err) != trust.FaultGeneration {
		t.Errorf("a recovery is believed while the cluster accepts the node: %v", err)
	}
	clock.Store(int64(2*trust.FollowAfter - time.Second))
	port := "https://" + web(t, agent, false)
	if got, err := get(t, port, credentials(t, material(t, a, peer("p1"))).NodeClient()); err != nil || got != "peer p1" {
		t.Errorf("a peer of the present generation: %q, %v", got, err)
	}
	if _, err := get(t, port, credentials(t, material(t, a, later)).NodeClient()); err == nil {
		t.Error("a peer of the next generation is accepted that the node has not connected to")
	}
	if next, former := dial(agent, after), dial(agent, before); next == nil || former != nil {
		t.Errorf("a generation that cannot be stored: the next peer %v, the former %v", next, former)
	}
	open, err := agent.Dial(t.Context(), nil, web(t, credentials(t, material(t, a, peer("p1"))), false)) // whose port takes nodes
	if err != nil {
		t.Fatal(err)
	}
	full = false
	if err := dial(agent, after); err != nil || stored != 2 {
		t.Errorf("%v; generation %d was stored", err, stored)
	}
	_ = open.SetReadDeadline(time.Now().Add(soon))
	if _, err := open.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection to a peer that was left behind stays open: %v", err)
	}
	if err := dial(agent, before); trust.FaultOf(err) != trust.FaultGeneration {
		t.Errorf("a peer that was left behind: %v", err)
	}
	if err := dial(credentials(t, material(t, a, peer("p2"))), after); trust.FaultOf(err) != trust.FaultGeneration {
		t.Errorf("a peer that was left behind dials: %v", err)
	}
}

// web is an API that answers with the identity of its caller.
func web(t *testing.T, c *trust.Credentials, plain bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	server := &http.Server{
		ReadHeaderTimeout: soon,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _ := r.Context().Value(key{}).(*trust.Conn)
			if i, ok := c.Still(conn); ok {
				_, _ = io.WriteString(w, string(i.Role)+" "+i.Name+map[bool]string{true: ", outlived"}[conn.Outlived(c.Now())])
			} else if conn.Secure() {
				_, _ = io.WriteString(w, "secure")
			} else {
				_, _ = io.WriteString(w, "plain")
			}
		}),
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		_ = server.Serve(&trust.Listener{Listener: l, Config: c.Server(trust.DemandMember), Plain: plain})
	}()
	return l.Addr().String()
}

func get(t *testing.T, url string, config *tls.Config) (string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport, Timeout: soon}).Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	return strings.TrimSpace(string(text)), err
}

func TestTheAPIKnowsMembers(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	own := credentials(t, material(t, a, peer("p0")))
	open, closed := web(t, own, true), web(t, own, false)
	agent := credentials(t, material(t, a, node("gpu1")))
	roots := []*x509.Certificate{a.Certificate}
	for name, v := range map[string]struct {
		url    string
		config *tls.Config
		want   string
	}{
		"a node":                 {"https://" + closed, agent.Client(), "node gpu1"},
		"a peer":                 {"https://" + closed, credentials(t, material(t, a, peer("p2"))).Client(), "peer p2"},
		"a visitor":              {"https://" + closed, trust.Visitor(trust.Known{Authorities: roots}, noon, nil), "secure"},
		"a visitor, mixed":       {"https://" + open, trust.Visitor(trust.Known{Authorities: roots}, noon, nil), "secure"},
		"plain text":             {"http://" + open, nil, "plain"},
		"plain text, not to use": {"http://" + closed, nil, "This port requires TLS: use https in place of http."},
	} {
		if got, err := get(t, v.url, v.config); got != v.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, v := range wrong(t, a) {
		if v.fault == trust.FaultRole {
			continue // nodes may use this port
		}
		config := anyServer(v.Material)
		if got, err := get(t, "https://"+closed, config); err == nil {
			t.Errorf("%s: answered %q", name, got)
		}
	}
	if _, err := get(t, "https://"+closed, trust.Visitor(trust.Known{Authorities: []*x509.Certificate{authority(t, home).Certificate}}, noon,
		nil)); trust.FaultOf(err) != trust.FaultUnsigned {
		t.Errorf("a visitor of another cluster: %v", err)
	}
	old := anyServer(nil)
	old.MaxVersion = tls.VersionTLS12
	if _, err := get(t, "https://"+closed, old); err == nil {
		t.Error("TLS 1.2 was accepted")
	}
}

// A user that has seen a recovery refuses the peers that it left behind.
func TestUsersFollowARecovery(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	later := peer("p1")
	later.Generation = 2
	before, after := web(t, credentials(t, material(t, a, peer("p2"))), false), web(t, credentials(t, material(t, a, later)), false)
	known := trust.Known{Authorities: []*x509.Certificate{a.Certificate}}
	for _, v := range []struct {
		at    string
		fault trust.Fault
		seen  uint64
	}{{before, "", 1}, {after, "", 2}, {after, "", 2}, {before, trust.FaultGeneration, 2}} {
		_, err := get(t, "https://"+v.at, trust.Visitor(known, noon, func(k trust.Known) { known = k }))
		if trust.FaultOf(err) != v.fault || known.Generation != v.seen {
			t.Errorf("%v; the user has seen generation %d, not %d", err, known.Generation, v.seen)
		}
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = conn.Close()
		}
	}()
	own := trust.Network{Credentials: credentials(t, material(t, authority(t, home), peer("p0")))}
	_, err = own.Dial(l.Addr().String(), soon)
	var handshake *trust.HandshakeError
	if !errors.As(err, &handshake) || handshake.Address != l.Addr().String() || !strings.Contains(err.Error(), "does not answer with TLS") {
		t.Errorf("%v", err)
	}
}

// A node believes one recovery at a time, so that no certificate leads it to a generation that no recovery will reach. It comes back
// by what an admin has put into its folder.
func TestGenerationsRiseByOne(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	clock := &atomic.Int64{}
	agent := must(trust.NewCredentials(material(t, a, node("gpu1")), func() time.Time { return noon().Add(time.Duration(clock.Load())) }, nil))
	dial := func(generation uint64) error {
		i := peer("p1")
		i.Generation = generation
		return dialError(t, agent, peerPort(t, credentials(t, material(t, a, i))))
	}
	pass := func() { clock.Add(int64(trust.FollowAfter)) }
	pass()
	for _, far := range []uint64{3, 1000, 1_000_000} {
		if err := dial(far); trust.FaultOf(err) != trust.FaultGeneration || !strings.Contains(err.Error(), "--renew") {
			t.Errorf("from 1 to %d: %v", far, err)
		}
	}
	if err := dial(2); err != nil {
		t.Error(err)
	}
	if err := dial(3); err == nil {
		t.Error("two recoveries at once")
	}
	pass()
	if err := dial(3); err != nil {
		t.Error(err)
	}
	if err := dial(1); trust.FaultOf(err) != trust.FaultGeneration || !strings.Contains(err.Error(), "--renew") {
		t.Errorf("the cluster that is really there: %v", err)
	}
	if err := agent.Replace(material(t, a, node("gpu1"))); err != nil || dial(1) == nil {
		t.Errorf("a renewal lowers the generation, %v", err)
	}
	if err := agent.Adopt(material(t, a, node("gpu1"))); err != nil || dial(1) != nil {
		t.Errorf("what an admin has put into the folder is not used: %v", err)
	}
}
