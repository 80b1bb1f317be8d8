package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// What a peer of another version does not know is said to be missing there, and other errors stay as they are.
func TestErrorsOfPeersOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		theirs, body string
		status       int
		want         bool
	}{
		"an unknown field":                  {"v1.0.0", `{"code":"invalid","detail":"the body has an unknown field","errors":[{"field":"gang_mode","message":"is not a field"}]}`, 422, true},
		"one with a field that was meant":   {"v1.0.0", `{"code":"invalid","detail":"the body has an unknown field","errors":[{"field":"gpus","message":"is not a field; did you mean gpu_count?"}]}`, 422, true},
		"an unknown parameter":              {"v1.0.0", `{"code":"invalid","detail":"x","errors":[{"field":"shape","message":"\"shape\" is not a parameter of this path. Known are a"}]}`, 422, true},
		"an unknown path":                   {"v1.0.0", `{"code":"not_found","detail":"there is no such path; /openapi.json lists them all"}`, 404, true},
		"an unknown field, at this version": {"v1.1.0", `{"code":"invalid","detail":"the body has an unknown field","errors":[{"field":"gang_mode","message":"is not a field"}]}`, 422, false},
		"a value that is too large":         {"v1.0.0", `{"code":"invalid","detail":"x","errors":[{"field":"gpu_count","message":"must be at most 8"}]}`, 422, false},
		"an unknown job":                    {"v1.0.0", `{"code":"not_found","detail":"there is no job 7"}`, 404, false},
		"a peer without a version":          {"", `{"code":"not_found","detail":"there is no such path; /openapi.json lists them all"}`, 404, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", wire.ProblemType)
			if c.theirs != "" {
				w.Header().Set(wire.HeaderVersion, c.theirs)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		t.Cleanup(server.Close)
		api, err := New(Options{Addresses: []string{server.Listener.Addr().String()}, Version: "v1.1.0"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(api.Close)
		_, err = api.Submit(t.Context(), &wire.Submit{Command: "true"}, "")
		if err == nil || strings.Contains(err.Error(), "the peer runs v1.0.0 and this program is v1.1.0") != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
