package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/config"
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
	account, err := accountOf("daemon", "", nil) // one of the system, as that of peers is
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "access-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &place{role: rolePeer, unit: "berth-server.service", account: account, name: "daemon", lent: account.GID}, dir
}

// An account is asked, not this process: what root can read and write, the account of a unit may not.
func TestTheAccountOfTheUnitIsAsked(t *testing.T) {
	t.Parallel()
	p, dir := ofDaemon(t)
	own, keys := filepath.Join(dir, "own"), filepath.Join(dir, "keys")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, int(p.account.UID), int(p.account.GID)),
		os.WriteFile(keys, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if d := p.writes("backup.dir", own); d != nil {
		t.Errorf("a folder of the account: %+v", d)
	}
	if d := p.writes("backup.dir", dir); d == nil || d.Remedy != "install -d -o daemon -g daemon -m 700 "+dir {
		t.Errorf("a folder of root: %+v", d)
	}
	if d := p.reads("server.tls_key", keys, unix.R_OK); d == nil || !d.Fatal || !strings.Contains(d.Remedy, "chown root:daemon") {
		t.Errorf("a file of root: %+v", d)
	}
	if d := p.keeps("auth.keys_file", keys); d == nil || !d.Fatal || d.Remedy != "chown root:daemon "+keys+" && chmod 640 "+keys {
		t.Errorf("a file of root with keys: %+v", d)
	}
	if err := os.Chown(keys, int(p.account.UID), 0); err != nil {
		t.Fatal(err)
	}
	if d := p.keeps("auth.keys_file", keys); d != nil {
		t.Errorf("a file of the account with keys: %+v", d)
	}
	cert := filepath.Join(dir, "closed", "cert")
	if err := errors.Join(os.Mkdir(filepath.Dir(cert), 0o700), os.WriteFile(cert, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if d := p.reads("server.tls_cert", cert, unix.R_OK); d == nil || !strings.Contains(d.Remedy, "enter the folders") {
		t.Errorf("a file in a folder of root: %+v", d)
	}
}

// All that settings name is judged, and each thing that keeps the peer from its start once.
func TestAllFilesOfAPeerAreJudged(t *testing.T) {
	t.Parallel()
	p, dir := ofDaemon(t)
	c := &config.Loaded{Config: config.New()}
	s := &c.Server
	for name, to := range map[string]*string{
		"server.tls_cert": &s.Certificate, "server.tls_key": &s.Key, "auth.command_rules": &s.Auth.CommandRules,
		"workloads.defaults_file": &s.Advice.Defaults, "oidc.ca": &s.OIDC.CA, "oidc.groups_file": &s.OIDC.Groups,
		"auth.keys_file": &s.Auth.Keys, "oidc.client_secret_file": &s.OIDC.Secret,
	} {
		if *to = filepath.Join(dir, name); os.WriteFile(*to, nil, 0o600) != nil {
			t.Fatal(*to)
		}
	}
	s.Backup.Dir, s.Audit.Dir = dir, filepath.Join(dir, "none", "below")
	list := p.access(c)
	for _, d := range list {
		if folder := d.Setting == "backup.dir" || d.Setting == "audit.dir"; d.Fatal == folder {
			t.Errorf("%+v", d)
		}
	}
	if len(list) != 10 {
		t.Errorf("%d of 10: %+v", len(list), list)
	}
}

// The properties of a unit are its account, its groups and its sandbox.
func TestAUnitIsRead(t *testing.T) {
	t.Parallel()
	p := &place{role: rolePeer, unit: "berth-server.service"}
	p.read(map[string]string{
		"User": "1", "Group": "2", "SupplementaryGroups": "3", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
		"ReadWritePaths": "-/var/backups/berth", "StateDirectory": "berth/server",
		"ExecStart": "{ path=/usr/bin/berthd ; argv[]=/usr/bin/berthd server --config /etc/berth/berth.yaml ; ignore_errors=no }",
	})
	if p.unknown != nil || p.account == nil {
		t.Fatal(p.unknown)
	}
	if a := p.account; a.UID != 1 || a.GID != 2 || !slices.Contains(a.Groups, 3) || slices.Contains(a.Groups, 1) {
		t.Errorf("the account: %+v, %v", p.account, p.unknown)
	}
	writable := withinAny("/var/lib/berth/server/trust", p.writable) && withinAny("/var/backups/berth", p.writable)
	if p.file != "/etc/berth/berth.yaml" || p.lent != 0 || !writable {
		t.Errorf("it is %+v", p)
	}
	for path, want := range map[string]string{
		"/root/x": "/root", "/tmp/x": "/tmp", "/var/tmp/a/b": "/var/tmp", "/etc/x": "", "/rooted/x": "",
	} {
		if got := p.hides(path); got != want {
			t.Errorf("%s is hidden by %q", path, got)
		}
	}
	if p.read(map[string]string{"User": "nobody-of-that-name"}); p.unknown == nil || len(p.access(&config.Loaded{Config: config.New()})) != 1 {
		t.Errorf("an account that is missing: %v", p.unknown)
	}
}

// The unit of this process is that of its control group.
func TestTheUnitOfAProcess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0::/system.slice/berth-server.service\n":                             rolePeer,
		"0::/system.slice/berth-agent.service/control\n":                      roleNode,
		"1:name=systemd:/system.slice/berth-agent.service\n0::/\n":            roleNode,
		"0::/system.slice/berth-server.service.old\n":                         "",
		"0::/system.slice/my-berth-server.service\n":                          "",
		"0::/user.slice/user-0.slice/session-1.scope\n":                       "",
		"0::/machine.slice/x.scope/system.slice/berth-server.service/child\n": rolePeer,
	} {
		if got := roleIn(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
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
	for _, r := range []config.Reader{{UID: p.account.UID, GID: p.account.GID + 1}, {UID: p.account.UID}, {}} {
		if err := r.Private(file, info); err == nil {
			t.Errorf("a file of another group is private for %+v", r)
		}
	}
	if err := (config.Reader{GID: p.account.GID}).Private(file, info); err != nil {
		t.Errorf("root reads it, too: %v", err)
	}
	if err := os.Chmod(file, 0o660); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(file); err != nil || p.reader().Private(file, info) == nil {
		t.Errorf("a file that the group writes is private: %v", err)
	}
}
