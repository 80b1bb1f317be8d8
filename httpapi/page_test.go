package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

var update = flag.Bool("update", false, "write page/openapi.json")

// The types of the page's source are made from the API's description, so that a change of the API shows where the page has to change.
func TestThePagesDescriptionIsCurrent(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "page", "openapi.json")
	var want bytes.Buffer
	if err := json.Indent(&want, apitest.New(t).Do(http.MethodGet, "/openapi.json", "").Body, "", " "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if *update {
		if err := os.WriteFile(name, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not the API's description (%v): run go test ./httpapi -run TestThePagesDescriptionIsCurrent -update, then make page", name, err)
	}
}

// The page is open to all, by any path below its root, and runs only what the peer serves.
func TestThePage(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	for _, path := range []string{"/ui/", "/ui/jobs/17", "/ui/a%2Fb"} {
		r := s.Do(http.MethodGet, path, "")
		if r.Status != http.StatusOK || !strings.Contains(string(r.Body), `<div id="app">`) || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s is answered %d %s %s", path, r.Status, r.Header, r.Body)
		}
		csp := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "require-trusted-types-for 'script'") || !strings.Contains(csp, "script-src 'self';") {
			t.Errorf("%s has the policy %s", path, csp)
		}
	}
	s.Do(http.MethodPost, "/ui/", "").Problem(http.StatusMethodNotAllowed, wire.CodeMethod)
	s.Do(http.MethodGet, "/", "", "Accept", "application/json").Problem(http.StatusNotFound, wire.CodeNotFound)
	for _, path := range []string{"/", "/ui"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", "text/html,*/*")
		w := httptest.NewRecorder()
		if s.API.ServeHTTP(w, r); w.Code != http.StatusFound || w.Header().Get("Location") != "/ui/" {
			t.Errorf("%s leads to %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
}

// The page that one peer has served goes on at another; pages of other sites cannot read or change anything.
func TestPagesOfOtherPeers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: "p1.example:1", APIAddress: "127.0.0.1:10000", Level: 1}})
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p2", RaftAddress: "p2.example:1", APIAddress: "10.0.0.2:10000", Level: 1}})
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p3", RaftAddress: "p3.example:1", APIAddress: "10.0.0.3:10000", PublicURL: "https://gpu3.example.org/", Level: 1}})
	})
	for origin, ours := range map[string]bool{
		"http://127.0.0.1:10000": true, "https://10.0.0.2:10000": true, "https://gpu3.example.org": true,
		"http://10.0.0.2:10000": false, "https://10.0.0.3:10000": false, "https://evil.example": false, "null": false, "https://gpu3.example.org.evil.example": false,
	} {
		with := []string{"Origin", origin, "Sec-Fetch-Site", "cross-site"}
		read := s.Do(http.MethodGet, "/queue", "", with...)
		before := s.Do(http.MethodOptions, "/queue/submit", "", append(with, "Access-Control-Request-Method", "POST")...)
		change := s.Do(http.MethodPost, "/orchestrator/stop", "", with...)
		if ours != (read.Header.Get("Access-Control-Allow-Origin") == origin) || ours != (before.Status == http.StatusNoContent) || ours != (change.Status == http.StatusOK) {
			t.Errorf("%s: may read %v, may ask %d, may change %d", origin, read.Header, before.Status, change.Status)
		}
		if ours != (read.Header.Get("Access-Control-Allow-Credentials") == "true") || ours != (before.Header.Get("Access-Control-Allow-Credentials") == "true") {
			t.Errorf("%s: with cookies by %v, asked %v", origin, read.Header, before.Header)
		}
		if !ours && read.Header.Get("Access-Control-Allow-Origin")+before.Header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s is allowed by %v %v", origin, read.Header, before.Header)
		}
	}
	csp := s.Do(http.MethodGet, "/ui/", "").Header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "connect-src 'self' http://127.0.0.1:10000 https://10.0.0.2:10000 https://gpu3.example.org;") {
		t.Errorf("the page may connect by %s", csp)
	}
}
