package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// The other published file and its variables are understood.
func TestPublishedServiceFile(t *testing.T) {
	got, err := loadText(t, `
server:
  port: "8086"
  read_timeout: 15s
  write_timeout: 15s

services:
  deepagents_url: "http://localhost:9004"
  graph_service_url: "http://localhost:8081"

scheduler:
  queue_check_interval: 5s
  max_queue_size: 100

auth:
  enabled: true
`, "PORT=8087", "DEEPAGENTS_URL=http://localhost:9005", "GRAPH_SERVICE_URL=http://localhost:8081",
		"RESEARCH_AGENT_GPU_ORCHESTRATION_ENABLED=false", "RESEARCH_AGENT_SCHEDULING_POLICY=Priority", "RESEARCH_AGENT_MAX_QUEUE_SIZE=50",
		"RESEARCH_AGENT_RAY_HEAD_NODE=gmi-node-1:6379")
	if err != nil {
		t.Fatal(err)
	}
	c := &got.Cluster
	if got.Server.HTTP != "127.0.0.1:8087" || got.At("server.http") != "PORT" || c.Queued != 50 || c.Policy != "priority" || c.Running {
		t.Errorf("it became %+v %+v", got.Server, c)
	}
	if s := &got.Server; !s.Auth.On || s.Advice.Deepagents != "http://localhost:9005" || s.Advice.Graph != "http://localhost:8081" {
		t.Errorf("it became %+v", s)
	}
	if len(got.Notes) != 4 {
		t.Errorf("%d notes:\n%s", len(got.Notes), strings.Join(got.Notes, "\n"))
	}
	if _, err := Load(Source{Program: OfClient, Environ: []string{"PORT=none", "RESEARCH_AGENT_MAX_QUEUE_SIZE=x"}}); err != nil {
		t.Errorf("a command cares: %v", err)
	}
}

// Sections with readers of their own come to them with every word in its line.
func TestPartsOfTheServiceFile(t *testing.T) {
	const text = `
workload_defaults:
  inference:
    default_memory_mb: 4096

    # the highest
    default_priority: 10

auth:
  enabled: true
  header_name: "X-API-Key"
  api_keys:
    "your-secret-key-1": "training-service"
    a,{b}: {user: "two
      words", projects: [x, '1', 2], role: ~}
`
	got, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	const keys = "\n\n\n\n\n\n\n\n\n\n\n\n{\"your-secret-key-1\": \"training-service\", \n" +
		`"a,{b}": {"user": "two words", ` + "\n" + `"projects": ["x", "1", 2, ], "role": null, }, }`
	if s := &got.Server; s.Auth.Own != keys || s.Auth.Header != "X-API-Key" {
		t.Errorf("the keys are %q", s.Auth.Own)
	}
	if want := "\n\n{\"inference\": \n{\"default_memory_mb\": 4096, \n\n\n\"default_priority\": 10, }, }"; got.Server.Advice.Own != want {
		t.Errorf("the defaults are %q", got.Server.Advice.Own)
	}
	for _, row := range got.Rows() {
		if strings.Contains(row.Shown(), "secret-key") || row.Name == "auth.api_keys" && row.Shown() != "(secret)" {
			t.Errorf("%s is shown as %q", row.Name, row.Shown())
		}
	}
	if err := got.Within(errors.New("line 7: no")); err == nil || !strings.HasSuffix(err.Error(), "berth.yaml:7: no") {
		t.Errorf("it says %v", err)
	}
}

// A section that cannot be, or has another for its own, is refused by its line; keys are
// never told.
func TestWrongParts(t *testing.T) {
	folders := regexp.MustCompile(`\S*/`)
	for text, want := range map[string]string{ //nolint:gosec // no secrets
		"auth:\n  api_keys: &a {SECRET: x}\n  keys_file: k\n":            "berth.yaml:2: auth.api_keys and berth.yaml:3: auth.keys_file exclude each other",
		"auth:\n  header_name: X\n  keys_file: k\n":                      "berth.yaml:2: auth.header_name and berth.yaml:3: auth.keys_file",
		"workloads: {defaults_file: f}\nworkload_defaults: {ocr: {}}\n":  "berth.yaml:2: workload_defaults and berth.yaml:1: workloads.defaults_file",
		"workloads: {defaults: {ocr: {}}}\nworkload_defaults: {a: {}}\n": "contradict each other",
		"workload_defaults: {ocr: &a {gpus: 1}, training: *a}\n":         "berth.yaml:1: anchors are not supported",
		"auth:\n  api_keys: {SECRET: &a x, other: *a}\n":                 "berth.yaml:2: anchors are not supported",
	} {
		_, err := loadText(t, text)
		if got := folders.ReplaceAllString(fmt.Sprint(err), ""); !strings.Contains(got, want) || strings.Contains(got, "SECRET") {
			t.Errorf("%q:\n got %v\nwant %s", text, got, want)
		}
	}
	if _, err := loadText(t, "", "BERTH_AUTH_API_KEYS=SECRET"); err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "in a file only") {
		t.Errorf("it says %v", err)
	}
	if got, err := loadText(t, "auth: {api_keys: {}, keys_file: k}\nworkload_defaults:\n"); err != nil || got.Server.Auth.Own != "" {
		t.Errorf("empty ones: %v", err)
	}
}
