package trust_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/trust"
)

// memberPort is a listener of members; met receives what each caller has proven.
func memberPort(t *testing.T, c *trust.Credentials) (address string, met chan string) {
	t.Helper()
	n := trust.Members{Credentials: c}
	l, err := n.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	met = make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			name, err := n.Greet(ctx, conn)
			cancel()
			if err != nil {
				name = "refused: " + string(trust.FaultOf(err))
			}
			met <- name
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), met
}

// Members prove what they are on both sides of a connection, nodes as well, whose certificates are for clients and have no host names.
func TestMembersKnowEachOther(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for _, server := range []trust.Identity{peer("p1"), node("gpu1")} {
		at, met := memberPort(t, credentials(t, material(t, a, server)))
		for _, client := range []trust.Identity{peer("p2"), node("gpu2")} {
			n := trust.Members{Credentials: credentials(t, material(t, a, client))}
			conn, name, err := n.Dial(t.Context(), at)
			if err != nil {
				t.Errorf("%s dials %s: %v", client, server, err)
				continue
			}
			if want := string(server.Role) + "/" + server.Name; name != want {
				t.Errorf("%s dials %s, and finds %q", client, server, name)
			}
			if got, want := <-met, string(client.Role)+"/"+client.Name; got != want {
				t.Errorf("%s is met as %q", client, got)
			}
			_ = conn.Close()
		}
	}
}

// Whatever is no member is refused on both sides.
func TestMembersRefuse(t *testing.T) {
	t.Parallel()
	a := authority(t, home)
	for _, right := range []trust.Identity{peer("p1"), node("gpu1")} {
		at, met := memberPort(t, credentials(t, material(t, a, peer("p0"))))
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
		if err == nil {
			_, _ = said(conn, nil) // no TLS: nothing is proven
		}
		if got := <-met; !strings.HasPrefix(got, "refused") {
			t.Errorf("plain text is met as %q", got)
		}
		for what, w := range wrongFor(t, a, right) {
			if w.fault == trust.FaultRole {
				continue // both roles are members
			}
			if _, err := said(trust.Dial(t.Context(), nil, at, anyServer(w.Material))); err == nil {
				t.Errorf("%s: %s is answered", right, what)
			}
			if got := <-met; got != "refused: "+string(w.fault) {
				t.Errorf("%s: %s is met as %q, want the fault %s", right, what, got, w.fault)
			}
			client := trust.Members{Credentials: credentials(t, material(t, a, peer("p2")))}
			if _, _, err := client.Dial(t.Context(), serverWith(t, w.Material, a)); trust.FaultOf(err) != w.fault {
				t.Errorf("%s: %s serves: %v, want the fault %s", right, what, err, w.fault)
			}
		}
	}
}
