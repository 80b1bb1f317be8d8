package root

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// --export takes variables of this shell along: all, some, or others.
func TestExport(t *testing.T) {
	f := newFakeAPI(t)
	t.Setenv("MODE", "slow")
	t.Setenv("BASH_FUNC_module%%", "() {  eval 1\n}")
	t.Setenv("BAD", "\xff")
	for value, want := range map[string]map[string]string{
		"":                nil,
		"NONE":            nil,
		"MODE":            {"MODE": "slow"},
		"MODE=fast,A=b=c": {"MODE": "fast", "A": "b=c"},
	} {
		args := []string{"submit", "--export", value, "--", "x"}
		if value == "" {
			args = []string{"submit", "--", "x"}
		}
		if code, _, errs := f.berth(t, args...); code != 0 || !reflect.DeepEqual(f.got.Shell, want) {
			t.Errorf("%q: exit code %d, %s, sent %v", value, code, errs, f.got.Shell)
		}
	}
	code, _, errs := f.berth(t, "submit", "--export", "ALL,MODE=fast", "--", "x")
	got := f.got.Shell
	if code != 0 || got["MODE"] != "fast" || got["PATH"] != os.Getenv("PATH") || got["BASH_FUNC_module%%"] == "" || got["BAD"] != "" {
		t.Errorf("all: exit code %d, sent %v", code, got)
	}
	if !strings.Contains(errs, `the job does not get "BAD"`) {
		t.Errorf("a variable was left out without a note: %q", errs)
	}
	for _, bad := range []string{"NO_SUCH_VARIABLE", "=x", "MODE,"} {
		if code, _, errs := f.berth(t, "submit", "--export", bad, "--", "x"); code != 2 || !strings.Contains(errs, "--export") {
			t.Errorf("%q: exit code %d, %q", bad, code, errs)
		}
	}
}

// The arguments of a script are passed on one by one: no shell comes between.
func TestArgumentsOfAScript(t *testing.T) {
	f := newFakeAPI(t)
	script := filepath.Join(t.TempDir(), "train.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntrue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := f.berth(t, "submit", script, "a b", "$HOME"); code != 0 || f.got.Command != "" || !reflect.DeepEqual(f.got.Args, []string{"a b", "$HOME"}) {
		t.Errorf("exit code %d, %s, sent %q and %q", code, errs, f.got.Command, f.got.Args)
	}
}
