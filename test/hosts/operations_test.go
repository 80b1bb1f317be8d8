package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

// operations is the guide for operators.
const operations = "../../docs/operations.md"

// guide is a run of the commands of the guide, as they are written there.
type guide struct {
	*lab

	t    *testing.T
	left []string          // commands of the guide that have not run yet
	as   map[string]string // words that stand for something, and what it is
}

// commandsOf returns the commands in all blocks of a page, without comments.
func commandsOf(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile(`^(berth|berthd|systemctl|runuser|apt|install|useradd) `)
	for i, block := range strings.Split(string(text), "\n```\n") {
		for line := range strings.SplitSeq(block, "\n") {
			if i%2 == 1 && program.MatchString(line) {
				out = append(out, comments.ReplaceAllString(line, ""))
			}
		}
	}
	return out
}

// run runs a command of the guide on a machine, and returns what it printed. Words of the guide that stand for something are replaced.
func (g *guide) run(on, line string) string {
	g.t.Helper()
	out, err := g.try(on, line)
	if err != nil {
		g.t.Fatalf("%s# %s: %v\n%s", on, line, err, out)
	}
	return out
}

// try is run for a command that may fail.
func (g *guide) try(on, line string) (string, error) {
	g.t.Helper()
	g.ran(line)
	for word, what := range g.as {
		line = strings.ReplaceAll(line, word, what)
	}
	return g.do(g.t, on, line)
}

// ran strikes a command of the guide out.
func (g *guide) ran(line string) {
	g.t.Helper()
	if i := slices.Index(g.left, line); i >= 0 {
		g.left = slices.Delete(g.left, i, i+1)
	} else {
		g.t.Errorf("%s does not have the command: %s", operations, line)
	}
}

// says fails the test if a text does not contain another.
func (g *guide) says(out, want string) {
	g.t.Helper()
	if !strings.Contains(out, want) {
		g.t.Errorf("printed %q, not %q", out, want)
	}
}

// Every command in the blocks of the guide for operators works as it is written there. The package is installed in test/packages.
func TestTheCommandsOfTheGuide(t *testing.T) {
	l := startLab(t, plan())
	g := &guide{lab: l, t: t, left: commandsOf(t, operations), as: map[string]string{"FIRST": "10.0.0.1"}}
	g.ran("apt install ./berth_VERSION_amd64.deb") // TestFirstJob
	g.setUp()
	g.members()
	g.byHand()
	g.upgrade()
	g.backUp()
	g.restore()
	g.recover()
	g.loseHost()
	if len(g.left) > 0 {
		t.Errorf("%s has commands that no test runs:\n%s", operations, strings.Join(g.left, "\n"))
	}
}

// token puts a new join token into the file token of a machine.
func (g *guide) token(on, role string) {
	g.t.Helper()
	token := strings.TrimSpace(g.ok(g.t, "p1", "berth token join "+role+local+" 2>/dev/null"))
	g.ok(g.t, on, "cd /etc/berth && echo "+token+" >token")
}

func (g *guide) setUp() {
	g.says(g.run("p1", "berth init"), "--pin ")
	g.as["< token"] = "< /etc/berth/token"
	g.token("p2", "peer")
	g.says(g.run("p2", "berth join peer --address FIRST:10000 < token"), "This machine is peer p2")
	g.token("gpu1", "node")
	g.says(g.run("gpu1", "berth join node --address FIRST:10000 < token"), "This machine is node gpu1")
	g.hasNoDriver(g.t, "gpu1")
	for machine, id := range map[string]string{"p3": "p3", "laptop": "p4"} { // order-free: each joins
		g.token(machine, "peer")
		g.ok(g.t, machine, "berth join peer --address 10.0.0.1:10000 --id "+id+" </etc/berth/token")
	}
	until(g.t, "three peers vote", func() bool {
		return strings.Contains(g.ok(g.t, "p1", "berth cluster status"), "4 peers, 3 with a vote")
	})
}

func (g *guide) members() {
	g.says(g.run("p1", "berth cluster status"), "3 with a vote: the loss of one more costs nothing")
	g.run("p1", "berth peers transfer p3")
	until(g.t, "p3 leads", func() bool { return strings.Contains(g.ok(g.t, "p1", "berth peers -o json"), `"leader": "p3"`) })
	g.run("p1", "berth peers promote p4")
	g.run("p1", "berth peers remove p2")
	until(g.t, "p2 is gone", func() bool {
		return strings.Contains(g.ok(g.t, "p1", "berth cluster status"), "3 peers, 3 with a vote")
	})
}

