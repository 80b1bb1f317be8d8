package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// someFiles makes files and links that others may or may not write.
func someFiles(t *testing.T, at func(name string) string) {
	t.Helper()
	for _, folder := range []string{"own", "open", "sticky"} {
		if err := os.Mkdir(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, v := range []struct {
			name string
			mode fs.FileMode
		}{{"good", 0o644}, {"group", 0o664}, {"all", 0o666}} {
			path := filepath.Join(at(folder), v.name)
			if err := os.WriteFile(path, nil, v.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, v.mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, mode := range map[string]fs.FileMode{"open": 0o777, "sticky": 0o777 | fs.ModeSticky} {
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"own/link": "good", "own/far": at("open/good"), "own/chain": "far", "folder": "open", "loop": "loop", "dangling": "none"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
}

// A file of the folder where a program happens to start is read only if no other user could
// have written it.
func TestTrusted(t *testing.T) {
	t.Parallel()
	uid := uint32(os.Geteuid())
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	someFiles(t, at)
	for _, v := range []struct {
		path string
		mask fs.FileMode
		want string // in the error; empty: none
	}{
		{"own/good", writtenByOthers, ""},
		{"own/group", writtenByOthers, "own/group can be written by other users (mode 0664): chmod go-w"},
		{"own/group", writtenByAll, ""},
		{"own/all", writtenByAll, "own/all can be written"},
		{"own/link", writtenByOthers, ""},
		{"own/far", writtenByOthers, "open can be written"},
		{"own/chain", writtenByOthers, "open can be written"},
		{"open/good", writtenByOthers, "open can be written by other users (mode 0777)"},
		{"folder/good", writtenByOthers, "open can be written"},
		{"sticky/good", writtenByOthers, ""},
		{"own/../open/good", writtenByOthers, "open can be written"},
		{"loop", writtenByOthers, "symbolic links"},
		{"dangling", writtenByOthers, "no such file"},
		{"own/none", writtenByOthers, "no such file"},
	} {
		err := trusted(at(v.path), uid, v.mask)
		if (err == nil) != (v.want == "") || err != nil && !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s: %v, want %q", v.path, err, v.want)
		}
	}
	if uid != 0 {
		return
	}
	if err := os.Lchown(at("own/good"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := trusted(at("own/good"), uid, writtenByOthers); err == nil || !strings.Contains(err.Error(), "belongs to user id 12345, not to this user (0) or root") {
		t.Errorf("another's file: %v", err)
	}
	if err := trusted(at("own/good"), 12345, writtenByOthers); err != nil {
		t.Errorf("its owner is refused: %v", err)
	}
}

// Root reads no file that was not named, and the message says how to name one.
func TestRootReadsNoFileOfTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(defaultFile, []byte("agent: {prolog: /x/evil.sh}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := func() int { return 0 }
	for _, p := range []Program{OfServer, OfAgent} {
		if c, err := Load(Source{Program: p, UID: root}); err == nil || !strings.Contains(err.Error(), "--config config.yaml") || c.Agent.Ranks.Prolog != "" {
			t.Errorf("root reads %q: %v", c.Agent.Ranks.Prolog, err)
		}
	}
	if c, err := Load(Source{Program: OfAgent, File: defaultFile, UID: root}); err != nil || c.Agent.Ranks.Prolog == "" {
		t.Errorf("a file that is named: %v", err)
	}
}

// A user's own file that cannot be read, or that another could have written, costs nothing
// where the addresses come from elsewhere, and is named where they do not.
func TestAUsersFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte("client: {address: ['10.0.0.9:1']}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o606); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, folder} {
		src := Source{Program: OfClient, File: file, Optional: true}
		if _, err := Load(src); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "BERTH_ADDRESS") {
			t.Errorf("%s is used: %v", file, err)
		}
		src.Environ = []string{"BERTH_ADDRESS=10.0.0.1:1"}
		got, err := Load(src)
		if err != nil || len(got.Client.Address) != 1 || got.Client.Address[0] != "10.0.0.1:1" || len(got.Notes) != 1 ||
			!strings.Contains(got.Notes[0], file) {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
	if _, err := Load(Source{Program: OfClient, File: filepath.Join(path, "none"), Optional: true}); err != nil {
		t.Errorf("a file below one that is no folder: %v", err)
	}
}

// What holds secrets is its owner's alone.
func TestSecretsArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	text := "auth: {enabled: true, api_keys: {SECRET-SECRET-SECRET: a}}\n"
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false, 0o644: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPrivate(path)
		_, whole := Load(Source{Program: OfServer, File: path})
		for _, err := range []error{err, whole} {
			told := err != nil && strings.Contains(err.Error(), "chmod 6") && strings.HasSuffix(err.Error(), "0 "+path)
			if (err == nil) != want || err != nil && (!told || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("mode %04o: %v", mode, err)
			}
		}
		if _, err := Load(Source{File: path}); err != nil {
			t.Errorf("a file that is only checked, of mode %04o: %v", mode, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("server: {http: '127.0.0.1:1'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Source{Program: OfServer, File: path}); err != nil {
		t.Errorf("a file without secrets is refused: %v", err)
	}
}

// Root lends a file with secrets to one group only: that of the account of peers, which has the name of the account. All else is
// its reader's alone, and each message ends with a command that makes the file fit.
func TestOnlyTheGroupOfPeersReadsSecrets(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	const berth, ann, users = 990, 1000, 100
	for _, v := range []struct {
		reader   Reader
		uid, gid int
		mode     fs.FileMode
		want     string // the remedy; empty: the file is fit
	}{
		{Reader{UID: berth, GID: berth}, 0, berth, 0o640, ""},
		{Reader{UID: berth, GID: berth}, berth, berth, 0o600, ""},
		{Reader{UID: 0, GID: berth}, 0, berth, 0o640, ""},
		{Reader{UID: 0, GID: berth}, 0, berth, 0o440, ""},
		{Reader{UID: 0, GID: berth}, 0, users, 0o640, "chown root:BERTH F && chmod 640 F"},
		{Reader{UID: 0, GID: berth}, 0, 0, 0o640, "chown root:BERTH F && chmod 640 F"},
		{Reader{UID: 0, GID: berth}, 0, berth, 0o660, "chown root:BERTH F && chmod 640 F"},
		{Reader{UID: 0, GID: berth}, 0, berth, 0o644, "chown root:BERTH F && chmod 640 F"},
		{Reader{UID: 0, GID: berth}, ann, berth, 0o600, "chown root:BERTH F && chmod 640 F"},
		{Reader{UID: berth, GID: berth}, berth, berth, 0o640, "chmod 600 F"},
		{Reader{UID: berth, GID: berth}, ann, berth, 0o640, "chown root:BERTH F && chmod 640 F"},
		{Reader{}, 0, users, 0o640, "chmod 600 F"},
		{Reader{}, 0, berth, 0o640, "chmod 600 F"},
		{Reader{}, 0, 0, 0o640, "chmod 600 F"},
		{Reader{UID: ann}, 0, users, 0o640, "chown ANN F && chmod 600 F"},
		{Reader{UID: ann}, 0, ann, 0o600, ""},
		{Reader{UID: ann}, ann, users, 0o640, "chmod 600 F"},
		{Reader{UID: ann}, berth, berth, 0o600, "chown ANN F && chmod 600 F"},
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chown(path, v.uid, v.gid), os.Chmod(path, v.mode)); err != nil {
			t.Fatal(err)
		}
		_, err := v.reader.Read(path)
		exposed, is := errors.AsType[*Exposed](err)
		want := strings.NewReplacer("F", path, "BERTH", groupName(berth), "ANN", accountName(ann)).Replace(v.want)
		if (err == nil) != (want == "") || is && exposed.Remedy != want {
			t.Errorf("%+v, %d:%d mode %o: %v, not %q", v.reader, v.uid, v.gid, v.mode, err, want)
		}
	}
}

// A command of a user reads what is this user's alone, whatever accounts the machine has.
func TestCommandsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	path := filepath.Join(t.TempDir(), "token")
	for _, gid := range []int{0, 1, 100, os.Getegid()} { // 1 is daemon, an account with a group of its own
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chown(path, 0, gid), os.Chmod(path, 0o640)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPrivate(path); err == nil {
			t.Errorf("a file that the group %d reads is private", gid)
		}
	}
	if uid, gid := LentTo("daemon"); uid != 1 || gid != 1 {
		t.Errorf("daemon is %d:%d", uid, gid)
	}
	for _, account := range []string{"sync", "no-such-account", "root"} { // the main group of sync is that of others, too
		if _, gid := LentTo(account); gid != 0 {
			t.Errorf("root lends to the group %d of %s", gid, account)
		}
	}
}
