package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// Config describes the cluster to run.
type Config struct {
	Binary  string   // the berth program; empty: this one
	Data    string   // folder for everything; it is made
	HTTP    string   // address of the first peer's API; the others get the next free ports
	Peers   int      // how many
	Nodes   int      // how many agents
	GPUs    int      // simulated, on each node
	Restart bool     // a child that dies is started again
	Env     []string // more environment for the children, NAME=value
	Server  []string // more arguments of servers
	Token   string   // of the cluster's own client
	Jobs    bool     // jobs may outlive Run; a start within five minutes adopts them
	Say     func(line string)
}

// Cluster is a running cluster of child processes.
type Cluster struct {
	conf    Config
	members []*member
	spawn   *spawner
	lock    *os.File
	ending  chan struct{}
	end     sync.Once
	work    sync.WaitGroup
	file    sync.Mutex // cluster.json
	token   sync.Mutex // conf.Token
}

const (
	stopLimit   = 12 * time.Second // for the orderly end of a child
	leaderLimit = 5 * time.Second  // for a peer that has just started to learn of the leader
)

// readyLimit bounds the start of a cluster on a busy machine.
const readyLimit = time.Minute

// Run starts a cluster, calls use once it is ready, and ends it together with its jobs.
func Run(ctx context.Context, c Config, use func(context.Context, *Cluster) error) error {
	cl, err := Start(c)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if err = cl.Ready(limited); err == nil {
		err = use(ctx, cl)
	}
	ended := context.WithoutCancel(ctx)
	err = errors.Join(err, cl.Stop(ended))
	if !c.Jobs {
		cl.StopJobs(ended)
	}
	return err
}

// Start starts all members. They may not answer yet: see [Cluster.Ready].
func Start(c Config) (*Cluster, error) {
	isolate.KeepFromChildren()
	if err := c.fill(); err != nil {
		return nil, err
	}
	lock, err := lockFolder(c.Data)
	if err != nil {
		return nil, err
	}
	members, err := plan(c)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := Certify(c.Data, members...); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	cl := &Cluster{conf: c, spawn: newSpawner(), lock: lock, ending: make(chan struct{})}
	for _, m := range members {
		cl.members = append(cl.members, &member{Member: m, args: arguments(c, m, members), c: cl})
	}
	for _, m := range cl.members {
		if err := m.start(); err != nil {
			return nil, errors.Join(err, cl.Stop(context.Background()))
		}
	}
	cl.note()
	return cl, nil
}

func (c *Config) fill() (err error) {
	if c.Binary == "" {
		if c.Binary, err = os.Executable(); err != nil {
			return fmt.Errorf("cannot find this program: %w", err)
		}
	}
	if c.Say == nil {
		c.Say = func(string) {}
	}
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		return err
	}
	if c.Peers < 1 || c.Nodes < 0 || c.Nodes > 0 && c.GPUs < 1 {
		return fmt.Errorf("a cluster needs at least one peer, and each node at least one GPU; not %d peers and %d GPUs", c.Peers, c.GPUs)
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("cannot make the data folder: %w", err)
	}
	return nil
}

// lockFolder keeps a second cluster out of the folder.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller's folder
	if err != nil {
		return nil, fmt.Errorf("cannot use the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another cluster runs in this folder; stop it, or choose another with --data", dir), f.Close())
	}
	return f, nil
}

// arguments returns a member's command line.
func arguments(c Config, m Member, all []Member) []string {
	var founders, apis []string
	for _, other := range all {
		if other.Role == RoleServer {
			founders = append(founders, other.Name+"="+other.Raft)
			apis = append(apis, other.Address)
		}
	}
	folder := filepath.Join(c.Data, m.Name)
	if m.Role == RoleAgent {
		return []string{
			"agent", "--node", m.Name, "--data-dir", folder, "--listen", m.Address,
			"--peers", strings.Join(apis, ","), "--simulate-gpus", strconv.Itoa(c.GPUs),
			"--shared-account", // all of it runs under one account
		}
	}
	return append([]string{
		"server", "--id", m.Name, "--data-dir", folder, "--listen", m.Raft, "--http", m.Address,
		"--bootstrap", strings.Join(founders, ","),
	}, c.Server...)
}

func (c *Cluster) say(format string, args ...any) { c.conf.Say(fmt.Sprintf(format, args...)) }

// note writes cluster.json. A failure does not stop the cluster.
func (c *Cluster) note() {
	c.file.Lock()
	defer c.file.Unlock()
	if err := save(c.conf.Data, c.Members()); err != nil {
		c.say("cannot write %s: %v", FileName, err)
	}
}

// Members returns the children in their present state.
func (c *Cluster) Members() []Member {
	out := make([]Member, len(c.members))
	for i, m := range c.members {
		out[i], _ = m.info()
	}
	return out
}

