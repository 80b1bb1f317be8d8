package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/internal/newer"
)

// upgraded is a cluster whose members are processes of two programs.
type upgraded struct {
	guarded

	api  *client.Client
	old  string // path of berthd of this release
	now  string // and of the next one
	args map[string][]string

	mu   sync.Mutex
	runs map[string]*running
}

// running is a process of a member.
type running struct {
	cmd  *exec.Cmd
	log  bytes.Buffer
	read chan struct{} // closed when its output has ended
}

// newProgram returns the path of berthd of the next release.
func newProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berthd")
	if err := newer.Build(t.Context(), ".", path, "-ldflags=-s -w"); err != nil {
		t.Fatal(err)
	}
	return path
}

// startMembers starts three peers and an agent of this program, which are upgraded to another one.
func startMembers(t *testing.T, now string) *upgraded {
	t.Helper()
	var err error
	u := &upgraded{
		guarded: guarded{t: t, dir: t.TempDir()}, old: program() + "d", now: now, args: map[string][]string{},
		runs: map[string]*running{},
	}
	first := filepath.Join(u.dir, "p1")
	u.ok("", "", "init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", first)
	founders, free := []string{}, freeAddresses(t, 6)
	u.apis = free[3:]
	for i := range 3 {
		founders = append(founders, fmt.Sprintf("p%d=%s", i+1, free[i]))
	}
	for i, f := range founders {
		name, raft, _ := strings.Cut(f, "=")
		if data := filepath.Join(u.dir, name); i > 0 {
			certify(t, first, "peer", name, data)
		}
		u.args[name] = []string{
			"server", "--id", name, "--data-dir", filepath.Join(u.dir, name), "--listen", raft, "--http", u.apis[i], "--bootstrap", strings.Join(founders, ","), "--min-free", "1",
		}
	}
	certify(t, first, "node", "n1", filepath.Join(u.dir, "n1"))
	u.args["n1"] = []string{"agent", "--node", "n1", "--data-dir", filepath.Join(u.dir, "n1"), "--gpus", "sim:4", "--shared-account", "--peers", strings.Join(u.apis, ",")}
	if u.api, err = client.New(client.Options{Addresses: u.apis, Version: "new"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.api.Close)
	for _, name := range []string{"p1", "p2", "p3", "n1"} {
		u.up(name, u.old)
	}
	t.Cleanup(func() {
		for _, name := range []string{"n1", "p1", "p2", "p3"} { // the peers last, so that the agent can say farewell
			u.down(name)
		}
	})
	return u
}

// up starts a member with a program.
func (u *upgraded) up(name, with string) {
	u.t.Helper()
	u.keep(name, begin(u.t, with, u.args[name]))
}

// keep notes the process of a member.
func (u *upgraded) keep(name string, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.runs[name] = r
}

// begin starts a process.
func begin(t *testing.T, with string, args []string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(with, args...), read: make(chan struct{})}
	out, err := r.cmd.StderrPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Error(err)
		close(r.read)
		return r
	}
	go func() {
		defer close(r.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.log.WriteString(lines.Text() + "\n")
		}
	}()
	return r
}

// ended waits until the process of a member has ended, and returns its exit code and its log.
func (u *upgraded) ended(name string) (code int, log string) {
	u.t.Helper()
	r := u.runs[name]
	<-r.read
	_ = r.cmd.Wait()
	delete(u.runs, name)
	return r.cmd.ProcessState.ExitCode(), r.log.String()
}

