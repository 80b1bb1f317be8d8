package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// ask sends a request to one peer and reads the answer.
func ask(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatalf("%s %s: not an object: %q", method, url, data)
	}
	return answer.StatusCode, fields
}

// yes says that a field is there and true.
func yes(fields map[string]any, name string) bool {
	v, is := fields[name].(bool)
	return is && v
}

// listed is the length of a field's list; -1 if it is none.
func listed(fields map[string]any, name string) int {
	v, is := fields[name].([]any)
	if !is {
		return -1
	}
	return len(v)
}

// The owner's documented requests, as curl sends them, to a peer that does not lead.
func TestTheDocumentedRequestsAgainstAFollower(t *testing.T) {
	c := start(t)
	base := follower(c)
	status, got := ask(t, http.MethodPost, base+"/queue/submit",
		`{"run_id": "experiment-1", "user": "researcher", "command": "sleep 600", "gpu_count": 4, "priority": 3}`)
	job, _ := got["job"].(map[string]any)
	id, _ := got["job_id"].(string)
	if status != http.StatusOK || !yes(got, "success") || id == "" || job["id"] != id || job["run_id"] != "experiment-1" ||
		job["gpu_count"] != 4.0 || job["priority"] != 3.0 {
		t.Errorf("submit: %d %v", status, got)
	}
	if _, has := got["queue_position"]; !has {
		t.Errorf("submit has no queue_position: %v", got)
	}
	c.running(id)
	if status, got = ask(t, http.MethodGet, base+"/queue", ""); status != http.StatusOK || listed(got, "running") != 1 || got["queued"] == nil {
		t.Errorf("queue: %d %v", status, got)
	}
	status, got = ask(t, http.MethodGet, base+"/gpu/status", "")
	sum, _ := got["cluster_status"].(map[string]any)
	if status != http.StatusOK || sum["available_gpus"] != 12.0 || sum["utilization_percent"] != 25.0 {
		t.Errorf("gpu status: %d %v", status, sum)
	}
	if status, got = ask(t, http.MethodPatch, base+"/queue/"+id+"/priority", `{"priority": 4}`); status != http.StatusOK || !yes(got, "success") {
		t.Errorf("priority: %d %v", status, got)
	}
	status, got = ask(t, http.MethodGet, base+"/orchestrator/status", "")
	resources, _ := got["resource_summary"].(map[string]any)
	if status != http.StatusOK || !yes(got, "running") || resources["total_gpus"] != 16.0 || resources["allocated_gpus"] != 4.0 {
		t.Errorf("orchestrator: %d %v", status, got)
	}
	for _, path := range []string{"/orchestrator/stop", "/orchestrator/start"} {
		if status, got = ask(t, http.MethodPost, base+path, ""); status != http.StatusOK || !yes(got, "success") {
			t.Errorf("%s: %d %v", path, status, got)
		}
	}
	if status, got = ask(t, http.MethodDelete, base+"/queue/"+id, ""); status != http.StatusOK || !yes(got, "success") {
		t.Errorf("cancel: %d %v", status, got)
	}
	c.ended(id)
	if status, got = ask(t, http.MethodPost, base+"/queue/submit", `{"command": "true", "gpu_count": 17}`); status < 400 || status > 499 || got["code"] == nil {
		t.Errorf("17 of 16 GPUs: %d %v", status, got)
	}
}
