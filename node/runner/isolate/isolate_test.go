package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is also the stage's main.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "stage" {
		os.Exit(Stage())
	}
	if len(os.Args) == 2 && os.Args[1] == "shows" {
		fmt.Println(ShowsOthers())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// unprivileged returns an account without rights.
func unprivileged(t *testing.T) *Account {
	t.Helper()
	if err := Possible(); err != nil {
		t.Skipf("needs a host that can isolate jobs: %v", err)
	}
	a, err := (&Rules{Map: map[string]string{"ada": "nobody"}}).Account("ada")
	if err != nil {
		t.Skipf("needs the account nobody: %v", err)
	}
	return a
}

// run has the stage become a shell command.
func run(t *testing.T, p *Plan, command string) (out string, code int) {
	t.Helper()
	p.Argv, p.Env, p.Parent = Join([]string{"sh", "-c", command}), []byte("PATH=/usr/bin:/bin"), os.Getpid()
	p.View.Tmp = t.TempDir()
	file, err := p.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command("/proc/self/exe", "stage")
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	data, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// A device that is not the job's own gives nothing and takes everything.
func TestCoveredDevices(t *testing.T) {
	a := unprivileged(t)
	device := filepath.Join("/dev", "berth-test-"+filepath.Base(t.TempDir())+"-nvidia7")
	if err := os.WriteFile(device, []byte("a GPU\n"), 0o666); err != nil {
		t.Skipf("needs the right to make a file in /dev: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(device) })
	if err := os.Chmod(device, 0o666); err != nil {
		t.Fatal(err)
	}
	look := "cat " + device + "; test -c " + device + " && echo covered; umount " + device + " 2>/dev/null && echo uncovered; echo lost > " + device
	if out, code := run(t, &Plan{Account: a, View: View{Devices: []string{device}}}, look); out != "covered\n" || code != 0 {
		t.Errorf("covered: %d, %q", code, out)
	}
	if out, _ := run(t, &Plan{Account: a}, "cat "+device); out != "a GPU\n" {
		t.Errorf("not covered: %q", out)
	}
}

// A folder that is hidden is empty, but for what is to be seen.
func TestHidden(t *testing.T) {
	a := unprivileged(t)
	dir, err := os.MkdirTemp("/var/tmp", "hidden-*")
	if err != nil {
		t.Skipf("needs a writable /var/tmp: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	work := filepath.Join(dir, "a", "work")
	if err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(work, 0o700), os.Chown(work, int(a.UID), int(a.GID)),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644), os.WriteFile(filepath.Join(work, "mine"), []byte("mine\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	p := &Plan{Account: a, Dir: work, Umask: 0o27, View: View{
		Hide: []string{dir, "/does/not/exist"}, Keep: []string{work}, Script: filepath.Join(dir, "a", "script"), Text: []byte("#!/bin/sh\necho ran\n"),
	}}
	out, code := run(t, p, "cat mine; test -e "+dir+"/secret && echo sees; touch "+dir+"/a/new 2>/dev/null && echo wrote; touch new; ../script")
	if out != "mine\nran\n" || code != 0 {
		t.Errorf("%d, %q", code, out)
	}
	if info, err := os.Stat(filepath.Join(work, "new")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	p.View.Script = "/etc/berth-test-script"
	if out, code := run(t, p, "true"); code != NotExecuted || !strings.Contains(out, "no folder that is hidden") {
		t.Errorf("a script outside: %d, %q", code, out)
	}
	if _, err := os.Lstat(p.View.Script); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it was written")
	}
}

// A job sees its own processes in /proc and none of others, with their command lines; the host's /proc stays as it is.
func TestProcessesOfOthersAreHidden(t *testing.T) {
	a := unprivileged(t)
	var version unix.Utsname
	if err := unix.Uname(&version); err != nil || unix.ByteSliceToString(version.Release[:]) < "5.8" && version.Release[1] == '.' {
		t.Skip("needs Linux 5.8")
	}
	pid := strconv.Itoa(os.Getpid())
	out, code := run(t, &Plan{Account: a}, "cat /proc/"+pid+"/cmdline; test -e /proc/1 && echo sees; cat /proc/self/comm; sleep 5 & cat /proc/$!/comm; kill $!; test -r /proc/cpuinfo && echo all else")
	if code != 0 || strings.Contains(out, "sees") || strings.Contains(out, "stage") || !strings.Contains(out, "cat\n") || !strings.HasSuffix(out, "all else\n") {
		t.Errorf("%d, %q", code, out)
	}
	if _, err := os.Stat("/proc/1"); err != nil {
		t.Errorf("on the host: %v", err)
	}
}

// The stage is of no use by hand, and starts nothing for a supervisor that is gone.
func TestStageRefuses(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "stage")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != NotExecuted || !strings.Contains(string(out), "not a command") {
		t.Errorf("%q, %v", out, err)
	}
	p := &Plan{Account: unprivileged(t), View: View{Tmp: t.TempDir()}} // its parent is no process
	file, err := p.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd = exec.Command("/proc/self/exe", "stage")
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "supervisor has ended") {
		t.Errorf("%q, %v", out, err)
	}
}

// A link of the user's leads nowhere that the user may not go, and what the user
// makes is the user's.
func TestGo(t *testing.T) {
	a := unprivileged(t)
	dir, err := os.MkdirTemp("/var/tmp", "go-*")
	if err != nil {
		t.Skipf("needs a writable /var/tmp: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := errors.Join(os.Chown(dir, int(a.UID), int(a.GID)), os.Symlink("/root", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	type result struct{ up, made error }
	done := make(chan result, 1)
	a.Go(func() {
		_, up := os.ReadDir(filepath.Join(dir, "link"))
		done <- result{up, os.Mkdir(filepath.Join(dir, "made"), 0o700)}
	}, func(err error) { done <- result{err, err} })
	if r := <-done; !errors.Is(r.up, fs.ErrPermission) || r.made != nil {
		t.Errorf("%+v", r)
	}
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "made"), &stat); err != nil || stat.Uid != a.UID {
		t.Errorf("%+v, %v", stat, err)
	}
	if _, err := os.ReadDir("/root"); err != nil {
		t.Errorf("the rest of this process has changed: %v", err)
	}
	(*Account)(nil).Go(func() { done <- result{} }, func(err error) { done <- result{err, err} })
	if r := <-done; r.up != nil {
		t.Error(r.up)
	}
}

// The account of a job follows from the operator's rules alone.
func TestAccount(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rules Rules
		user  string
		want  string // part of the error; empty: it is me
	}{
		"own name":   {Rules{Root: true}, me.Username, ""},
		"mapped":     {Rules{Root: true, Map: map[string]string{"ada": me.Username}}, "ada", ""},
		"only":       {Rules{Only: true, Map: map[string]string{"ada": me.Username}}, me.Username, "mapped to no account"},
		"no account": {Rules{}, "no-such-user", "has no account"},
		"a number":   {Rules{Root: true}, "0", "has no account"},
		"a path":     {Rules{Root: true}, "../" + me.Username, "has no account"},
		"nothing":    {Rules{Root: true}, "", "has no account"},
		"root":       {Rules{}, "root", "no job as root"},
	} {
		a, err := c.rules.Account(c.user)
		if c.want == "" && (err != nil || a.Name != me.Username || len(a.Groups) == 0 || !slices.Contains(a.Groups, a.GID)) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// Numbers that are none, or that mean "leave it", are no account's.
func TestUnfitAccount(t *testing.T) {
	for _, uid := range []string{"", "-1", "4294967295", "4294967296", "S-1-5"} {
		if a, err := account(&user.User{Uid: uid, Gid: "0", Username: "root"}, nil); err == nil {
			t.Errorf("%q: %+v", uid, a)
		}
	}
}

// The devices of other GPUs are distinguished from the rank's own by what the driver shows.
func TestOthers(t *testing.T) {
	d := Devices{Proc: t.TempDir(), Dev: t.TempDir()}
	for pci, text := range map[string]string{
		"0000:10:00.0": "Model: \t NVIDIA H100\nGPU UUID: \t GPU-a\nDevice Minor: \t 2\n",
		"0000:20:00.0": "GPU UUID: \t GPU-b\nDevice Minor: \t 0\n",
		"0000:30:00.0": "GPU UUID: GPU-????????\n",
	} {
		if err := errors.Join(os.Mkdir(filepath.Join(d.Proc, pci), 0o755),
			os.WriteFile(filepath.Join(d.Proc, pci, "information"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia", "null"} {
		if err := os.WriteFile(filepath.Join(d.Dev, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		ids  string
		want string
		ok   bool
	}{{"GPU-a", "nvidia0 nvidia1", true}, {"GPU-b GPU-a", "nvidia1", true}, {"", "nvidia0 nvidia1 nvidia2", true}, {"MIG-a", "", false}, {"GPU-a MIG-b", "", false}} {
		hide, ok := d.Others(strings.Fields(c.ids))
		for i := range hide {
			hide[i] = filepath.Base(hide[i])
		}
		if strings.Join(hide, " ") != c.want || ok != c.ok {
			t.Errorf("%q: %v, %v", c.ids, hide, ok)
		}
	}
	if hide, ok := (Devices{Proc: "/does/not/exist", Dev: "/does/not/exist"}).Others([]string{"GPU-simulated"}); len(hide) > 0 || !ok {
		t.Errorf("a host without a driver: %v, %v", hide, ok)
	}
}

// Each right that is missing is named.
func TestPossible(t *testing.T) {
	if err := suffices("000001ffffffffff"); err != nil {
		t.Error(err)
	}
	for set, want := range map[string]string{"0000000000000000": "SYS_ADMIN", "000001ffffffff7f": "SETUID", "x": "invalid", "": "invalid"} {
		if err := suffices(set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", set, err)
		}
	}
}

// Texts come back as they were, whatever bytes they hold.
func TestJoin(t *testing.T) {
	for _, texts := range [][]string{nil, {"a"}, {"a", "", "b"}, {"\xff\xfe", "ü\n"}} {
		if got := Split(Join(texts)); !slices.Equal(got, texts) {
			t.Errorf("%q became %q", texts, got)
		}
	}
}

// A folder that keeps users out on the way is named.
func TestReachable(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "reachable-*")
	if err != nil {
		t.Skipf("needs a writable /var/tmp: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := Reachable(dir); err != nil {
		t.Error(err)
	}
	if err := Reachable(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), dir+" is closed") {
		t.Errorf("through a closed folder: %v", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := Reachable(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
	if err := Reachable(filepath.Join(dir, "none", "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := Reachable(filepath.Join(t.TempDir(), "a")); strings.HasPrefix(os.TempDir(), "/tmp") && err != nil {
		t.Errorf("in a private place: %v", err)
	}
}
