package devcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// The roles of members.
const (
	RoleServer = "server"
	RoleAgent  = "agent"
)

// Member is a child process as cluster.json lists it.
type Member struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	PID     int    `json:"pid"`     // 0: it does not run
	Address string `json:"address"` // of a server's API, or where an agent listens
	Raft    string `json:"raft,omitempty"`
	Log     string `json:"log"` // the file with its output
}

// FileName is the file in the data folder that lists the members.
const FileName = "cluster.json"

// Load returns the members that a data folder lists; none if the folder is new.
func Load(dir string) ([]Member, error) {
	path := filepath.Join(dir, FileName)
	data, err := os.ReadFile(path) //nolint:gosec // the caller's own folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var members []Member
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; move the folder away to start with an empty one", path, err)
	}
	return members, nil
}

// save replaces the list atomically, so that no reader sees half of it.
func save(dir string, members []Member) error {
	data, err := json.MarshalIndent(members, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// plan assigns addresses and folders to the members. A peer keeps the address under which the
// others know it, from the first start on; the rest is chosen again.
func plan(c Config) ([]Member, error) {
	before, err := Load(c.Data)
	if err != nil {
		return nil, err
	}
	raft := map[string]string{}
	for _, m := range before {
		if m.Raft != "" {
			raft[m.Name] = m.Raft
		}
	}
	if len(raft) > 0 && len(raft) != c.Peers {
		return nil, fmt.Errorf("%s holds a cluster of %d peers, not of %d: start it with --peers %d, or choose another folder",
			c.Data, len(raft), c.Peers, len(raft))
	}
	var out []Member
	taken := &ports{}
	defer taken.release()
	for i := range c.Peers {
		m := Member{Name: fmt.Sprintf("p%d", i+1), Role: RoleServer}
		if m.Raft = raft[m.Name]; m.Raft == "" {
			if m.Raft, err = taken.any(); err != nil {
				return nil, err
			}
		}
		if m.Address, err = taken.from(c.HTTP, i); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	for i := range c.Nodes {
		m := Member{Name: fmt.Sprintf("node%d", i+1), Role: RoleAgent}
		if m.Address, err = taken.any(); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	for i := range out {
		out[i].Log = filepath.Join(c.Data, out[i].Name+".log")
	}
	return out, nil
}

// ports finds free ports on the loopback interface, and holds them until all are found, so that
// each is used once.
type ports struct {
	held []net.Listener
	last int
}

func (p *ports) any() (string, error) {
	l, err := listen("127.0.0.1")
	if err != nil {
		return "", fmt.Errorf("no free port: %w", err)
	}
	p.held = append(p.held, l)
	return l.Addr().String(), nil
}

// Free ports are looked for below those that Linux gives to connections that go out (32768 and
// more): one of these could have a member's port when the member starts, or starts again.
const (
	lowestPort  = 20_000
	calmPorts   = 12_000
	portsToTest = 100
)

// listen listens on a free port of a host.
func listen(host string) (l net.Listener, err error) {
	for range portsToTest {
		port := lowestPort + rand.IntN(calmPorts) //nolint:gosec // any will do
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// from returns the first address for the first member, and the next free port for each further one.
func (p *ports) from(first string, i int) (string, error) {
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		return "", fmt.Errorf("%q is not host:port", first)
	}
	if i == 0 {
		l, err := listenOn(host, port)
		if err != nil {
			return "", fmt.Errorf("cannot listen on %s: %w; choose another address with --http", first, err)
		}
		p.held = append(p.held, l)
		p.last = listenerPort(l)
		return net.JoinHostPort(host, strconv.Itoa(p.last)), nil
	}
	for n := p.last + 1; n < 1<<16; n++ {
		address := net.JoinHostPort(host, strconv.Itoa(n))
		if l, err := net.Listen("tcp", address); err == nil {
			p.held, p.last = append(p.held, l), n
			return address, nil
		}
	}
	return "", fmt.Errorf("no free port above that of %s; choose another with --http", first)
}

// listenOn listens on a port of a host, on a free one if it is 0.
func listenOn(host, port string) (net.Listener, error) {
	if port == "0" {
		return listen(host)
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

func listenerPort(l net.Listener) int {
	if a, is := l.Addr().(*net.TCPAddr); is {
		return a.Port
	}
	return 0
}

func (p *ports) release() {
	for _, l := range p.held {
		_ = l.Close()
	}
}
