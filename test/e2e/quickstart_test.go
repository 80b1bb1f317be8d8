package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// quick is a cluster that is set up by the commands of the quick start, on loopback addresses of its own in place of
// machines.
type quick struct {
	*guarded

	env []string
}

func newQuick(t *testing.T) *quick {
	t.Helper()
	dir := t.TempDir()
	return &quick{&guarded{t: t, dir: dir, first: make(chan string, 8)}, append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, "home"))}
}

// at returns the address of one of the machines.
func (q *quick) at(machine int) string { return fmt.Sprintf("127.0.77.%d", machine) }

// do runs a command with text on standard input, and returns what it printed on standard output.
func (q *quick) do(in string, args ...string) string {
	q.t.Helper()
	cmd := exec.Command(program(), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = q.env, strings.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		q.t.Fatalf("berth %s: %v: %s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// machine adds the flags of a machine to a command.
func (q *quick) machine(n int, name string, args ...string) []string {
	return append(args, "--id", name, "--advertise", q.at(n), "--data-dir", filepath.Join(q.dir, name), "--config", filepath.Join(q.dir, name+".yaml"), "--no-start")
}

// start runs the program of a machine with the settings that were written for it.
func (q *quick) start(program, name string, more ...string) {
	q.t.Helper()
	q.run(name, append([]string{program, "--config", filepath.Join(q.dir, name+".yaml")}, more...)...)
}

// socket returns the address of the socket of a peer.
func (q *quick) socket(name string) string { return "unix:" + filepath.Join(q.dir, name, "admin.sock") }

// An administrator makes a cluster of three peers and a node with berth init and berth join, without a certificate in
// hand, and a user logs in and runs a job. A join that is repeated changes nothing, and a token is good once.
func TestQuickStart(t *testing.T) {
	q := newQuick(t)
	began := time.Now()
	q.do("", q.machine(1, "p1", "init")...)
	q.start("server", "p1", "--min-free", "1")
	admin := q.socket("p1")
	waitFor(t, "the first peer is ready", func() bool { return q.berth("", admin, "nodes").code == 0 })
	tokens := map[string]string{}
	for i, m := range []string{"peer p2", "peer p3", "node gpu1"} {
		role, name, _ := strings.Cut(m, " ")
		joins := time.Now()
		tokens[name] = q.do("", "token", "join", role, "--address", admin)
		if out := q.do(tokens[name], q.machine(2+i, name, "join", role, "--address", q.at(1)+":10000")...); !strings.Contains(out, "This machine is "+m+" of cluster") {
			t.Errorf("%s joined: %s", m, out)
		}
		if role == "peer" {
			q.start("server", name, "--min-free", "1")
		} else {
			q.start("agent", name, "--gpus", "sim:2", "--shared-account", "--run-as-users=false") // joined as root, it would run jobs as their users
		}
		t.Logf("berth join %s: %s", m, time.Since(joins).Round(time.Millisecond))
	}
	pin := strings.TrimSpace(q.do("", "cert", "pin", filepath.Join(q.dir, "p1")))
	token := q.do("", "token", "create", "--user", "ann", "--role", "admin", "--address", admin)
	if out := q.do(token, "login", "lab", "--address", q.at(2)+":10000,"+q.at(3)+":10000", "--pin", pin); !strings.Contains(out, "as ann with the role admin") {
		t.Errorf("logged in: %s", out)
	}
	if out := q.do("", "run", "--gpus", "1", "--", "echo", "hello from a GPU"); !strings.Contains(out, "hello from a GPU") {
		t.Errorf("the job printed %s", out)
	}
	t.Logf("from nothing to the end of the first job: %s", time.Since(began).Round(time.Millisecond))
	waitFor(t, "all peers are there", func() bool { return strings.Count(q.do("", "peers", "-o", "json"), `"reachable": true`) == 3 })

	again := q.machine(3, "p3", "join", "peer", "--address", q.at(1)+":10000")
	if out := q.do(tokens["p3"], again...); !strings.Contains(out, "Nothing was changed") {
		t.Errorf("joined again: %s", out)
	}
	cmd := exec.Command(program(), q.machine(9, "p9", "join", "peer", "--address", q.at(1)+":10000")...)
	cmd.Env, cmd.Stdin = q.env, strings.NewReader(tokens["p3"])
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "used already") ||
		strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
		t.Errorf("another machine with a token that was used: %v: %s", err, out)
	}
	waitFor(t, "all certificates are recorded", func() bool { return strings.Count(q.do("", "cert", "list"), "valid") == 4 })
}
