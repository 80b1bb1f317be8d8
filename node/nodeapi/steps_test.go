package nodeapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/tunnel"
)

// Dial returns a server of steps that answers one line; job 8 has a broken one.
func (s *shelf) Dial(_ context.Context, r model.RankKey) (net.Conn, error) {
	switch r {
	case model.RankKey{Job: 7, N: 1}:
	case model.RankKey{Job: 8, N: 1}:
		return nil, errors.New("it is broken")
	default:
		return nil, fs.ErrNotExist
	}
	one, other := net.Pipe()
	go s.tunnels.Serve(other, func(c net.Conn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "got "+line)
		_ = c.Close()
	})
	return one, nil
}

func TestServeSteps(t *testing.T) {
	_, base := serve(t)
	const name = "&session=0123456789abcdef0123456789abcdef"
	to, err := url.Parse(base + PathSteps + "?job=7&attempt=1" + name)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := tunnel.Dial(t.Context(), http.DefaultTransport, to, nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	c := tunnel.NewStream(tunnel.Patience)
	resumed := make(chan struct{})
	go c.Keep(first, func() (net.Conn, error) {
		defer close(resumed)
		again := *to
		again.RawQuery += "&resume=true"
		conn, _, err := tunnel.Dial(context.WithoutCancel(t.Context()), http.DefaultTransport, &again, nil, patience)
		return conn, err
	}, func(error) bool { return true })
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "a "); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // the peer ends
	<-resumed
	if _, err := io.WriteString(c, "line\n"); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(c); err != nil || string(all) != "got a line\n" {
		t.Errorf("%q, %v", all, err)
	}
	for query, status := range map[string]int{
		"job=9&attempt=1" + name: http.StatusNotFound, "job=8&attempt=1" + name: http.StatusInternalServerError,
		"job=7" + name: http.StatusUnprocessableEntity, "job=7&attempt=1&follow=true" + name: http.StatusUnprocessableEntity, "job=x&attempt=1" + name: http.StatusUnprocessableEntity,
		"job=7&attempt=1": http.StatusUnprocessableEntity, "job=7&attempt=1&session=1": http.StatusUnprocessableEntity,
		"job=7&attempt=1&resume=true&session=ffffffffffffffffffffffffffffffff": http.StatusGone, "job=9&attempt=1&resume=true" + name: http.StatusNotFound,
	} {
		to.RawQuery = query
		conn, answer, err := tunnel.Dial(t.Context(), http.DefaultTransport, to, nil, patience)
		if err == nil {
			_ = conn.Close()
		}
		if answer == nil || answer.StatusCode != status {
			t.Errorf("%s: %v, %v", query, answer, err)
		}
	}
	if code, body := get(t, base+PathSteps+"?job=7&attempt=1&session=00000000000000000000000000000000"); code != http.StatusUnprocessableEntity || !strings.Contains(body, tunnel.Protocol) {
		t.Errorf("a plain request: %d %s", code, body)
	}
}
