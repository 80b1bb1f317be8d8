package root

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Without --user a token is the caller's own; a caller that is no user must name one.
func TestAnOwnTokenIsCreated(t *testing.T) {
	kind, sent := "user", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/whoami" {
			_, _ = fmt.Fprintf(w, `{"name": "ann", "kind": %q, "actor": "user:ann", "role": "user"}`, kind)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent = r.Method + " " + r.URL.Path + " " + string(body)
		_, _ = fmt.Fprint(w, `{"token": "berth_secret", "id": "12", "role": "user"}`)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	code, out, errs := called("token", "create", "--name", "laptop", "--expires", "7d", "--address", address)
	if code != 0 || out != "berth_secret\n" || sent != `POST /tokens {"user":"ann","name":"laptop","expires_in":604800}` {
		t.Errorf("%d, sent %s\n%s%s", code, sent, out, errs)
	}
	kind = "anonymous"
	if code, _, errs := called("token", "create", "--address", address); code != 2 || !strings.Contains(errs, "--user is missing") {
		t.Errorf("%d %s", code, errs)
	}
}
