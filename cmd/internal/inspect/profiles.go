package inspect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/bundle"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/trust"
)

// mostProfile bounds a profile, in bytes.
const mostProfile = 16 << 20

// profiles returns the profiles of the peer of this machine, which it shows root by its socket.
func (m *member) profiles() (list []bundle.Part) {
	for _, v := range []struct {
		file, path, what string
		raw              bool
	}{
		{"goroutines.txt", "goroutine?debug=1", "what the goroutines of the peer do", false},
		{"heap.txt", "heap?debug=1", "what the memory of the peer is used for; go tool pprof reads it", false},
		{"mutex.pprof", "mutex?seconds=2", "locks that the peer waited for in two seconds, for go tool pprof", true},
		{"cpu.pprof", "profile?seconds=3", "what the peer computed in three seconds, for go tool pprof", true},
	} {
		list = append(list, bundle.Part{Name: "profiles/" + v.file, What: v.what, Raw: v.raw, Collect: func(ctx context.Context) (string, error) {
			return m.profile(ctx, v.path)
		}})
	}
	return list
}

// profile asks the peer for a profile.
func (m *member) profile(ctx context.Context, path string) (_ string, err error) {
	by := &http.Transport{DialContext: cli.DialSocket(filepath.Join(m.data, trust.LocalSocket))}
	defer by.CloseIdleConnections()
	to, err := endpoint.URL("localhost:1", "/debug/pprof/"+path)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return "", err
	}
	answer, err := by.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostProfile))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	return string(body), err
}
