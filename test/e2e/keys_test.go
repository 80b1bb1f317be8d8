package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The service document's file of keys as it stands there, at three peers: a key is shown to
// one that does not lead, in the header that the file names or as a bearer, and what is
// submitted with it is the service's.
func TestKeysOfAFileAgainstAFollower(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(file, []byte(`auth:
  enabled: true
  header_name: "X-API-Key"
  api_keys:
    "your-secret-key-1": "training-service"
    "your-secret-key-2": "inference-service"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startGuarded(t, "--auth-keys", file)
	base := "http://" + g.follower()
	ids := map[string]string{}
	for _, v := range []struct{ header, value, actor string }{
		{"X-API-Key", "your-secret-key-1", "service:training-service"},
		{"x-api-key", "your-secret-key-2", "service:inference-service"},
		{"Authorization", "Bearer your-secret-key-1", "service:training-service"},
		{"Authorization", "bearer your-secret-key-2", "service:inference-service"},
	} {
		status, who := g.ask(http.MethodGet, base+"/whoami", "", v.header, v.value)
		if status != http.StatusOK || who["actor"] != v.actor || who["role"] != "user" {
			t.Errorf("%s: %s is %d %v", v.header, v.value, status, who)
		}
		status, got := g.ask(http.MethodPost, base+"/queue/submit", `{"run_id": "bert-training",
			"command": "python train.py --model bert-large --epochs 10", "gpu_count": 4, "gpu_memory_gb": 40, "priority": 3,
			"estimated_duration_seconds": 3600}`, v.header, v.value)
		id, _ := got["job_id"].(string)
		if status != http.StatusOK || id == "" {
			t.Errorf("a submission with %s: %s is answered %d %v", v.header, v.value, status, got)
			continue
		}
		ids[id] = v.actor
	}
	for id, actor := range ids { // order-free: each is checked
		_, job := g.ask(http.MethodGet, base+"/jobs/"+id, "", "X-API-Key", "your-secret-key-1")
		if user, _ := at(job, "user"); "service:"+fmt.Sprint(user) != actor {
			t.Errorf("job %s is %v's, want %s", id, user, actor)
		}
		if first, _ := at(job, "timeline.0.actor"); first != actor {
			t.Errorf("job %s was submitted by %v, want %s", id, first, actor)
		}
	}
	for _, v := range [][2]string{{"X-API-Key", "your-secret-key-3"}, {"Authorization", "Bearer your-secret-key"}, {"Authorization", "your-secret-key-1"}, {"X-None", "x"}} {
		if status, got := g.ask(http.MethodPost, base+"/queue/submit", `{"command": "true"}`, v[0], v[1]); status != http.StatusUnauthorized {
			t.Errorf("%s: %s is answered %d %v", v[0], v[1], status, got)
		}
	}
	body := `{"command": "true", "user": "researcher1"}`
	if status, got := g.ask(http.MethodPost, base+"/queue/submit", body, "X-API-Key", "your-secret-key-1"); status != http.StatusForbidden {
		t.Errorf("a service submits in another's name: %d %v", status, got)
	}
	if status, got := g.ask(http.MethodPost, base+"/orchestrator/stop", "", "X-API-Key", "your-secret-key-1"); status != http.StatusForbidden {
		t.Errorf("a service stops the scheduler: %d %v", status, got)
	}
}

// ask sends a request with one header, and reads the answer.
func (g *guarded) ask(method, url, body, header, value string) (int, map[string]any) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(header, value)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var fields map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&fields); err != nil {
		g.t.Fatalf("%s %s: not an object: %v", method, url, err)
	}
	return answer.StatusCode, fields
}