// down ends a member, if it runs.
func (u *upgraded) down(name string) {
	r := u.runs[name]
	if r == nil {
		return
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	code, log := u.ended(name)
	if u.t.Failed() || code != 0 {
		u.t.Logf("%s has ended with %d:\n%s", name, code, log)
	}
}

// exchange replaces the program of a peer, and waits until the others have the peer back.
func (u *upgraded) exchange(name, with string) {
	u.t.Helper()
	u.down(name)
	u.up(name, with)
	u.settled()
}

// settled waits until all peers are up and lack nothing that matters, and one leads.
func (u *upgraded) settled() {
	u.t.Helper()
	waitFor(u.t, "all peers are up", func() bool {
		p, err := u.api.Peers(u.t.Context())
		return err == nil && p.Leader != "" && len(p.Peers) == 3 &&
			!slices.ContainsFunc(p.Peers, func(v wire.Peer) bool { return !v.Reachable || v.Lag == nil || *v.Lag > 100 })
	})
}

// leader returns the peer that leads, and the others.
func (u *upgraded) leader() (name string, others []string) {
	u.t.Helper()
	waitFor(u.t, "a peer leads", func() bool {
		p, err := u.api.Peers(u.t.Context())
		if err == nil {
			name = p.Leader
		}
		return name != ""
	})
	return name, slices.DeleteFunc([]string{"p1", "p2", "p3"}, func(s string) bool { return s == name })
}

// check returns what a peer says of the upgrade.
func (u *upgraded) check(at string) *wire.Upgrade {
	u.t.Helper()
	api, err := client.New(client.Options{Addresses: []string{u.apis[at[1]-'1']}})
	if err != nil {
		u.t.Fatal(err)
	}
	defer api.Close()
	var out *wire.Upgrade
	waitFor(u.t, at+" says how far the upgrade is", func() bool {
		out, err = client.MembersOf(api).Upgrade(u.t.Context())
		return err == nil
	})
	return out
}

// order upgrades the peers in an order, takes the last one back, finalizes, and tries the old program again; all under load, and with
// jobs that run.
func (u *upgraded) order(names []string) {
	t := u.t
	u.settled()
	marks := marksFile(t)
	var jobs []string
	for range 3 {
		job, err := u.api.Submit(t.Context(), marked(marks, "600", 0), "")
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job.JobID)
	}
	u.working(jobs)
	stop := load(t, u.apis)
	u.exchange(names[0], u.now)
	u.exchange(names[1], u.now)
	u.exchange(names[2], u.now)
	u.back(names)
	u.final(names)
	u.refuses(names[1])
	u.working(jobs)
	sent, err := stop()
	if err != nil {
		t.Errorf("one of %d submissions: %v", sent, err)
	}
	last, err := u.api.Submit(t.Context(), &wire.Submit{Command: "true"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := strconv.Atoi(last.JobID); err != nil || id <= sent+len(jobs) || id > sent+len(jobs)+1+clients { // the last ones were cut off
		t.Errorf("after %d submissions and %d jobs the next job is %s", sent, len(jobs), last.JobID)
	}
	for id, lives := range readMarks(t, marks) {
		if len(lives) != 1 || lives[1] != (life{1, 0}) {
			t.Errorf("job %s has the marks %v", id, lives)
		}
	}
	for _, id := range jobs {
		if _, err := u.api.Cancel(t.Context(), id, "", ""); err != nil {
			t.Error(err)
		}
	}
	t.Logf("order %v: %d submissions", names, sent)
}

// back takes the last peer back to the program before: the level cannot be raised then.
func (u *upgraded) back(names []string) {
	u.t.Helper()
	back := names[2]
	u.exchange(back, u.old)
	knows := func(name string) bool {
		got := u.check(name)
		return got.Level == command.Level && got.Newest == command.Level+1 && len(got.Next) > 0 && got.Next[0].Name == back &&
			len(got.Blockers) == 1 && strings.Contains(got.Blockers[0], "peer "+back+" runs")
	}
	waitFor(u.t, "the peers know each other's programs", func() bool { return knows(names[0]) && knows(names[1]) }) // one of them leads, and decides
	if s := u.berth("", u.apis[names[0][1]-'1'], "cluster", "upgrade", "finalize"); s.code == 0 || !strings.Contains(s.err, "peer "+back+" runs") {
		u.t.Errorf("finalize with an old peer: %+v", s)
	}
}

// final upgrades the last peer again, and the agent: the level is held, until an operator raises it.
func (u *upgraded) final(names []string) {
	u.t.Helper()
	var got *wire.Upgrade
	back := names[2]
	u.exchange(back, u.now)
	u.down("n1")
	u.up("n1", u.now)
	const day = 24 * 3600
	waitFor(u.t, "the level is held, and was not raised for some seconds", func() bool {
		got = u.check(back)
		return got.Level != command.Level || got.Hold != nil && len(got.Hold.Silent) == 0 && got.Hold.Seconds < day-3
	})
	if got.Level != command.Level || got.Hold.Next != command.Level+1 || got.Hold.Seconds < day-600 || len(got.Blockers) != 0 {
		u.t.Errorf("after the upgrade: %+v, hold %+v", got, got.Hold)
	}
	u.ok("", u.apis[0], "cluster", "upgrade", "finalize")
	waitFor(u.t, "the level is raised everywhere", func() bool {
		return !slices.ContainsFunc(names, func(n string) bool { return u.check(n).Level != command.Level+1 })
	})
}

// working waits until all jobs run, in their first attempts.
func (u *upgraded) working(jobs []string) {
	u.t.Helper()
	for _, id := range jobs {
		waitFor(u.t, "job "+id+" runs", func() bool {
			d, _, err := u.api.Job(u.t.Context(), id, client.JobQuery{})
			return err == nil && d.State == "running" && d.Attempts == 1
		})
	}
}

// refuses checks that the program before cannot serve a peer whose cluster is at the new level, and that the new one goes on from there.
func (u *upgraded) refuses(name string) {
	u.t.Helper()
	u.down(name)
	u.up(name, u.old)
	code, log := u.ended(name)
	want := fmt.Sprintf("feature level %d", command.Level+1) // by the peer's file, or at the entry of the log
	if code == 0 || !strings.Contains(log, want) {
		u.t.Errorf("the program before at the new level: exit code %d\n%s", code, log)
	}
	u.up(name, u.now)
	u.settled()
}

// Peers are upgraded to the next release one after the other under load, in every order, while jobs run: no job ends, no submission
// fails, is lost or comes twice, a step back is possible until the level is raised, and none afterwards.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	orders := [][]int{{0, 1, 2}, {1, 2, 0}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}} // 0 is the leader
	if testing.Short() {
		orders = orders[:2] // the leader first, and last
	}
	now := newProgram(t)
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			u := startMembers(t, now)
			u.settled()
			leader, others := u.leader()
			list := append([]string{leader}, others...)
			var names []string
			for _, i := range order {
				names = append(names, list[i])
			}
			u.order(names)
		})
	}
}

