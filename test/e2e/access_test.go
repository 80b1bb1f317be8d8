package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// guarded is a cluster of three peers, each started by its own command line.
type guarded struct {
	t     *testing.T
	dir   string
	apis  []string
	first chan string // the first token, from whichever peer tells it
}

// startGuarded starts peers with authentication, and makes the certificates of nodes n1 and n2.
func startGuarded(t *testing.T, more ...string) *guarded {
	t.Helper()
	return startPeers(t, "2160h", append([]string{"--auth"}, more...)...)
}

// startPeers starts peers whose certificates, and those of nodes n1 and n2, are valid for so long.
func startPeers(t *testing.T, life string, more ...string) *guarded {
	t.Helper()
	g := &guarded{t: t, dir: t.TempDir(), first: make(chan string, 3)}
	var founders []string
	free := freeAddresses(t, 6)
	g.apis = free[3:]
	for i := range 3 {
		founders = append(founders, fmt.Sprintf("p%d=%s", i+1, free[i]))
	}
	first := filepath.Join(g.dir, "p1")
	g.ok("", "", "init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", first, "--life", life)
	for _, m := range []string{"peer p2", "peer p3", "node n1", "node n2"} {
		role, name, _ := strings.Cut(m, " ")
		certify(t, first, role, name, filepath.Join(g.dir, name), "--life", life)
	}
	for i := range 3 {
		name, raft, _ := strings.Cut(founders[i], "=")
		args := []string{
			"server", "--id", name, "--data-dir", filepath.Join(g.dir, name), "--listen", raft, "--http", g.apis[i],
			"--bootstrap", strings.Join(founders, ","), "--min-free", "1",
		}
		g.run(name, append(args, more...)...)
	}
	return g
}

// run runs a part of the cluster until the test's end, and returns its process.
func (g *guarded) run(name string, args ...string) *os.Process {
	g.t.Helper()
	cmd := exec.Command(program(), args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	log := &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if token := strings.TrimSpace(lines.Text()); strings.HasPrefix(token, "berth_") {
				g.first <- token
			}
		}
	}()
	g.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-read
		_ = cmd.Wait()
		if g.t.Failed() {
			g.t.Logf("%s:\n%s", name, log)
		}
		if strings.Contains(log.String(), "berth_") {
			g.t.Errorf("the log of %s tells a token", name)
		}
	})
	return cmd.Process
}

// berth runs a command with a token against one peer.
func (g *guarded) berth(token, api string, args ...string) said {
	g.t.Helper()
	return g.with([]string{"BERTH_ADDRESS=" + api, "RESEARCH_AGENT_USER_AUTH_TOKEN=" + token}, args...)
}

