package core_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// One who opens as many streams and long polls as possible keeps no one else from anything.
func TestAShareOfOpenRequests(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.API.Open().Each = 3
	for _, path := range []string{"/events", "/events?types=failed", "/queue?wait=1m&index=999999999"} {
		s.Open(path, apitest.Ann)
	}
	s.Settled(3)
	r := s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...)
	r.Problem(http.StatusTooManyRequests, wire.CodeOverloaded)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Bob)...).Into(new(wire.Queue))
	s.Do(http.MethodPut, "/users/ann", `{"role":"viewer"}`, apitest.As(apitest.Adam)...).Into(new(wire.User))
	if got := s.Do(http.MethodPost, "/agent/silence", "\xa0", apitest.As(apitest.AgentOf2)...); got.Status != http.StatusOK {
		t.Errorf("the agent is answered %d %s", got.Status, got.Body)
	}
	s.Do(http.MethodDelete, "/users/ann", "", apitest.As(apitest.Adam)...).Into(new(wire.Gone)) // which ends them all
	for s.API.Held() > 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("they go on")
		case <-time.After(time.Millisecond):
		}
	}
}

// A client that is refused and keeps its body to itself does not keep its connection, and
// so no place of others.
func TestARefusedBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s, at := flooded(t, 40, 20)
	s.With(apitest.Guard)
	conn := dialFrom(t, "127.0.0.2", at)
	if _, err := io.WriteString(conn, "POST /queue/submit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil { // it returns once the peer has closed the connection
		t.Log(err)
	}
}

// All clients of a trusted proxy have its address, which has no bound of its own then.
func TestConnectionsOfAProxy(t *testing.T) {
	t.Parallel()
	s, at := flooded(t, 40, 2)
	proxies, _ := auth.ParseProxies([]string{"127.0.0.3"})
	s.API.TakeOver(core.Terms{Proxies: proxies})
	for range 4 {
		asks(t, dialFrom(t, "127.0.0.3", at))
	}
	if n := s.API.Life().Conns.Open(); n != 4 {
		t.Errorf("%d connections are open", n)
	}
}
