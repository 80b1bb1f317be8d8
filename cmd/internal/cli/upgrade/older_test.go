package upgrade

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
)

// A check that the peers do not know names their versions.
func TestACheckOfOlderPeers(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cluster/peers" {
			_, _ = w.Write([]byte(`{"peers":[{"name":"p1","version":"v0.4.0"},{"name":"p2"}]}`))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"title":"Not Found","status":404,"code":"not_found","detail":"there is no such path; /openapi.json lists them all"}`))
	}))
	defer s.Close()
	api, err := client.New(client.Options{Addresses: []string{strings.TrimPrefix(s.URL, "http://")}, Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	if _, err := client.MembersOf(api).Upgrade(t.Context()); !unknownPath(err) {
		t.Fatalf("%v", err)
	}
	if err := olderPeers(t.Context(), api); err == nil || !strings.Contains(err.Error(), "p1 v0.4.0, p2 (unknown)") {
		t.Error(err)
	}
}
