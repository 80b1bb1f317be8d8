package isolate

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// directory returns a host whose accounts are on the network, for a program that reads
// files alone: ada is in no file, root is in one and has a further group.
func directory(t *testing.T) databases {
	t.Helper()
	dir := t.TempDir()
	d := databases{conf: filepath.Join(dir, "nsswitch.conf"), getent: filepath.Join(dir, "getent"), id: filepath.Join(dir, "id")}
	for path, text := range map[string]string{
		d.conf: "# passwd: files\nhosts: dns\npasswd: files sss\n",
		d.getent: `#!/bin/sh
case "$*" in
"passwd -- ada") echo ada:x:7001:7002:Ada:/srv/ada:/bin/sh ;;
"passwd -- root") echo root:x:0:0:root:/root:/bin/sh ;;
"passwd -- odd") echo odd ;;
"passwd -- down") echo the directory is away >&2; exit 1 ;;
*) exit 2 ;;
esac`,
		d.id: "#!/bin/sh\n[ \"$*\" = '-G -- ada' ] && echo 7002 7003 || echo 0 7003",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Without the C library, accounts of a directory on the network are found all the
// same, and so are groups that it adds to an account of the host's own.
func TestDirectory(t *testing.T) {
	d := directory(t)
	for name, want := range map[string][]string{"ada": {"7002", "7003"}, "root": {"0", "7003"}} {
		u, groups, err := d.find(name)
		if err != nil || u.Username != name || !slices.Equal(groups, want) {
			t.Errorf("%s: %+v, %v, %v", name, u, groups, err)
		}
	}
	if u, _, err := d.find("ada"); err != nil || u.Uid != "7001" || u.Gid != "7002" || u.HomeDir != "/srv/ada" {
		t.Errorf("%+v, %v", u, err)
	}
}

// The tools take a number for an account's number: a user of such a name has no account, instead of another
// user's.
func TestDirectoryRefuses(t *testing.T) {
	d := directory(t)
	d.getent = filepath.Join(filepath.Dir(d.conf), "any")
	if err := os.WriteFile(d.getent, []byte("#!/bin/sh\necho ada:x:7001:7002:Ada:/srv/ada:/bin/sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "0", "7001", "+7001", "-1", " 7001", "\t7001", "a\nb", "a:b", "a\x00b", "../ada"} {
		if u, _, err := d.find(name); err == nil {
			t.Errorf("%q is %+v", name, u)
		}
	}
}

func TestDirectoryFails(t *testing.T) {
	d := directory(t)
	for name, want := range map[string]string{"nobody-at-all": "unknown user", "odd": "no account", "down": "the directory is away"} {
		if u, _, err := d.find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
	d.getent = "no-such-tool"
	if u, _, err := d.find("root"); err == nil { // its groups are unknown
		t.Errorf("without the tool: %+v", u)
	}
}

// On a host with nothing but files, or where the C library is asked, no tool is needed.
func TestFilesAreEnough(t *testing.T) {
	d := directory(t)
	d.getent, d.id = "no-such-tool", "no-such-tool"
	for _, text := range []string{"", "passwd: files systemd\ngroup: compat [NOTFOUND=return] systemd # sss\n"} {
		if err := os.WriteFile(d.conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if u, groups, err := d.find("root"); err != nil || u.Uid != "0" || len(groups) == 0 {
			t.Errorf("%q: %+v, %v, %v", text, u, groups, err)
		}
		_, _, err := d.find("no-such-user")
		if _, unknown := errors.AsType[user.UnknownUserError](err); !unknown {
			t.Errorf("%q: %v", text, err)
		}
	}
	d = directory(t)
	d.libc = true
	if _, _, err := d.find("ada"); err == nil {
		t.Error("the C library knows an account that only the tool has")
	}
}
