package core_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// TestProfilesAreForRootOnly checks that profiles are served on the socket of this machine, and on no other connection whatever the token.
func TestProfilesAreForRootOnly(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	path := filepath.Join(t.TempDir(), trust.LocalSocket)
	l, err := trust.ListenLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.API.Serve(l) }()
	t.Cleanup(func() { _ = l.Close() })
	local := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	for name, has := range map[string]string{
		"goroutine?debug=1": "goroutine profile:", "heap?debug=1": "heap profile:", "mutex?debug=1": "--- mutex:", "profile?seconds=1": "\x1f\x8b",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/debug/pprof/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := local.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if _ = got.Body.Close(); err != nil || got.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), has) {
			t.Errorf("%s: %d %.60q, %v", name, got.StatusCode, body, err)
		}
		s.Do(http.MethodGet, "/debug/pprof/"+name, "", apitest.As(apitest.Adam)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	}
}
