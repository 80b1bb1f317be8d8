package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/internal/sources"
)

// patience bounds each wait; a busy machine is slow.
const patience = 2 * time.Minute

var errEarly = errors.New("berth dev ended before it was ready")

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse() // for testing.Short
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "berth")
	if err := errors.Join(
		build([]string{"CGO_ENABLED=0"}, "-o", program+"-supervisor", "github.com/berth-gpu/berth/cmd/berth-supervisor"),
		build(nil, append(buildFlags(), "-o", program, "github.com/berth-gpu/berth/cmd/berth")...),
		build(nil, append(buildFlags(), "-o", program+"d", "github.com/berth-gpu/berth/cmd/berthd")...),
		os.Setenv("BERTH_UNDER_TEST", program),
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// program is the path of the berth under test.
func program() string {
	if err := readSources(); err != nil {
		panic(err)
	}
	return os.Getenv("BERTH_UNDER_TEST")
}

// readSources reads the sources of the program, once.
var readSources = sync.OnceValue(func() error { return sources.Read("../..") })

// certify issues the certificate of a member whose data folder is data, with the authority in the folder of a peer.
func certify(t *testing.T, from, role, name, data string, more ...string) {
	t.Helper()
	args := append([]string{"cert", "issue", role, name, "--from", from, "--out", filepath.Join(data, "trust")}, more...)
	out, err := exec.Command(program(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("berth cert issue: %v\n%s", err, out)
	}
}

// member is a process as cluster.json lists it.
type member struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	PID     int    `json:"pid"`
	Address string `json:"address"`
	Raft    string `json:"raft"`
	Log     string `json:"log"`
}

// cluster is a running berth dev.
type cluster struct {
	t    *testing.T
	dir  string
	http string
	args []string
	dev  *exec.Cmd
	gone chan struct{}
	api  *client.Client
}

// start runs berth dev on a new folder until the test's end.
func start(t *testing.T, args ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), http: freeAddress(t), args: args}
	c.up()
	t.Cleanup(func() {
		c.down()
		findDefects(c)
		if t.Failed() {
			showLogs(c)
		}
	})
	return c
}

// findDefects fails the test if a member's log tells of a defect that it has survived.
func findDefects(c *cluster) {
	c.t.Helper()
	for _, m := range c.members() {
		data, err := os.ReadFile(m.Log)
		if err != nil {
			c.t.Errorf("the log of %s: %v", m.Name, err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, "ERROR") && strings.Contains(line, "defect") {
				c.t.Errorf("%s: %s", m.Name, line)
			}
		}
	}
}

// freeAddress returns an address that is not given to connections while it has no listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	return freeAddresses(t, 1)[0]
}

// freeAddresses returns several such addresses, each another: all are held until the last is found.
func freeAddresses(t *testing.T, n int) (list []string) {
	t.Helper()
	var held []net.Listener
	for range 100 * n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			held, list = append(held, l), append(list, l.Addr().String())
		}
		if len(list) == n {
			break
		}
	}
	for _, l := range held {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) < n {
		t.Fatal("no free port")
	}
	return list
}