// GPUs returns how many GPUs the cluster has.
func (c *Cluster) GPUs() int { return c.conf.Nodes * c.conf.GPUs }

// LastLines returns the last line of the output of each member, below each other.
func (c *Cluster) LastLines() string {
	var b strings.Builder
	for _, m := range c.Members() {
		if line := lastLine(m.Log); line != "" {
			fmt.Fprintf(&b, "%s: %s\n", m.Name, table.Short(line, 200))
		}
	}
	return b.String()
}

// Addresses returns the addresses of the peers' APIs.
func (c *Cluster) Addresses() (out []string) {
	for _, m := range c.Members() {
		if m.Role == RoleServer {
			out = append(out, m.Address)
		}
	}
	return out
}

// Client returns a client that uses any peer.
func (c *Cluster) Client() (*client.Client, error) {
	return client.New(client.Options{Addresses: c.Addresses(), UserAgent: "berth-dev", Token: c.Token()})
}

// Ready waits until there is a leader and every node has registered. It fails at once if a child
// cannot start, with the last line of that child. In a cluster with authentication that has no token yet a token of an admin is made: see
// [Cluster.Token].
func (c *Cluster) Ready(ctx context.Context) error {
	for {
		api, err := c.Client()
		if err != nil {
			return err
		}
		if c.isReady(ctx, api) {
			return nil
		}
		for _, m := range c.members {
			if info, fault := m.info(); fault != "" {
				return fmt.Errorf("%s does not start: %s", info.Name, strings.TrimPrefix(fault, "berth: "))
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the cluster did not become ready: %w; its logs in %s end with\n%s", ctx.Err(), c.conf.Data, c.LastLines())
		}
	}
}

func (c *Cluster) isReady(ctx context.Context, api *client.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	peers, err := api.Peers(ctx)
	if asksForToken(err) && c.Token() == "" {
		if err := c.signIn(ctx); err != nil {
			c.conf.Say("no token yet: " + err.Error())
		}
		return false
	}
	if err != nil || peers.Leader == "" {
		return false
	}
	for _, p := range peers.Peers {
		if !p.Reachable || p.Address == "" {
			return false
		}
	}
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return false
	}
	up := 0
	for _, n := range nodes.Nodes {
		if n.State == "up" {
			up++
		}
	}
	return up >= c.conf.Nodes
}

// ErrUnknown is the error for a member that the cluster does not have.
var ErrUnknown = errors.New("no such member")

// Kill ends a member by SIGKILL and waits until the process has ended. The member comes back by
// itself if the cluster restarts its members.
func (c *Cluster) Kill(name string) error {
	for _, m := range c.members {
		if m.Name == name {
			if gone := m.signal(syscall.SIGKILL, false); gone != nil {
				<-gone
			}
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrUnknown, name)
}

// Resume starts a member that does not run.
func (c *Cluster) Resume(name string) error {
	for _, m := range c.members {
		if m.Name != name {
			continue
		}
		m.mu.Lock()
		var err error
		if m.stopped = false; m.cmd == nil {
			err = m.launch()
		}
		m.mu.Unlock()
		c.note()
		return err
	}
	return fmt.Errorf("%w: %s", ErrUnknown, name)
}

// Leader returns the name of the leader. It waits for a peer that knows the leader, and returns an
// empty name if there is none before the context ends or some seconds have passed.
func (c *Cluster) Leader(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	api, err := c.Client()
	if err != nil {
		return ""
	}
	defer api.Close()
	for {
		if peers, err := api.Peers(ctx); err == nil && peers.Leader != "" {
			return peers.Leader
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ""
		}
	}
}

// Stop ends all members in order: agents, then peers. Jobs that run go on under
// their supervisors; see [Cluster.StopJobs]. A child that does not end in time is
// killed.
func (c *Cluster) Stop(ctx context.Context) error {
	c.end.Do(func() { close(c.ending) })
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for _, role := range []string{RoleAgent, RoleServer} {
		var waiting []<-chan struct{}
		for _, m := range c.members {
			if m.Role == role {
				waiting = append(waiting, m.signal(syscall.SIGTERM, true))
			}
		}
		for _, gone := range waiting {
			await(ctx, gone)
		}
	}
	for _, m := range c.members {
		if gone := m.signal(syscall.SIGKILL, true); gone != nil {
			c.say("%s did not end in time and was killed", m.Name)
			<-gone
		}
	}
	c.work.Wait()
	c.spawn.close()
	c.note()
	return c.lock.Close()
}

func await(ctx context.Context, gone <-chan struct{}) {
	if gone == nil {
		return
	}
	select {
	case <-gone:
	case <-ctx.Done():
	}
}
