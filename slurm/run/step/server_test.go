package step

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// twoNodes returns the file of a rank of a job on two nodes, whose port is that of a listener.
func twoNodes(t *testing.T, rank int, at net.Addr) *jobfile.File {
	t.Helper()
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	f := &jobfile.File{Rank: rank, Command: []string{"true"}, Folder: t.TempDir(), Secret: "secret"}
	f.Job = environ.Job{ID: 7, Nodes: []environ.Node{{Name: "a", Tasks: 1, Cores: 1}, {Name: "b", Tasks: 1, Cores: 1}}}
	f.Ranks = []jobfile.Rank{{Address: host, Port: uint16(number)}, {Address: host}}
	return f
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := link.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestNodeCannotConnect checks that a node answers if it cannot open the connection of a step.
func TestNodeCannotConnect(t *testing.T) {
	t.Parallel()
	l := listen(t)
	f := twoNodes(t, 1, l.Addr())
	key, err := link.NewKey(f.Secret)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- ServeNode(ctx, f, task.NewNode(nil, nil, f, unix.SIGTERM), func(string) {}) }()
	raw, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, hello, err := key.Accept(ctx, raw)
	if err != nil || hello.Role != link.RoleNode {
		t.Fatal(hello, err)
	}
	_ = l.Close() // no further connection
	session := binary.BigEndian.AppendUint64(nil, 1234)
	if err := c.Send(link.KindDial, session); err != nil {
		t.Fatal(err)
	}
	_ = raw.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := c.Receive(); err != nil || got.Kind != link.KindDial || !slices.Equal(got.Body, session) {
		t.Errorf("the node answers %+v, %v", got, err)
	}
	end()
	_ = c.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestStepWithoutConnection checks that a step ends if a node cannot open its connection.
func TestStepWithoutConnection(t *testing.T) {
	t.Parallel()
	l := listen(t)
	f := twoNodes(t, 0, l.Addr())
	s, err := NewServer(f, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	go s.acceptNodes(t.Context(), l)
	hello := link.Hello{Role: link.RoleNode, Rank: 1}
	node, err := s.key.Dial(t.Context(), l.Addr().String(), hello)
	if err != nil {
		t.Fatal(err)
	}
	hello.Role = link.RoleSrun
	srun, err := s.key.Dial(t.Context(), l.Addr().String(), hello)
	if err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = srun.Close() })
	defer limit.Stop()
	ask := link.Ask{Command: []string{"true"}, Parent: -1}
	ask.Size.NodeList, ask.Size.Tasks = []string{"b"}, 1
	if err := srun.SendValue(link.KindAsk, ask); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := srun.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch got.Kind { //nolint:exhaustive // no others matter
		case link.KindCreated:
			if err := srun.Send(link.KindReady); err != nil {
				t.Fatal(err)
			}
			dial, err := node.Receive()
			if err != nil || dial.Kind != link.KindDial {
				t.Fatal(dial, err)
			}
			if err := node.Send(link.KindDial, dial.Body); err != nil {
				t.Fatal(err)
			}
		case link.KindLost:
			var lost link.Lost
			if err := json.Unmarshal(got.Body, &lost); err != nil || lost.Node != "b" {
				t.Errorf("lost: %+v, %v", lost, err)
			}
			return
		}
	}
}

// TestAccept checks that connections are accepted after one that could not be, and until the listener is closed.
func TestAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, other := net.Pipe()
		results := []error{nil, unix.EMFILE, unix.ECONNABORTED, errors.New("another"), nil, net.ErrClosed}
		served, tries := []int{}, 0
		accept(func() (net.Conn, error) {
			tries++
			return one, results[tries-1]
		}, func(net.Conn) { served = append(served, tries) })
		if !slices.Equal(served, []int{1, 5}) || tries != len(results) {
			t.Errorf("after %d tries these were served: %v", tries, served)
		}
		_, _ = one.Close(), other.Close()
	})
}

// TestListenNodes checks at which addresses the port for nodes is.
func TestListenNodes(t *testing.T) {
	t.Parallel()
	for address, all := range map[string]bool{"127.0.0.1": false, "127.0.0.2": false, "192.0.2.1": true, "localhost": true, "": true} {
		l, err := listenNodes(t.Context(), jobfile.Rank{Address: address})
		if err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		at, err := netip.ParseAddrPort(l.Addr().String())
		if err != nil || at.Addr().IsUnspecified() != all || !all && at.Addr().String() != address {
			t.Errorf("%q listens at %v, %v", address, at, err)
		}
		_ = l.Close()
	}
}
