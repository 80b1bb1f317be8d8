package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/core"
)

// loaded is a peer's settings as these flags and variables give them.
func loaded(t *testing.T, flags map[string]string, environ ...string) *config.Loaded {
	t.Helper()
	source := config.Source{Program: config.OfServer, Flags: map[string][]string{}, Environ: environ}
	for name, text := range flags {
		source.Flags[name] = []string{text}
	}
	got, err := config.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// advised is what the analysis of workloads goes by with these flags and variables.
func advised(t *testing.T, flags map[string]string, environ ...string) (out core.Terms, err error) {
	t.Helper()
	h := &holding{Loaded: loaded(t, flags, environ...)}
	h.advice(&out)
	return out, errors.Join(h.wrong...)
}

func TestAdviceFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "defaults.yaml")
	if err := os.WriteFile(file, []byte("ocr:\n  default_priority: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := advised(t, map[string]string{"workload-defaults": file, "graph-service-url": "https://graph/x"},
		"DEEPAGENTS_URL=http://127.0.0.1:1", "GRAPH_SERVICE_URL=http://127.0.0.1:2")
	if err != nil || got.Workloads["ocr"].Priority != 9 || len(got.Advisers) != 2 || got.Advisers[0].URL != "http://127.0.0.1:1" || got.Advisers[1].URL != "https://graph/x" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := advised(t, nil); err != nil || len(got.Advisers) != 0 || got.Workloads["training"].GPUs != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.WriteFile(file, []byte("\nocr:\n  gpus: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]map[string]string{
		"line 3":              {"workload-defaults": file},
		"no such file":        {"workload-defaults": file + ".gone"},
		"--deepagents-url":    {"deepagents-url": "localhost:9004"},
		"--graph-service-url": {"graph-service-url": "http://user:secret@host"}, //nolint:gosec // it opens nothing
	} {
		if _, err := advised(t, f); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") ||
			cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}
