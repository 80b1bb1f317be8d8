package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// A unit with a sandbox writes only to the folders that it names.
func TestASandboxIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free := filepath.Join(dir, "free")
	if err := os.Mkdir(free, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &place{unit: "berth-server.service", strict: true, noHomes: true, writable: []string{free, "/var/lib/berth/server"}}
	for path, want := range map[string]string{
		free: "", filepath.Join(free, "below"): "", dir: "may not write there", filepath.Join(dir, "freedom"): "may not write there",
		"/var/lib/berth/backups": "may not write there", filepath.Join(homes[0], "ann"): "may not write there",
	} {
		d := p.writes("backup.dir", path)
		if (d == nil) != (want == "") || d != nil && (!strings.Contains(d.Why, want) || d.Remedy == "" || d.Fatal) {
			t.Errorf("%s: %+v, not %q", path, d, want)
		}
	}
	if d := p.writes("backup.dir", dir); !strings.Contains(d.Remedy, "ReadWritePaths="+dir) {
		t.Errorf("the remedy: %s", d.Remedy)
	}
}

// ofDaemon returns the place of a unit whose account is daemon, and a folder of root's that all may enter.
func ofDaemon(t *testing.T) (*place, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another account")
	}
	account, err := (&isolate.Rules{On: true}).Account("daemon")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "access-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &place{unit: "berth-server.service", account: account, name: "daemon"}, dir
}

// An account is asked, not this process: what root can read and write, the account of a unit may not.
func TestTheAccountOfTheUnitIsAsked(t *testing.T) {
	t.Parallel()
	p, dir := ofDaemon(t)
	own, keys := filepath.Join(dir, "own"), filepath.Join(dir, "keys")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, int(p.account.UID), int(p.account.GID)), os.WriteFile(keys, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if d := p.writes("backup.dir", own); d != nil {
		t.Errorf("a folder of the account: %+v", d)
	}
	if d := p.writes("backup.dir", dir); d == nil || d.Remedy != "install -d -o daemon -g daemon -m 700 "+dir {
		t.Errorf("a folder of root: %+v", d)
	}
	if d := p.reads("server.tls_key", keys, 4); d == nil || !d.Fatal || !strings.Contains(d.Remedy, "chown root:daemon") {
		t.Errorf("a file of root: %+v", d)
	}
}

// What the messages about a file with keys say, step by step, ends with a file that is fit.
func TestAFileWithKeysIsMadeFit(t *testing.T) {
	t.Parallel()
	p, dir := ofDaemon(t)
	file := filepath.Join(dir, "berth.yaml")
	if err := os.WriteFile(file, []byte("server:\n  data_dir: x\nauth:\n  api_keys: {0123456789abcdef0123456789abcdef: ann}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o600, 0o644} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if d := p.settings(c); d == nil || !d.Fatal || !strings.HasPrefix(d.Remedy, "chown root:") || !strings.HasSuffix(d.Remedy, " && chmod 640 "+file) {
			t.Errorf("mode %o: %+v", mode, d)
		}
	}
	if err := errors.Join(os.Chown(file, 0, int(p.account.GID)), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	if d := p.settings(c); d != nil {
		t.Errorf("after the remedy: %+v", d)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	other := config.Reader{UID: p.account.UID, GID: p.account.GID + 1}
	if err := other.Private(file, info); err == nil {
		t.Error("a file of another group is private")
	}
	if err := (config.Reader{}).Private(file, info); err != nil {
		t.Errorf("root reads it, too: %v", err)
	}
	if err := os.Chmod(file, 0o660); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(file); err != nil || p.reader().Private(file, info) == nil {
		t.Errorf("a file that the group writes is private: %v", err)
	}
}
