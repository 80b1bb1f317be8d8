package packages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// top is the folder of the repository.
const top = "../.."

// needsTools skips a test if a program is missing.
func needsTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: make packages-test installs it", tool)
		}
	}
}

// needsTime skips a test that takes more than some seconds.
func needsTime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs more time than -short leaves: make packages-test")
	}
}

// needsRoot skips a test that cannot run under another account.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, which owns the files of a system")
	}
}

// published returns the one file of dist that a pattern names; "{arch}" is the architecture of this machine.
func published(t *testing.T, pattern string) string {
	t.Helper()
	pattern = strings.ReplaceAll(pattern, "{arch}", runtime.GOARCH)
	found, err := filepath.Glob(filepath.Join(top, "dist", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skipf("needs dist/%s: make release, and make image for the image", pattern)
	}
	if len(found) > 1 {
		t.Fatalf("dist has several versions: %v: make clean, then make release", found)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program in the folder of the repository, and returns what it writes.
func run(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	return runIn(t, top, nil, argv...)
}

// runIn runs a program in a folder, with more variables.
func runIn(t *testing.T, dir string, environ []string, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	cmd.WaitDelay = 5 * time.Second // for what a stopped program has left running
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.String())
	}
	return out.String(), nil
}

// ok runs a program that must succeed.
func ok(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := run(t, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// has fails unless a text has all parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
}

// hasNot fails if a text has one of the parts.
func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("there is %q in\n%s", part, text)
		}
	}
}