// byHand installs without a package, in a copy of this host's files that goes with the test.
func (g *guide) byHand() {
	g.t.Helper()
	dir := g.t.TempDir()
	source, err := filepath.Abs("../..")
	if err != nil {
		g.t.Fatal(err)
	}
	built, err := filepath.EvalSymlinks(filepath.Join(g.dir, "bin", "berth"))
	if err != nil {
		g.t.Fatal(err)
	}
	supervisor := filepath.Join(dir, "berth-supervisor")
	build := exec.CommandContext(g.t.Context(), "go", "build", "-o", supervisor, "../../cmd/berth-supervisor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	commands := []string{
		"install -m 755 bin/berth bin/berthd bin/berth-supervisor /usr/bin/",
		"install -m 644 deploy/*.service /etc/systemd/system/",
		"install -D -m 644 deploy/needrestart-berth.conf /etc/needrestart/conf.d/berth.conf",
		"useradd --system berth",
		"install -d -o berth -g berth -m 700 /var/backups/berth /var/log/berth",
		"systemctl daemon-reload",
	}
	script := fmt.Sprintf("set -eu\nmkdir %[1]s/copy\nmount -t tmpfs tmpfs %[1]s/copy\nmkdir %[1]s/copy/up %[1]s/copy/work %[1]s/copy/root\nmount -t overlay overlay -o lowerdir=/,upperdir=%[1]s/copy/up,workdir=%[1]s/copy/work %[1]s/copy/root\n"+
		"mkdir -p %[1]s/copy/root/release/bin %[1]s/copy/root/usr/local/bin\ncp %[6]s %[1]s/copy/root/release/bin/\ncp -r %[2]s/deploy %[1]s/copy/root/release/\ncp %[3]s %[1]s/copy/root/release/bin/berth\ncp %[3]sd %[1]s/copy/root/release/bin/berthd\n"+
		"cp %[4]s %[1]s/copy/root/usr/local/bin/systemctl\nchroot %[1]s/copy/root sh -euc 'cd /release\nPATH=/usr/local/bin:$PATH\n%[5]s\nberth version; getent passwd berth; stat -c %%a /etc/systemd/system/berth-server.service'",
		dir, source, built, filepath.Join(g.dir, "bin", "systemctl"), strings.Join(commands, "\n"), supervisor)
	out, err := exec.CommandContext(context.Background(), "unshare", "--mount", "sh", "-c", script).CombinedOutput()
	if err != nil {
		g.t.Errorf("%v: %s", err, out)
	}
	g.says(string(out), "berth:x:")
	g.says(string(out), "\n644\n")
	for _, line := range commands {
		g.ran(line)
	}
}

func (g *guide) upgrade() {
	g.says(g.run("p1", "berth cluster upgrade check"), "peer")
	g.ran("install -m 755 bin/berth bin/berthd bin/berth-supervisor /usr/bin/") // as by hand
	for i, machine := range []string{"p1", "p3", "laptop"} {
		const restart = "berth cluster upgrade restart"
		if i == 0 {
			g.run(machine, restart)
		} else {
			g.ok(g.t, machine, restart)
		}
	}
	g.run("gpu1", "systemctl restart berth-agent")
	g.run("p1", "berth cluster upgrade finalize")
}

func (g *guide) backUp() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		g.t.Fatal(err)
	}
	dir := g.t.TempDir()
	key, backups := filepath.Join(dir, "key.txt"), filepath.Join(dir, "backups")
	if err := os.WriteFile(key, []byte(identity.String()+"\n"), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Mkdir(backups, 0o700); err != nil {
		g.t.Fatal(err)
	}
	g.as["age1..."], g.as["/mnt/backups"], g.as["key.txt"] = identity.Recipient().String(), backups, key
	g.run("p1", "berth backup create --recipient age1... /mnt/backups")
	files, err := os.ReadDir(backups)
	if err != nil || len(files) != 1 {
		g.t.Fatalf("%d backups: %v", len(files), err)
	}
	g.says(g.run("p1", "berth backup list /mnt/backups"), files[0].Name())
	g.as["FILE"] = files[0].Name()
	g.says(g.run("p1", "berth backup verify /mnt/backups/FILE --identity key.txt"), "whole and keeps every invariant")
	g.as["FILE"] = filepath.Join(backups, files[0].Name())
}

