package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// engine is podman as it works on this machine.
type engine struct {
	environ []string
	image   string // the loaded image of dist
}

// fallback are settings of podman for machines whose groups of control are not those of systemd, and which may not raise limits.
const fallback = `[engine]
runtime = "runc"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[network]
network_backend = "netavark"
`

// newEngine loads the image of dist.
func newEngine(t *testing.T) *engine {
	t.Helper()
	needsTime(t)
	needsRoot(t)
	needsTools(t, "podman", "podman-compose")
	archive := published(t, "berth_*_linux_{arch}.oci.tar")
	conf := filepath.Join(t.TempDir(), "containers.conf")
	if err := os.WriteFile(conf, []byte(fallback), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded := strings.Fields(ok(t, "podman", "load", "--quiet", "--input", archive))
	e := &engine{image: loaded[len(loaded)-1]}
	said := ""
	for _, environ := range [][]string{nil, {"CONTAINERS_CONF=" + conf}} {
		e.environ = append(environ, "BERTH_IMAGE="+e.image)
		out, err := runIn(t, top, e.environ, "podman", "run", "--rm", "--network", "none", e.image, "version")
		if err == nil && strings.HasPrefix(out, "berth v") {
			return e
		}
		said = out
	}
	t.Skipf("needs a podman that can run containers: %s", said)
	return nil
}

// The image runs as an account without rights, and its programs are those of the release.
func TestImage(t *testing.T) {
	e := newEngine(t)
	out, err := runIn(t, top, e.environ, "podman", "run", "--rm", "--network", "none", "--entrypoint", "sh", e.image, "-c",
		"id; berth version; berthd version; ls -A /etc/berth /var/lib/berth/server; stat -c '%a %u %n' /var/lib/berth/server")
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "uid=64410(berth)", "berth v", "berthd v", "700 64410 /var/lib/berth/server")
	config, err := runIn(t, top, e.environ, "podman", "inspect", e.image)
	if err != nil {
		t.Fatal(err)
	}
	has(t, config, `"64410:64410"`, `"/usr/bin/berth"`, "org.opencontainers.image.version")
}

// The file for compose makes a cluster of three peers and a node in one step; a job runs, and the loss of the first peer is
// survived.
func TestCompose(t *testing.T) {
	e := newEngine(t)
	dir := filepath.Join(top, "deploy", "compose")
	compose := func(args ...string) (string, error) {
		return runIn(t, dir, e.environ, append([]string{"timeout", "120", "podman-compose", "--project-name", "berth-test", "--profile", "sim"}, args...)...)
	}
	down := func() { _, _ = compose("down", "--volumes", "--timeout", "1") }
	down()
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"p1", "p2", "p3", "invite", "sim1"} {
				out, err := runIn(t, dir, e.environ, "podman", "logs", "--tail", "5", "berth-test_"+name+"_1")
				t.Logf("%s: %s%v", name, out, err)
			}
		}
		down()
	})
	if _, err := compose("up", "--detach"); err != nil {
		t.Fatal(err)
	}
	in := func(peer string, argv ...string) (string, error) {
		return runIn(t, dir, e.environ, append([]string{"timeout", "30", "podman", "exec", "--env", "BERTH_ADDRESS=unix:/var/lib/berth/server/admin.sock", "berth-test_" + peer + "_1"}, argv...)...)
	}
	within := func(what, peer, wanted string, argv ...string) {
		t.Helper()
		end := time.Now().Add(2 * time.Minute)
		for {
			out, err := in(peer, argv...)
			if err == nil && strings.Contains(out, wanted) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("not within two minutes: %s: %s%v", what, out, err)
			}
		}
	}
	within("three peers have votes", "p1", "3 peers, 3 with a vote", "berth", "cluster", "status")
	within("the node is there", "p1", "4/4", "berth", "nodes")
	within("a job runs", "p1", "hello from gpu1", "berth", "run", "-g", "1", "--", "sh", "-c", "echo hello from $(hostname)")
	again, err := in("p1", "berth-member", "invite", "--into", "/var/lib/berth/tokens", "peer=p2", "node=gpu1")
	if err != nil {
		t.Fatal(err)
	}
	has(t, again, "peer p2 is a member already", "node gpu1 is a member already")
	if _, err := runIn(t, dir, e.environ, "podman", "stop", "--time", "15", "berth-test_p1_1"); err != nil {
		t.Fatal(err)
	}
	within("a job runs without the first peer", "p2", "still here", "berth", "run", "-g", "1", "--", "echo", "still here")
	if _, err := runIn(t, dir, e.environ, "podman", "start", "berth-test_p1_1"); err != nil {
		t.Fatal(err)
	}
	within("the first peer has caught up", "p1", "", "berth-member", "ready")
}

// A first peer that has lost its folder makes no second cluster while another peer answers.
func TestNoSecondCluster(t *testing.T) {
	e := newEngine(t)
	name := "berth-test-first"
	remove := func() { _, _ = runIn(t, top, e.environ, "podman", "rm", "--force", "--time", "1", name) }
	remove()
	t.Cleanup(remove)
	if _, err := runIn(t, top, e.environ, "podman", "run", "--detach", "--name", name, "--entrypoint", "berth-member", e.image, "peer", "--name", "p1", "--found", "--advertise", "eth0"); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	for {
		if _, err := runIn(t, top, e.environ, "podman", "exec", name, "berth-member", "ready"); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	address, err := runIn(t, top, e.environ, "podman", "inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := runIn(t, top, e.environ, "podman", "run", "--rm", "--entrypoint", "berth-member", e.image,
		"peer", "--name", "p2", "--found", "--others", strings.TrimSpace(address)+":10000")
	if err == nil {
		t.Fatal("a second cluster was made")
	}
	has(t, out, ":10000 answers", "makes no second cluster", "join under another name")
}