// with runs a command with more variables in its environment.
func (g *guarded) with(environ []string, args ...string) said {
	g.t.Helper()
	cmd := exec.Command(program(), args...)
	cmd.Env = append(os.Environ(), environ...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	s := said{out: strings.TrimSpace(out.String()), err: errs.String()}
	if e, is := errors.AsType[*exec.ExitError](err); is {
		s.code = e.ExitCode()
	} else if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *guarded) ok(token, api string, args ...string) string {
	g.t.Helper()
	s := g.berth(token, api, args...)
	if s.code != 0 {
		g.t.Fatalf("berth %s: exit code %d\n%s%s", strings.Join(args, " "), s.code, s.out, s.err)
	}
	return s.out
}

// follower is the API of a peer that does not lead, as the first answer tells.
func (g *guarded) follower() string {
	g.t.Helper()
	at := ""
	waitFor(g.t, "a peer follows", func() bool {
		for i, api := range g.apis {
			answer, err := http.Get("http://" + api + "/readyz")
			if err != nil {
				continue
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK && answer.Header.Get(wire.HeaderLeader) != fmt.Sprintf("p%d", i+1) {
				at = api
				return true
			}
		}
		return false
	})
	return at
}

// token finds the id of the token of a name.
func (g *guarded) token(admin, at, name string) (id string) {
	for line := range strings.Lines(g.ok(admin, at, "token", "list")) {
		if strings.Contains(line, name) {
			id, _, _ = strings.Cut(line, " ")
		}
	}
	return id
}

// private starts a node whose agent runs jobs under its own account and is not said to share it: it
// runs those of the user of that name, and no others.
func private(g *guarded, at, admin, other string) {
	g.t.Helper()
	g.run("n2", "agent", "--node", "n2", "--data-dir", filepath.Join(g.dir, "n2"), "--gpus", "sim:2", "--peers", at)
	waitFor(g.t, "n2 is there", func() bool { return strings.Contains(g.berth(admin, at, "nodes").out, "jobs of user ") })
	if s := g.berth(other, at, "submit", "-g", "1", "-w", "n2", "--", "true"); s.code == 0 || !strings.Contains(s.err, "agent.shared_account: true") {
		g.t.Errorf("a job for n2: exit code %d, %s%s", s.code, s.out, s.err)
	}
	self, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		g.t.Fatal(err)
	}
	own := g.ok(admin, at, "token", "create", "--user", self.Username, "--role", "user")
	g.ok(own, at, "run", "-g", "1", "-w", "n2", "--", "true")
}

// A cluster with authentication, from its first token on, through a follower.
func TestACallerIsAskedWhoTheyAre(t *testing.T) {
	g := startGuarded(t)
	at := g.follower()
	var first string
	select {
	case first = <-g.first:
	case <-time.After(patience):
		t.Fatal("no first token was told")
	}
	if s := g.berth("", at, "queue"); s.code != 4 || !strings.Contains(s.err, "authentication is required") {
		t.Errorf("without a token: exit code %d, %s", s.code, s.err)
	}
	if s := g.berth(first, at, "queue"); s.code != 4 {
		t.Errorf("with the first token: exit code %d, %s", s.code, s.err)
	}
	admin := g.ok(first, at, "token", "create", "--user", "root", "--role", "admin")
	if s := g.berth(first, at, "token", "create", "--user", "eve", "--role", "admin"); s.code != 4 {
		t.Errorf("with the first token again: exit code %d, %s", s.code, s.err)
	}
	ann := g.ok(admin, at, "token", "create", "--user", "ann", "--role", "user")
	bob := g.ok(admin, at, "token", "create", "--user", "bob", "--role", "user", "--name", "laptop")
	g.run("n1", "agent", "--node", "n1", "--data-dir", filepath.Join(g.dir, "n1"), "--gpus", "sim:2", "--peers", at, "--shared-account")

	private(g, at, admin, ann)

	id := g.ok(ann, at, "submit", "-w", "n1", "--parsable", "-g", "1", "--", "sleep", "600")
	api, err := client.New(client.Options{Addresses: g.apis, Token: ann})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	waitFor(t, "the job runs", func() bool {
		job, _, err := api.Job(t.Context(), id, client.JobQuery{})
		return err == nil && job.State == "running"
	})
	if s := g.ok(ann, at, "allocate", "web", "-o", "json"); !strings.Contains(s, `"user": "ann"`) {
		t.Errorf("ann's allocation is %s", s)
	}
	if s := g.berth(bob, at, "cancel", id); s.code != 4 || !strings.Contains(s.err, "operator") {
		t.Errorf("bob cancels ann's job: exit code %d, %s%s", s.code, s.out, s.err)
	}
	g.ok(bob, at, "queue")
	g.ok(admin, at, "token", "revoke", g.token(admin, at, "laptop"))
	for _, peer := range append([]string{at}, g.apis...) { // wherever the revocation is known yet, a change is refused at once
		if s := g.berth(bob, peer, "submit", "--", "true"); s.code != 4 {
			t.Errorf("bob's token after its end at %s: exit code %d, %s%s", peer, s.code, s.out, s.err)
		}
	}
	g.ok(ann, at, "cancel", id)
	job, _, err := api.Job(t.Context(), id, client.JobQuery{})
	if err != nil || job.Timeline[0].Actor != "user:ann" {
		t.Errorf("the job is %+v, %v", job, err)
	}
}
