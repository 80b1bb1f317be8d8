package e2e

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// island is an agent in a network of its own, from which there is one way to the
// peers: through pipes that can be shut.
type island struct {
	name string
	work chan func()
	gate gate
}

// gate holds back what wants to pass while it is shut, as a network does that drops
// packets: when it opens, what was sent again arrives.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
}

func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

var errNoNetworks = errors.New("this user may not make networks")

// newIsland makes a network with a loopback of its own. A thread lives in it, on which
// sockets are made and processes started there.
func newIsland(t *testing.T, name string) (*island, error) {
	t.Helper()
	i := &island{name: name, work: make(chan func())}
	i.gate.open = make(chan struct{})
	close(i.gate.open)
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = loopbackUp()
		}
		ready <- err
		for do := range i.work {
			do()
		}
	}()
	err := <-ready
	if err != nil {
		close(i.work)
		return nil, errors.Join(errNoNetworks, err)
	}
	t.Cleanup(func() {
		i.gate.set(true)
		close(i.work)
	})
	return i, nil
}

// loopbackUp brings up the loopback of the present thread's network.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// there does something in the island's network.
func (i *island) there(do func() error) error {
	done := make(chan error)
	i.work <- func() { done <- do() }
	return <-done
}

// settle starts an agent there, with a way to each of the peers.
func (i *island) settle(c *cluster) {
	c.t.Helper()
	for _, address := range c.addresses() {
		err := i.there(func() error {
			l, err := net.Listen("tcp", address)
			if err == nil {
				c.t.Cleanup(func() { _ = l.Close() })
				go i.carry(l, address)
			}
			return err
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
	peers := ""
	for _, address := range c.addresses() {
		peers += "," + address
	}
	data := c.t.TempDir()
	certify(c.t, filepath.Join(c.dir, "p1"), "node", i.name, data)
	cmd := exec.Command(program(), "agent", "--node", i.name, "--shared-account", "--data", data, "--peers", peers[1:], "--simulate-gpus", "1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := i.there(cmd.Start); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// carry passes connections on to an address outside, as long as the gate is open.
func (i *island) carry(l net.Listener, address string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = in.Close() }()
			i.gate.pass()
			out, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer func() { _ = out.Close() }()
			back := make(chan struct{})
			go func() {
				defer close(back)
				i.copy(in, out)
			}()
			i.copy(out, in)
			<-back
		}()
	}
}

// copy copies until either end closes, and closes both then.
func (i *island) copy(to, from net.Conn) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		i.gate.pass()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
