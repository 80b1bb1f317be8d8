package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package is installed, upgraded, removed and purged, and of the units only those are touched that may be.
func TestDeb(t *testing.T) {
	t.Parallel()
	deb := published(t, "berth_*_{arch}.deb")
	r := newRoot(t)
	fresh := r.copyIn(deb, "/berth.deb")

	out := r.ok("dpkg -i " + fresh + "; systemctl is-enabled berth-server berth-agent berth-jobs || true; getent passwd berth; stat -c '%a %U' /var/lib/berth /etc/berth; ls -A /etc/berth /var/lib/berth")
	has(t, out, "disabled\ndisabled\ndisabled\n", "/var/lib/berth:/usr/sbin/nologin", "755 root\n755 root\n")
	if left := strings.TrimSpace(r.ok("find /etc/berth /var/lib/berth -mindepth 1")); left != "" {
		t.Errorf("the installation has made %s: keys and settings come from berth init and berth join", left)
	}
	if said := r.ok("systemd-analyze verify --recursive-errors=no berth-server.service berth-agent.service berth-jobs.service 2>&1"); said != "" {
		t.Errorf("systemd-analyze verify: %s", said)
	}
	version := r.ok("berth version; berthd version; berth-supervisor version; dpkg-query -W -f '${Version}\n' berth")
	checkVersions(t, version)
	r.pretend()
	r.ok("dpkg-divert --local --rename --add /usr/bin/berth; ln -s /usr/local/bin/berth.fake /usr/bin/berth")
	t.Run("upgrade", func(t *testing.T) { upgrades(t, r, fresh) })
	t.Run("remove", func(t *testing.T) { removes(t, r, fresh) })
}

// checkVersions compares what the programs show with the version of the package.
func checkVersions(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	packaged := lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		words := strings.Fields(line)
		v := strings.TrimPrefix(words[1], "v")
		if number, pre, is := strings.Cut(v, "-"); is {
			v = number + "~" + strings.ReplaceAll(pre, "-", ".")
		}
		if v != packaged {
			t.Errorf("%q in a package of version %s", line, packaged)
		}
	}
}

func upgrades(t *testing.T, r *root, deb string) {
	r.t = t
	// The peer first, when the others are up, then the agent.
	r.active(1, "berth-server", "berth-agent", "berth-jobs")
	r.write("run/berth-exit", "0")
	r.ok("dpkg -i " + deb)
	if got, want := r.calls(), "systemctl daemon-reload\nberth cluster upgrade restart\nsystemctl try-restart berth-agent.service\n"; !strings.HasSuffix(got, want) {
		t.Errorf("an upgrade called\n%s, want\n%s", got, want)
	}
	// A peer that cannot be restarted now is named, and the package is installed all the same.
	r.write("run/berth-exit", "1")
	has(t, r.ok("dpkg -i "+deb+" 2>&1; dpkg-query -W -f '${Status}' berth"), "run berth cluster upgrade restart", "install ok installed")
	has(t, r.calls(), "systemctl try-restart berth-agent.service\n")
	// Nothing runs: nothing is started.
	r.active(0)
	r.ok("dpkg -i " + deb)
	hasNot(t, r.calls(), "restart", " start")
}

func removes(t *testing.T, r *root, deb string) {
	r.t = t
	r.active(3, "berth-server", "berth-agent", "berth-jobs")
	r.calls()
	has(t, r.ok("dpkg -r berth 2>&1"), "jobs still run here", "systemctl stop berth-jobs ends them")
	calls := r.calls()
	has(t, calls, "systemctl stop berth-agent.service berth-server.service\n")
	hasNot(t, calls, "berth-jobs")

	r.ok("dpkg -i " + deb)
	r.active(1, "berth-server", "berth-agent", "berth-jobs")
	r.ok("dpkg -r berth")
	has(t, r.calls(), "systemctl stop berth-jobs.service\n")

	r.ok("dpkg -i " + deb + "; echo x > /etc/berth/berth.yaml; mkdir /var/lib/berth/server; mkdir -p /etc/systemd/system/multi-user.target.wants; ln -s /usr/lib/systemd/system/berth-server.service /etc/systemd/system/multi-user.target.wants/")
	has(t, r.ok("dpkg -P berth 2>&1"), "/var/lib/berth stays", "rm -r /var/lib/berth")
	left := r.ok("ls -d /etc/berth /etc/needrestart/conf.d/berth.conf /var/lib/berth/server /usr/lib/berth /etc/systemd/system/multi-user.target.wants/berth-server.service 2>/dev/null || true")
	if left != "/var/lib/berth/server\n" {
		t.Errorf("after the purge there are\n%s, want only the data", left)
	}
}

// lintian has nothing to say, piuparts finds nothing that a removal leaves.
func TestDebChecks(t *testing.T) {
	t.Parallel()
	deb := published(t, "berth_*_{arch}.deb")
	t.Run("lintian", func(t *testing.T) {
		needsTime(t)
		needsTools(t, "lintian")
		out := ok(t, "lintian", "--fail-on", "error,warning", deb)
		hasNot(t, out, "E: ", "W: ")
	})
	t.Run("piuparts", func(t *testing.T) {
		needsTime(t)
		needsRoot(t)
		needsTools(t, "piuparts", "mmdebstrap")
		base := filepath.Join(t.TempDir(), "base.tar.gz")
		ok(t, "mmdebstrap", "--quiet", "--variant=minbase", "bookworm", base)
		plain := filepath.Join(t.TempDir(), "berth.deb") // piuparts takes no "~" in names of files
		text, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(plain, text, 0o644); err != nil {
			t.Fatal(err)
		}
		has(t, ok(t, "piuparts", "--basetgz", base, "--distribution", "bookworm", "--no-eatmydata", "--skip-logrotatefiles-test", plain), "PASS: All tests")
	})
}
