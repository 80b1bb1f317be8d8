package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is a Debian in a folder, in which commands run without touching this machine.
type root struct {
	t   *testing.T
	dir string
}

// newRoot makes a Debian 12 with systemd, which does not run, and with more packages.
func newRoot(t *testing.T, more ...string) *root {
	t.Helper()
	needsTime(t)
	needsRoot(t)
	needsTools(t, "mmdebstrap", "unshare", "chroot")
	r := &root{t: t, dir: filepath.Join(t.TempDir(), "root")}
	ok(t, "mmdebstrap", "--quiet", "--variant=minbase", "--include="+strings.Join(append(more, "systemd", "procps"), ","), "bookworm", r.dir)
	return r
}

// in runs a script of the shell in the root, and returns what it writes.
func (r *root) in(script string) (string, error) {
	r.t.Helper()
	return run(r.t, "unshare", "--mount", "sh", "-c", `mount -t proc proc "$0/proc" && exec chroot "$0" sh -euc "$1"`, r.dir, script)
}

// ok runs a script that must succeed.
func (r *root) ok(script string) string {
	r.t.Helper()
	out, err := r.in(script)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// write writes a program into the root.
func (r *root) write(path, text string) {
	r.t.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// copyIn copies a file into the root, and returns its path there.
func (r *root) copyIn(path, to string) string {
	r.t.Helper()
	ok(r.t, "cp", path, filepath.Join(r.dir, to))
	return to
}

// pretend lets systemd look as if it ran, with all units active, and notes calls of systemctl and berth.
func (r *root) pretend() {
	r.t.Helper()
	r.ok(`mkdir -p /run/systemd/system; mv /usr/bin/systemctl /usr/bin/systemctl.real`)
	r.write("usr/bin/systemctl", `#!/bin/sh
echo "systemctl $*" >> /calls
case "$*" in
is-active*) test -e "/run/active-${3%.service}" ;;
"show berth-jobs.service -p ControlGroup --value") echo /system.slice/berth-jobs.service ;;
esac
`)
	r.write("usr/local/bin/berth.fake", `#!/bin/sh
echo "berth $*" >> /calls
exit "$(cat /run/berth-exit)"
`)
}

// calls returns the calls since the last time, without questions.
func (r *root) calls() string {
	r.t.Helper()
	path := filepath.Join(r.dir, "calls")
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	_ = os.Remove(path)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "systemctl is-active") && !strings.HasPrefix(line, "systemctl show") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// active says which units are active, and processes how many processes the unit of the jobs has.
func (r *root) active(processes int, units ...string) {
	r.t.Helper()
	script := "rm -f /run/active-*; mkdir -p /sys/fs/cgroup/system.slice/berth-jobs.service/unit; : > /sys/fs/cgroup/system.slice/berth-jobs.service/unit/cgroup.procs;"
	for _, unit := range units {
		script += " touch /run/active-" + unit + ";"
	}
	for range processes {
		script += " echo 1 >> /sys/fs/cgroup/system.slice/berth-jobs.service/unit/cgroup.procs;"
	}
	r.ok(script)
}
