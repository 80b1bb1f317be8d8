package isolate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An account of the system is a user's only if the operator maps the user to it.
func TestSystemAccounts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"daemon", "bin", "games"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if a, err := (&Rules{}).Account(name); err == nil || !strings.Contains(err.Error(), "--account "+name+"="+name) {
			t.Errorf("%s by its name alone: %+v, %v", name, a, err)
		}
		if a, err := (&Rules{Map: map[string]string{"ada": name}}).Account("ada"); err != nil || a.Name != found.Username {
			t.Errorf("mapped to %s: %+v, %v", name, a, err)
		}
	}
}

// An account of the system has a low number, or no login in the host's own file; the host decides what is low.
func TestWhatIsOfTheSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := system{filepath.Join(dir, "login.defs"), filepath.Join(dir, "passwd")}
	check := func(name string, uid uint32, want string) {
		t.Helper()
		if got := s.why(&Account{Name: name, UID: uid}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s, %d: %q, want %q", name, uid, got, want)
		}
	}
	check("ada", 1000, "")
	check("berth", 999, "below UID_MIN, 1000")
	if err := errors.Join(os.WriteFile(s.defs, []byte("# UID_MIN 1\nUID_MAX 9\nUID_MIN\t\t 5000 # here\n"), 0o600),
		os.WriteFile(s.passwd, []byte("ada:x:6000:6000::/users/ada:/bin/bash\nbuild:x:6001:6001::/:/usr/sbin/nologin\nsync:x:6002:6002::/:/bin/false\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	check("ada", 6000, "")
	check("ada", 4999, "below UID_MIN, 5000")
	check("build", 6001, "/usr/sbin/nologin")
	check("sync", 6002, "/bin/false")
	check("of a directory", 70000, "")
	check("none", 65534, "without an account")
}

// peerAt makes what a running peer has: a folder with a secret and a socket, of an account.
func peerAt(t *testing.T, uid, gid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "peer-*")
	if err != nil {
		t.Skipf("needs a writable /var/tmp: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "admin.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "key"), []byte("secret"), 0o644), os.Chown(socket, uid, gid), os.Chown(dir, uid, gid),
		os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// No job runs under the account of a peer on this host, even one that is mapped to it.
func TestAccountsOfPeers(t *testing.T) {
	a := unprivileged(t)
	none, rules := Peers{Socket: "other.sock"}, &Rules{Map: map[string]string{"ada": a.Name}}
	for _, p := range []Peers{{}, none} {
		if rules.Peers = p; p.runUnder(a) {
			t.Errorf("%+v are found", p)
		}
	}
	dir := peerAt(t, int(a.UID), int(a.GID))
	for _, p := range []Peers{{Account: a.Name}, {Folders: []string{"/does/not/exist", dir}}, {Socket: "admin.sock"}} {
		rules.Peers = p
		if got, err := rules.Account("ada"); err == nil || !strings.Contains(err.Error(), "a peer of the cluster runs under the account") {
			t.Errorf("%+v: %+v, %v", p, got, err)
		}
	}
	p := Peers{Command: []string{"berthd", "berth", "server"}}
	for line, want := range map[string]bool{
		"/usr/bin/berthd\x00server\x00--id\x00p1\x00": true, "berth\x00server\x00": true, "berth\x00agent\x00": false, "sh\x00server\x00": false, "berthd": false, "": false,
	} {
		if got := p.is([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// Jobs do not see the folders of peers; a path that leads elsewhere by now covers nothing.
func TestFoldersOfPeersAreHidden(t *testing.T) {
	a := unprivileged(t)
	dir := peerAt(t, 4321, 4321)
	p := &Peers{Socket: "admin.sock"}
	if out, code := run(t, &Plan{Account: a, View: View{Peers: p.Covers()}}, "cat "+dir+"/key; ls "+dir+" | wc -l"); code != 0 || strings.Contains(out, "secret") ||
		!strings.HasSuffix(out, "0\n") {
		t.Errorf("%d, %q", code, out)
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	covers := []Folder{{link, 4321}, {dir, 4322}, {dir + "/key", 4321}, {"/does/not/exist", 4321}}
	if out, code := run(t, &Plan{Account: a, View: View{Peers: covers}}, "cat "+dir+"/key"); code != 0 || out != "secret" {
		t.Errorf("paths that lead elsewhere: %d, %q", code, out)
	}
}

// A folder on a file system that is lost, which any user can bring about, keeps no job from starting, and one that hangs delays
// no look at the others for long.
func TestFoldersThatAUserBreaks(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	if err := unix.Mount("hanging", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)); err != nil {
		t.Skipf("needs the right to mount a file system (CAP_SYS_ADMIN): %v", errors.Join(err, unix.Close(fd)))
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if found := lookAt([]string{filepath.Join(dir, "peer.sock")}, time.Millisecond); len(found) != 1 || found[0] != nil {
		t.Errorf("where nothing answers: %+v", found)
	}
	if err := unix.Close(fd); err != nil { // from now on all uses fail
		t.Fatal(err)
	}
	if err := (Folder{Path: filepath.Join(dir, "data")}).cover(); err != nil {
		t.Errorf("a folder on a lost file system: %v", err)
	}
	there := t.TempDir()
	if found := lookAt([]string{filepath.Join(dir, "peer.sock"), there}, time.Minute); found[0] != nil || found[1] == nil {
		t.Errorf("found %+v", found)
	}
}
