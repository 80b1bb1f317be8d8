package packages

import (
	"runtime"
	"strings"
	"testing"
)

// rpmArch is the architecture of this machine in the words of rpm.
func rpmArch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}

// An rpm is installed, upgraded and erased in a root. What the root of Debian provides is unknown to rpm (--nodeps).
func TestRPM(t *testing.T) {
	t.Parallel()
	needsTools(t, "rpm")
	path := published(t, "berth-*."+rpmArch()+".rpm")
	has(t, ok(t, "rpm", "-K", path), "digests OK")
	has(t, ok(t, "rpm", "-qp", "--scripts", path), "units installed", "units upgraded", "units removing")
	has(t, ok(t, "rpm", "-qp", "--qf", "%{VERSION} %{LICENSE} %{BUILDHOST}", path), "Apache-2.0 localhost")
	r := newRoot(t)
	rpm := func(args ...string) string {
		t.Helper()
		return ok(t, append([]string{"unshare", "--mount", "sh", "-c", `mount -t proc proc "$0/proc" && exec rpm --root "$0" "$@" 2>&1`, r.dir}, args...)...)
	}
	rpm("--initdb")
	rpm("-i", "--nodeps", path)
	has(t, r.ok("berth version; getent passwd berth; stat -c %a /var/lib/berth"), "/var/lib/berth:/usr/sbin/nologin", "755")
	r.pretend()
	r.active(1, "berth-server", "berth-agent", "berth-jobs")
	r.write("run/berth-exit", "1") // the real berth is installed again by the upgrade, and reaches no peer
	has(t, rpm("-U", "--force", "--nodeps", path), "run berth cluster upgrade restart")
	calls := r.calls()
	has(t, calls, "systemctl try-restart berth-agent.service\n")
	hasNot(t, calls, "berth-jobs", " stop")
	r.active(3, "berth-server", "berth-agent", "berth-jobs")
	r.ok("mkdir -p /var/lib/berth/server")
	has(t, rpm("-e", "berth"), "jobs still run here", "/var/lib/berth stay")
	if calls = r.calls(); !strings.Contains(calls, "systemctl stop berth-agent.service berth-server.service\n") || strings.Contains(calls, "stop berth-jobs") {
		t.Errorf("the removal called\n%s", calls)
	}
}
