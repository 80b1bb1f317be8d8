package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// wrote runs berth config write with settings on standard input.
func wrote(t *testing.T, file, values string) (code int, out, errs string) {
	t.Helper()
	root := newRoot("berth")
	root.SetIn(strings.NewReader(values))
	var stdout, stderr strings.Builder
	code = cli.Execute(root, []string{"config", "write", file}, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// Settings come into the file only if a program can use the result; secrets make it private.
func TestSettingsAreWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "berth.yaml")
	mode := func() fs.FileMode {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if code, out, errs := wrote(t, file, "server.id: p1\n"); code != 0 || out != file+" is changed: server.id.\n" || mode() != 0o644 {
		t.Fatalf("exit code %d, %s%s, mode %o", code, out, errs, mode())
	}
	if code, out, errs := wrote(t, file, `{"server.id": "p1"}`); code != 0 || !strings.Contains(out, "has these settings already") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	for values, want := range map[string]string{
		"server.http: here\n":         file + ":3: server.http: \"here\" is not host:port",
		"auth.command_rules: /none\n": "no such file",
		"server.idd: x\n":             "there is no setting server.idd",
		"jobs.max_retries: many\n":    "must be",
	} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := wrote(t, file, values)
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if code != cmdline.ExitUsage || !strings.Contains(errs, want) || string(after) != string(before) {
			t.Errorf("%q: exit code %d, %s%s, want %q:\n%s", values, code, out, errs, want, after)
		}
		if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
			t.Errorf("%q leaves %v, %v", values, left, err)
		}
	}
	code, out, errs := wrote(t, file, `{"auth.enabled": true, "auth.api_keys": {"SECRET-SECRET-SECRET": "a"}}`)
	if code != 0 || strings.Contains(out+errs, "SECRET") || mode()&0o037 != 0 {
		t.Errorf("exit code %d, %s%s, mode %o", code, out, errs, mode())
	}
}