// Any number of machines may restart their peers at the same time: one peer is down at a time, and no submission fails.
func TestPeersRestartInTurn(t *testing.T) {
	t.Parallel()
	u := startMembers(t, program()+"d")
	u.settled()
	stop := load(t, u.apis)
	var away, most atomic.Int32
	var work sync.WaitGroup
	for _, name := range []string{"p1", "p2", "p3"} {
		r := u.runs[name]
		delete(u.runs, name)
		work.Go(func() { // as systemd would
			<-r.read
			_ = r.cmd.Wait()
			most.Store(max(most.Load(), away.Add(1)))
			again := begin(t, u.now, u.args[name])
			u.keep(name, again)
			u.ready(name)
			away.Add(-1)
		})
		work.Go(func() {
			s := u.berth("", u.apis[0], "cluster", "upgrade", "restart", "--socket", filepath.Join(u.dir, name, "admin.sock"), "--command", fmt.Sprintf("kill %d", r.cmd.Process.Pid), "--wait", "2m")
			if s.code != 0 || !strings.Contains(s.out, "Peer "+name+" is back") {
				t.Errorf("the restart of %s: %+v", name, s)
				_ = r.cmd.Process.Kill()
			}
		})
	}
	work.Wait()
	if sent, err := stop(); err != nil || sent == 0 {
		t.Errorf("one of %d submissions: %v", sent, err)
	}
	if most.Load() != 1 {
		t.Errorf("%d peers were away at the same time", most.Load())
	}
	waitFor(t, "the lock is free", func() bool { return u.check("p1").Restart == nil }) // p1 may be a moment behind
}

// ready waits until a peer answers for the cluster.
func (u *upgraded) ready(name string) {
	u.t.Helper()
	waitFor(u.t, name+" is ready", func() bool {
		answer, err := http.Get("http://" + u.apis[name[1]-'1'] + "/readyz")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}