// up starts berth dev and waits until it says that the cluster is ready.
func (c *cluster) up() {
	c.t.Helper()
	ready := launch(c)
	select {
	case <-ready:
	case <-c.gone:
		c.t.Fatal(errEarly)
	case <-time.After(patience):
		c.t.Fatal("berth dev did not get ready")
	}
	api, err := client.New(client.Options{Addresses: c.addresses()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.api = api
}

// launch starts berth dev, which closes the channel once it says that the cluster is ready.
func launch(c *cluster) <-chan struct{} {
	c.t.Helper()
	c.dev = exec.Command(program(), append([]string{"dev", "--data", c.dir, "--http", c.http}, c.args...)...)
	c.dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.dev.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	c.dev.Stderr = os.Stderr
	if err := c.dev.Start(); err != nil {
		c.t.Fatal(err)
	}
	ready := make(chan struct{})
	c.gone = make(chan struct{})
	go c.read(out, ready)
	return ready
}

func (c *cluster) read(out io.Reader, ready chan struct{}) {
	defer close(c.gone)
	said := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !said && strings.Contains(lines.Text(), "Ctrl-C ends the cluster") {
			said = true
			close(ready)
		}
	}
	_ = c.dev.Wait()
}

// down ends berth dev as Ctrl-C does, if it runs.
func (c *cluster) down() {
	c.t.Helper()
	_ = c.dev.Process.Signal(syscall.SIGINT)
	select {
	case <-c.gone:
	case <-time.After(patience):
		c.t.Error("berth dev did not end")
		_ = c.dev.Process.Kill()
		<-c.gone
	}
}

func (c *cluster) members() (all []member) {
	data, err := os.ReadFile(filepath.Join(c.dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func (c *cluster) member(name string) member {
	c.t.Helper()
	for _, m := range c.members() {
		if m.Name == name {
			return m
		}
	}
	c.t.Fatalf("there is no member %q", name)
	return member{}
}

func (c *cluster) addresses() (out []string) {
	for _, m := range c.members() {
		if m.Role == "server" {
			out = append(out, m.Address)
		}
	}
	return out
}

// kill ends a member by SIGKILL and waits until it is back as another process.
func (c *cluster) kill(name string) {
	c.t.Helper()
	before := c.shoot(name)
	c.until(name+" is back", func() bool {
		pid := c.member(name).PID
		return pid != 0 && pid != before
	})
}

// shoot ends a member by SIGKILL and says which process that was.
func (c *cluster) shoot(name string) int {
	c.t.Helper()
	pid := 0
	c.until(name+" runs", func() bool { pid = c.member(name).PID; return pid != 0 })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.t.Fatal(err)
	}
	return pid
}

// leader waits until a peer leads, and says which.
func (c *cluster) leader() (name string) {
	c.t.Helper()
	c.until("a peer leads", func() bool {
		peers, err := c.api.Peers(c.context())
		if err != nil {
			return false
		}
		name = peers.Leader
		return name != ""
	})
	return name
}

// ready waits until all peers answer and have the same state.
func (c *cluster) ready() {
	c.t.Helper()
	c.until("all peers answer", func() bool {
		peers, err := c.api.Peers(c.context())
		if err != nil || peers.Leader == "" {
			return false
		}
		for _, p := range peers.Peers {
			if !p.Reachable {
				return false
			}
		}
		return true
	})
}

// until waits for a condition.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	waitFor(c.t, what, holds)
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

func (c *cluster) context() context.Context { return c.t.Context() }

// submit queues a job and insists.
func (c *cluster) submit(r *wire.Submit) string {
	c.t.Helper()
	if r.User == "" {
		r.User = "alice"
	}
	answer, err := c.api.Submit(c.context(), r, "")
	if err != nil {
		c.t.Fatalf("submitting: %v", err)
	}
	return answer.JobID
}

// job reads a job, and waits while no peer can be asked.
func (c *cluster) job(id string) (d *wire.Detail) {
	c.t.Helper()
	c.until("job "+id+" can be read", func() (ok bool) {
		var err error
		d, _, err = c.api.Job(c.context(), id, client.JobQuery{})
		return err == nil
	})
	return d
}

// ended waits for a job's end.
func (c *cluster) ended(id string) (d *wire.Detail) {
	c.t.Helper()
	c.until("job "+id+" has ended", func() bool {
		d = c.job(id)
		return !d.EndedAt.IsZero()
	})
	return d
}

// running waits until a job runs.
func (c *cluster) running(id string) (d *wire.Detail) {
	c.t.Helper()
	c.until("job "+id+" runs", func() bool {
		d = c.job(id)
		return d.State == "running"
	})
	return d
}

func showLogs(c *cluster) {
	for _, m := range c.members() {
		data, _ := os.ReadFile(m.Log)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		c.t.Logf("last words of %s:\n%s", m.Name, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
}

func wireSeconds(n int) wire.Duration { return wire.Duration(time.Duration(n) * time.Second) }

// spawn runs the program until the test's end.
func spawn(c *cluster, args ...string) {
	c.t.Helper()
	cmd := exec.Command(program(), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}
