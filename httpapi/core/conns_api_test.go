package core_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
)

// flooded is a site that allows few connections, and says where it listens.
func flooded(t *testing.T, most, ofEach int) (*apitest.Site, string) {
	t.Helper()
	s := apitest.New(t)
	s.API.Life().Conns.Most, s.API.Life().Conns.OfEach = most, ofEach
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.API.Serve(l) }()
	t.Cleanup(func() {
		if err := s.API.Shutdown(t.Context()); err != nil {
			t.Log(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// asks sends a whole request and reads its answer.
func asks(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("answered %d", answer.StatusCode)
	}
}

// However many connections an address opens and says nothing on, or half a header, it
// holds no more than its part, and requests are answered, from there and from elsewhere.
func TestAFloodOfConnections(t *testing.T) {
	s, at := flooded(t, 40, 20)
	for i := range 200 {
		conn := dialFrom(t, "127.0.0.2", at)
		if i%2 == 0 {
			if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nX-Slow: "); err != nil {
				t.Log(err) // it was one too many already
			}
		}
		if i%20 == 0 {
			asks(t, dialFrom(t, "127.0.0.1", at))
			asks(t, dialFrom(t, "127.0.0.2", at))
		}
		if n := s.API.Life().Conns.Open(); n > 40 {
			t.Fatalf("%d connections are open", n)
		}
	}
	if n := s.API.Life().Conns.Addresses(); n > 2 {
		t.Errorf("%d addresses are kept", n)
	}
}

// The same from many addresses, none of which is above its part.
func TestAFloodFromManyAddresses(t *testing.T) {
	s, at := flooded(t, 30, 20)
	for i := range 100 {
		dialFrom(t, net.IPv4(127, 0, 1, byte(1+i)).String(), at)
		if i%10 == 0 {
			asks(t, dialFrom(t, "127.0.0.1", at))
		}
		if n := s.API.Life().Conns.Open(); n > 30 {
			t.Fatalf("%d connections are open", n)
		}
	}
}