func (g *guide) restore() {
	until(g.t, "the node is up", func() bool { return strings.Contains(g.ok(g.t, "p1", "berth nodes"), "gpu1  up") })
	g.ok(g.t, "gpu1", "useradd -m ann")
	token := tokens.FindString(g.ok(g.t, "p1", "berth token create --user ann --role user"))
	for _, word := range []string{"4711", "4712"} {
		id := strings.Fields(g.ok(g.t, "p1", "BERTH_TOKEN="+token+" berth submit -g 1 -- sleep 600"))[2]
		until(g.t, "job "+id+" runs", func() bool { return strings.Contains(g.ok(g.t, "p1", "berth show "+id), "running") })
		g.as[word] = id
	}
	for _, machine := range []string{"p1", "p3", "laptop"} {
		g.ok(g.t, machine, "systemctl stop berth-server")
	}
	g.ok(g.t, "p1", "rm -rf /var/lib/berth/* /etc/berth/berth.yaml")
	g.says(g.run("p1", "berth init --from-backup FILE --identity key.txt"), "in generation 2")
	until(g.t, "the peer answers", func() bool { // systemd waits for that
		_, err := g.do(g.t, "p1", "berth nodes")
		return err == nil
	})
	g.says(g.run("p1", "berth cluster status"), "No job is started")
	until(g.t, "the node is back with its jobs", func() bool { return strings.Count(g.ok(g.t, "p1", "berth nodes --gpus"), "foreign") == 2 })
	g.says(g.run("p1", "berth nodes --gpus"), "foreign")
	g.run("p1", "berth node adopt gpu1 4711")
	g.run("p1", "berth node kill gpu1 4712")
	g.says(g.ok(g.t, "p1", "berth show "+g.as["4711"]), "running")
	until(g.t, "the other job has ended", func() bool { return !strings.Contains(g.ok(g.t, "p1", "berth nodes --gpus"), "foreign") })
	g.run("p1", "berth cluster resume")
	g.says(g.run("p1", "berth token join peer"), "berth-join-peer-")
}

// recover has the one peer that is left go on alone. Peers of these machines run as root, not under an account of their own.
func (g *guide) recover() {
	g.as["runuser -u berth -- "], g.as["10.0.0.2:7000"] = "", "10.0.0.1:7000"
	g.run("p1", "systemctl stop berth-server")
	const command = "runuser -u berth -- berth cluster recover --address 10.0.0.2:7000"
	out, err := g.try("p1", command)
	if err == nil {
		g.t.Errorf("without --yes: %s", out)
	}
	g.says(out, "nothing was changed")
	g.says(g.run("p1", command+" --yes"), "generation 3")
	g.run("p1", "systemctl start berth-server")
	until(g.t, "the peer leads", func() bool {
		out, err := g.do(g.t, "p1", "berth cluster status")
		return err == nil && strings.Contains(out, "1 peer, 1 with a vote")
	})
	g.says(g.run("p1", "berth token join peer"), "berth-join-peer-")
	g.says(g.ok(g.t, "p1", "berth show "+g.as["4711"]), "running")
}

// loseHost takes the power of a host with a job that has no time limit, and says that the host is dead.
func (g *guide) loseHost() {
	g.as["gpu2"] = "gpu1"
	id := g.as["4711"]
	m, err := g.machine("gpu1")
	if err == nil {
		err = m.off()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.machines = slices.DeleteFunc(g.machines, func(other *machine) bool { return other == m })
	until(g.t, "the host is silent", func() bool { return !strings.Contains(g.ok(g.t, "p1", "berth nodes"), "gpu1  up") })
	g.run("p1", "berth nodes")
	g.says(g.ok(g.t, "p1", "berth show "+id), "running")
	g.run("p1", "berth node confirm-dead gpu2 --yes")
	g.says(g.ok(g.t, "p1", "berth show "+id), "queued")
	g.run("p1", "berth node retire gpu2")
	if out := g.ok(g.t, "p1", "berth nodes"); strings.Contains(out, "gpu1") {
		g.t.Errorf("after retire: %s", out)
	}
}
