package root

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// A submission is one request, unless something has to be asked first: whose token it is where that is not known, and which job
// is the newest.
func TestRequestsOfASubmission(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, name := range []string{"BERTH_TOKEN", "RESEARCH_AGENT_USER_AUTH_TOKEN", "BERTH_ADDRESS", "BERTH_LOGIN"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	user := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		var answer any = &wire.Whoami{Authentication: true, Name: "ann"}
		switch r.URL.Path {
		case "/queue/submit":
			var got wire.Submit
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			user, answer = got.User, &wire.Submitted{Success: true, JobID: "7", Job: wire.Job{ID: "7"}}
		case "/jobs":
			answer = &wire.Jobs{Jobs: []wire.Job{{ID: "5"}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	clusters := filepath.Join(home, "berth", "clusters")
	if err := os.MkdirAll(clusters, 0o700); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(clusters, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("current", "default\n")
	for _, v := range []struct {
		login, line, user string
		asked             []string
	}{
		{"token: berth_x\nauthenticates: true\n", "submit -- true", "", []string{"POST /queue/submit"}},
		{"token: berth_x\n", "submit -- true", "ann", []string{"GET /whoami", "POST /queue/submit"}},
		{"authenticates: true\n", "submit -u bob -- true", "bob", []string{"POST /queue/submit"}},
		{"token: berth_x\nauthenticates: true\n", "submit --after @ -- true", "", []string{"GET /whoami", "GET /jobs", "GET /whoami", "POST /queue/submit"}},
	} {
		file("default.yaml", fmt.Sprintf("address: [%q]\n%s", strings.TrimPrefix(server.URL, "http://"), v.login))
		asked = nil
		if code, out, errs := called(strings.Fields(v.line)...); code != 0 || user != v.user || !slices.Equal(asked, v.asked) {
			t.Errorf("%s with %q: exit code %d, user %q, asked %q: %s%s", v.line, v.login, code, user, asked, out, errs)
		}
	}
}
