package certs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The command follows a rotation to its end, names those that are missing on the way, and says that another has aborted it or that it
// may not look any more.
func TestWaitingForARotation(t *testing.T) {
	t.Parallel()
	begun := wire.Rotation{Rotation: "ca", Step: 1, Steps: 2, Revision: 4, Members: 2, Missing: 1, Behind: []wire.Member{{Role: "node", Name: "gpu1"}}}
	second, last, done, aborted := begun, begun, begun, begun
	second.Step, second.Revision, second.Missing = 2, 5, 0
	last.Rotation, last.Revision = "", 6
	done.Rotation, done.Revision, done.Missing = "", 6, 0
	aborted.Rotation, aborted.Revision, aborted.Missing = "", 5, 0
	for name, v := range map[string]struct {
		answers []wire.Rotation // none: the request is refused
		fails   string
		says    []string
	}{
		"to the end": {[]wire.Rotation{begun, second, last, done}, "", []string{"1 of 2 members know the next authority; waiting for node gpu1", "2 of 2 members use the next authority", "1 of 2 members have finished; waiting for node gpu1"}},
		"aborted":    {[]wire.Rotation{aborted}, "was aborted by another command", nil},
		"refused":    {nil, "cannot follow it any more", nil},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if len(v.answers) == 0 {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnauthorized)
				_ = json.NewEncoder(w).Encode(wire.Problem{Status: http.StatusUnauthorized, Code: wire.CodeUnauthenticated, Detail: "no"})
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v.answers[min(asked, len(v.answers)-1)])
			asked++
		}))
		api, err := client.New(client.Options{Addresses: []string{strings.TrimPrefix(server.URL, "http://")}})
		if err != nil {
			t.Fatal(err)
		}
		var progress strings.Builder
		first := begun
		got, err := wait(t.Context(), client.MembersOf(api), &first, io.MultiWriter(&progress))
		switch {
		case v.fails == "" && (err != nil || got.Revision != 6 || got.Missing != 0):
			t.Errorf("%s: %+v, %v", name, got, err)
		case v.fails != "" && (err == nil || !strings.Contains(err.Error(), v.fails)):
			t.Errorf("%s: %v", name, err)
		}
		for _, line := range v.says {
			if !strings.Contains(progress.String(), line) {
				t.Errorf("%s: %q is missing in\n%s", name, line, progress.String())
			}
		}
		api.Close()
		server.Close()
	}
}
