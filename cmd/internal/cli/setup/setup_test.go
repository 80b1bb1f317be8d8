package setup

import (
	"bytes"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// called runs a command line of this package.
func called(in string, args ...string) (string, error) {
	root := &cobra.Command{Use: "berth", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(append(cli.Make(ForUsers()), ForMembers(noBackup{})...)...)
	var out bytes.Buffer
	root.SetIn(strings.NewReader(in))
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

// A cluster is made once; what is there stays, and is named.
func TestInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "p1"), filepath.Join(dir, "etc", "berth.yaml")
	args := []string{"init", "--id", "p1", "--data-dir", data, "--config", file, "--advertise", "127.0.0.1", "--no-start"}
	out, err := called("", args...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := trust.Load(filepath.Join(data, trust.Subfolder))
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.Identity()
	if err != nil || i.Name != "p1" || i.Role != trust.RolePeer || i.Generation != 1 || len(m.Keys) == 0 || !strings.Contains(out, i.Cluster) {
		t.Errorf("%+v, %v: %s", i, err, out)
	}
	text := read(t, file)
	for _, want := range []string{"id: p1", "data_dir: " + data, "listen: 127.0.0.1:7000", "http: 127.0.0.1:10000", "- p1=127.0.0.1:7000", "enabled: true"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	out, err = called("", append(args, "--id", "p2")...)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), i.Cluster) {
		t.Errorf("again: %s, %v", out, err)
	}
	if again, err := trust.Load(filepath.Join(data, trust.Subfolder)); err != nil || !again.Certificate.Equal(m.Certificate) ||
		read(t, file) != text {
		t.Errorf("something was replaced: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Root may make the folder of a peer that runs under an account of its own: other accounts reach the data folder through
// those above, and the keys belong to the owner of the data folder.
func TestFoldersOfAnotherAccount(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(base, "lib", "server")
	found := func(data string) {
		t.Helper()
		if _, err := called("", "init", "--id", "p1", "--data-dir", data, "--no-config", "--advertise", "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	found(data)
	joined := filepath.Join(base, "other", "server")
	if _, err := called(trust.NewToken(trust.RolePeer, trust.Pin{1}).String(), "join", "peer", "--address", "127.0.0.1:1", "--advertise", "127.0.0.1", "--id", "p2", "--data-dir", joined, "--no-config"); err == nil {
		t.Error("joined nothing")
	}
	if info, err := os.Stat(filepath.Dir(joined)); err == nil && info.Mode().Perm() != 0o755 { // absent: port 7000 is taken here
		t.Errorf("the folder above that of a machine that joins: %v", info)
	}
	if info, err := os.Stat(filepath.Join(base, "lib")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder above: %v, %v", info, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give folders to another account")
	}
	given := filepath.Join(base, "given")
	if err := os.MkdirAll(given, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(given, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	found(given)
	for _, name := range []string{"", "identity.pem", "authority.key"} {
		info, err := os.Stat(filepath.Join(given, trust.Subfolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if s, is := info.Sys().(*syscall.Stat_t); !is || s.Uid != 12345 {
			t.Errorf("%s belongs to another account than the data folder", name)
		}
	}
}

// Bad input is refused in one line before anything is written.
func TestRefusedSetups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := trust.NewToken(trust.RoleNode, trust.Pin{1}).String()
	bad := filepath.Join(dir, "bad.yaml")
	open := filepath.Join(dir, "open")
	for path, v := range map[string]struct {
		text string
		mode fs.FileMode
	}{bad: {"server: [", 0o644}, open: {token, 0o644}} {
		if err := os.WriteFile(path, []byte(v.text), v.mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range map[string]struct {
		args  string
		stdin string
		want  string
	}{
		"init: a life that is too short":    {"init --id p1 --life 1s", "", "--life must be from 10s"},
		"init: a name that is none":         {"init --id .. --advertise 127.0.0.1", "", "--id"},
		"init: an address of no machine":    {"init --id p1 --advertise 0.0.0.0", "", "--advertise"},
		"init: an address that is none":     {"init --id p1 --advertise http://x", "", "not an address, a host name or an interface"},
		"init: a file that is not YAML":     {"init --id p1 --advertise 127.0.0.1 --config " + bad, "", "not valid YAML"},
		"join: no address":                  {"join node", token, "--address is missing"},
		"join: no token":                    {"join node --address 127.0.0.1:1", "", "no token on standard input"},
		"join: a token that is cut off":     {"join node --address 127.0.0.1:1", token[:60], "cut off"},
		"join: a user's token":              {"join node --address 127.0.0.1:1", "berth_0123", "not a join token"},
		"join: the token of the other role": {"join peer --address 127.0.0.1:1", token, "the token is for a node"},
		"join: a token that others read":    {"join node --address 127.0.0.1:1 --token-file " + open, "", "open to other users"},
		"join: nothing to renew":            {"join node --address 127.0.0.1:1 --renew", token, "no certificate that could be renewed"},
		"join: nothing answers":             {"join node --address 127.0.0.1:1 --advertise 127.0.0.1", token, "has not joined"},
		"join: a name without an address":   {"join node --address no-such-host.invalid:1", token, "no-such-host.invalid has no address in the name service"},
		"join: no peer at that port":        {"join node --address 127.0.0.1:1 --advertise 127.0.0.1", token, "no peer can be reached at 127.0.0.1:1: dial"},
		"login: no address":                 {"login", "", "--address is missing"},
		"login: another machine":            {"login --address 10.9.9.9:1 --no-token", "", "is another machine"},
		"login: a pin that is none":         {"login --address 127.0.0.1:1 --pin xyz --no-token", "", "64 hexadecimal digits"},
		"login: both":                       {"login --address 127.0.0.1:1 --pin xyz --authority f --no-token", "", "give one of them"},
		"login: two tokens":                 {"login --address 127.0.0.1:1", "a b", "one token"},
		"login: a name that is none":        {"login ../x --address 127.0.0.1:1 --no-token", "", "not a name"},
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(v.args)
			data := filepath.Join(t.TempDir(), "data")
			if args[0] != "login" {
				args = append(args, "--data-dir", data)
				if !strings.Contains(v.args, "--config") {
					args = append(args, "--no-config")
				}
			}
			out, err := called(v.stdin, args...)
			if err == nil || !strings.Contains(err.Error(), v.want) || strings.Contains(cmdline.OneLine(err), "\n") ||
				strings.Contains(err.Error(), token[17:40]) {
				t.Errorf("%v, want %q (%s)", err, v.want, out)
			}
			if _, err := os.Stat(filepath.Join(data, trust.Subfolder)); err == nil {
				t.Error("keys were written")
			}
		})
	}
}

// A machine that belongs to a cluster keeps that membership, whatever token comes.
func TestJoinChangesNoMember(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "n1")
	m, err := trust.Found(trust.Member{Name: "p1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := m.Certify(trust.Member{Role: trust.RoleNode, Name: "n1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Save(filepath.Join(data, trust.Subfolder), own); err != nil {
		t.Fatal(err)
	}
	pin := trust.PinOf(m.Authorities[0])
	join := func(role trust.Role, pin trust.Pin, id string) (string, error) {
		return called(trust.NewToken(role, pin).String(), "join", string(role), "--address", "127.0.0.1:1", "--id", id, "--data-dir", data, "--no-config")
	}
	if out, err := join(trust.RoleNode, pin, "n1"); err != nil || !strings.Contains(out, "The token was not used") {
		t.Errorf("again: %s, %v", out, err)
	}
	for want, try := range map[string]func() (string, error){
		"the token is of another cluster": func() (string, error) { return join(trust.RoleNode, trust.Pin{1}, "n1") },
		"and not of a peer":               func() (string, error) { return join(trust.RolePeer, pin, "n1") },
		"a name never changes":            func() (string, error) { return join(trust.RoleNode, pin, "n2") },
	} {
		if out, err := try(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %s, %v", want, out, err)
		}
	}
	if again, err := trust.Load(filepath.Join(data, trust.Subfolder)); err != nil || !again.Certificate.Equal(own.Certificate) {
		t.Errorf("the certificate was replaced: %v", err)
	}
}

// A file of settings keeps its text; a section that it has stays.
func TestFileOfSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berth.yaml")
	const old = "# mine\nserver:\n  id: p1\nauth:"
	if err := os.WriteFile(path, []byte(old), 0o640); err != nil {
		t.Fatal(err)
	}
	agent := section{"agent", []entry{{"node", "n: 1"}, {"peers", []string{"10.0.0.1:1", "[::1]:2"}}}}
	server := section{"server", []entry{{"id", "p2"}}}
	var out bytes.Buffer
	add := func(sections ...section) {
		t.Helper()
		f, err := readSettings(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := configure(&out, f, sections...); err != nil {
			t.Fatal(err)
		}
	}
	add(server, section{"auth", []entry{{"enabled", true}}})
	if got := read(t, path); got != old || !strings.Contains(out.String(), "id: p2") || !strings.Contains(out.String(), "enabled: true") {
		t.Errorf("%q, and said %q", got, out.String())
	}
	add(section{"auth", []entry{{"enabled", true}}}) // a section without content is there, too
	if got := read(t, path); got != old {
		t.Errorf("%q", got)
	}
	add(agent)
	want := old + "\n\nagent:\n  node: 'n: 1'\n  peers:\n    - 10.0.0.1:1\n    - '[::1]:2'\n"
	if got := read(t, path); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// The address of this machine is that of the way to the other one, or what --advertise says.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ given, towards, host string }{
		{"", "127.0.0.1:1", "127.0.0.1"}, {"lo", "", ""}, {"127.0.0.9", "", "127.0.0.9"}, {"localhost", "", "localhost"}, {"::1", "", "::1"},
	} {
		at, err := findPlace(v.given, v.towards)
		if v.host == "" { // of the interface
			if ip, bad := netip.ParseAddr(at.host); err != nil || bad != nil || !ip.IsLoopback() {
				t.Errorf("%q: %+v, %v", v.given, at, err)
			}
			continue
		}
		if v.host == "::1" && err == nil && !at.own {
			continue // a machine without IPv6
		}
		if err != nil || at.host != v.host || at.own == (v.host == "localhost") {
			t.Errorf("%q towards %q: %+v, %v", v.given, v.towards, at, err)
		}
	}
	if a := (place{"gpu1.example.org", false}).at(portAgent); a.bind != "[::]:7001" || a.reached != "gpu1.example.org:7001" {
		t.Errorf("%+v", a)
	}
}

// noBackup is a program that restores no backups.
type noBackup struct{ Restorer }

func (noBackup) Bind(*cobra.Command) {}
func (noBackup) Asked() bool         { return false }

// A node whose agent runs as root runs jobs under the accounts of their users; any other agent could not.
func TestSettingsOfANode(t *testing.T) {
	t.Parallel()
	for _, asRoot := range []bool{true, false} {
		j := &joiner{role: trust.RoleNode, users: asRoot}
		sections := j.sections(place{host: "10.0.0.11", own: true}, &wire.Joined{Peers: []wire.PeerAddress{{API: "10.0.0.1:10000"}}}, nil)
		text, err := sections[0].text()
		if err != nil || strings.Contains(text, "run_as_users: true") != asRoot || strings.Contains(text, "shared_account") {
			t.Errorf("as root %t: %s, %v", asRoot, text, err)
		}
	}
}
