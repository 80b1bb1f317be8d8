package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdviceFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "defaults.yaml")
	if err := os.WriteFile(file, []byte("ocr:\n  default_priority: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"DEEPAGENTS_URL": "http://127.0.0.1:1", "GRAPH_SERVICE_URL": "http://127.0.0.1:2"}[name]
	}
	got, err := (&adviceFlags{defaults: file, graph: "https://graph/x"}).resolve(env)
	if err != nil || got.defaults["ocr"].Priority != 9 || len(got.advisers) != 2 || got.advisers[0].URL != "http://127.0.0.1:1" || got.advisers[1].URL != "https://graph/x" {
		t.Errorf("%+v %v", got, err)
	}
	none := func(string) string { return "" }
	if got, err := (&adviceFlags{}).resolve(none); err != nil || len(got.advisers) != 0 || got.defaults["training"].GPUs != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.WriteFile(file, []byte("\nocr:\n  gpus: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]adviceFlags{
		"line 3":              {defaults: file},
		"no such file":        {defaults: file + ".gone"},
		"--deepagents-url":    {deepagents: "localhost:9004"},
		"--graph-service-url": {graph: "http://user:secret@host"}, //nolint:gosec // it opens nothing
	} {
		if _, err := f.resolve(none); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || exitCode(err) != exitUsage {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}
