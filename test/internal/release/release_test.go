package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Versions sort as dpkg and rpm sort them: what comes before a release is older than the release.
func TestVersions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 21, 17, 45, 0, time.UTC)
	for _, c := range []struct {
		tag            string
		exact          bool
		name, packaged string
	}{
		{"", false, "v0.0.0-20261127211745-0123456789ab", "0.0.0~20261127211745.0123456789ab"},
		{"v0.1.0", true, "v0.1.0", "0.1.0"},
		{"v0.1.0", false, "v0.1.1-0.20261127211745-0123456789ab", "0.1.1~0.20261127211745.0123456789ab"},
		{"v1.2.0-rc.1", true, "v1.2.0-rc.1", "1.2.0~rc.1"},
		{"v1.2.0-rc.1", false, "v1.2.0-rc.1.0.20261127211745-0123456789ab", "1.2.0~rc.1.0.20261127211745.0123456789ab"},
	} {
		name, err := nameOf(c.tag, c.exact, at, "0123456789abcdef")
		if got := (version{name: name}).packaged(); err != nil || name != c.name || got != c.packaged {
			t.Errorf("%q: %s, packaged %s, %v; want %s, %s", c.tag, name, got, err, c.name, c.packaged)
		}
	}
	if name, err := nameOf("v1.2", true, at, "0123456789abcdef"); err == nil {
		t.Errorf("the tag v1.2 is taken for version %s", name)
	}
}

// The version of a work tree is the tag of its commit, and says if files were changed.
func TestReadVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-27T21:17:45Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	is := func(want string) {
		t.Helper()
		v, err := readVersion(t.Context(), dir)
		if err != nil || v.name != want || v.epoch() != "1795814265" {
			t.Errorf("%s at %s, %v; want %s", v.name, v.epoch(), err, want)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("tag", "v0.1.0")
	is("v0.1.0")
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	is("v0.1.0+dirty")
}

// An archive has the same bytes whatever the times and modes of the files are.
func TestPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Unix(1795814265, 0)
	made := func(name string, mode os.FileMode) []byte {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("text\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at.Add(time.Duration(len(name))*time.Hour)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := pack(&out, []entry{{"berth/bin/berth", path, 0o755}}, at); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if a, b := made("a", 0o600), made("other", 0o644); !bytes.Equal(a, b) || len(a) == 0 {
		t.Errorf("%d and %d bytes, which differ", len(a), len(b))
	}
}
