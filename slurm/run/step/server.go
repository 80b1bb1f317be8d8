// Package step runs the steps of a job in Slurm's language: the server of steps on the job's first node, the servers of its other
// nodes, and srun, which asks for a step.
package step

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/contain"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// Server is the server of steps of a job, on its first node.
type Server struct {
	file       *jobfile.File
	node       *task.Node
	containers *contain.Node
	key        *link.Key       // nil: the job has one node
	tunnels    tunnel.Sessions // of programs outside of the job; they outlive peers and agents

	mu     sync.Mutex
	rooms  rooms
	next   int                               // number of the next step
	token  uint64                            // number of the last session
	calls  map[uint64]chan *link.Conn        // sessions that wait for a node's connection
	runs   map[*session]bool                 // sessions whose tasks run
	script func(sig unix.Signal, group bool) // nil: there is no script

	release  sync.Once
	released chan struct{} // closed when salloc has given the allocation back
}

// NewServer returns the server of steps; node runs the tasks of the first node, and containers has the containers there.
func NewServer(file *jobfile.File, node *task.Node, containers *contain.Node) (*Server, error) {
	s := &Server{
		file: file, node: node, containers: containers, rooms: newRooms(file), calls: map[uint64]chan *link.Conn{},
		runs: map[*session]bool{}, released: make(chan struct{}),
	}
	if len(file.Job.Nodes) == 1 {
		return s, nil
	}
	var err error
	s.key, err = link.NewKey(file.Secret)
	return s, err
}

// Listen begins to serve srun of this node and, if the job has several, the other nodes. It ends with the context.
func (s *Server) Listen(ctx context.Context) error {
	local, err := link.ListenLocal(s.file.Folder, jobfile.Socket)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = local.Close() })
	go acceptLocal(local, func(c *link.Conn) { s.session(ctx, c) })
	outside, err := link.ListenLocal(s.file.Folder, jobfile.Tunnels)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = outside.Close() })
	go accept(outside.AcceptUnix, func(raw *net.UnixConn) {
		go func() {
			if link.CheckOwn(raw) == nil {
				s.tunnels.Serve(raw, func(c net.Conn) { s.session(ctx, link.New(c)) })
			}
		}()
	})
	if s.key == nil {
		return nil
	}
	nodes, err := listenNodes(ctx, s.file.Ranks[0])
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = nodes.Close() })
	go s.acceptNodes(ctx, nodes)
	return nil
}

// listenNodes listens at the address by which other nodes reach this one, or at all addresses if this host has no such one: another host
// may pass connections on. The same holds for a name, which may stand for another address on this host than on others.
func listenNodes(ctx context.Context, at jobfile.Rank) (net.Listener, error) {
	port := strconv.Itoa(int(at.Port))
	if _, err := netip.ParseAddr(at.Address); err == nil {
		listener, err := link.Listen(ctx, net.JoinHostPort(at.Address, port))
		if !errors.Is(err, unix.EADDRNOTAVAIL) {
			return listener, err
		}
	}
	return link.Listen(ctx, net.JoinHostPort("", port))
}

// acceptPause is the time until the next try, after a connection could not be accepted: there may be no free file number.
const acceptPause = 100 * time.Millisecond

// accept calls serve for each connection until the listener is closed. Errors of other kinds pass.
func accept[C net.Conn](next func() (C, error), serve func(C)) {
	for {
		raw, err := next()
		switch {
		case err == nil:
			serve(raw)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// acceptLocal serves each process of the own account that connects.
func acceptLocal(listener *net.UnixListener, serve func(*link.Conn)) {
	accept(listener.AcceptUnix, func(raw *net.UnixConn) {
		go func() {
			if c, err := link.Own(raw); err == nil {
				serve(c)
			}
		}()
	})
}

// maxStrangers bounds the connections to the port for nodes that have not proved the secret yet. More of them wait in the kernel.
const maxStrangers = 256

func (s *Server) acceptNodes(ctx context.Context, listener net.Listener) {
	strangers := make(chan struct{}, maxStrangers)
	accept(listener.Accept, func(raw net.Conn) {
		strangers <- struct{}{}
		go func() {
			c, hello, err := s.key.Accept(ctx, raw)
			<-strangers
			if err != nil {
				return
			}
			switch hello.Role {
			case link.RoleNode:
				s.attend(c, hello)
			case link.RoleStep:
				s.connect(hello.Session, c)
			case link.RoleSrun:
				s.session(ctx, c)
			default:
				_ = c.Close()
			}
		}()
	})
}

// attend keeps the connection of a node until it is lost.
func (s *Server) attend(c *link.Conn, hello link.Hello) {
	defer func() { _ = c.Close() }()
	if hello.Rank < 1 || hello.Rank >= len(s.file.Job.Nodes) {
		return
	}
	s.mu.Lock()
	s.rooms.join(hello.Rank, hello.GPUs, c)
	s.mu.Unlock()
	for {
		f, err := c.Receive()
		if err != nil {
			break
		}
		if f.Kind == link.KindDial && len(f.Body) == 8 {
			s.connect(binary.BigEndian.Uint64(f.Body), nil)
		}
	}
	s.mu.Lock()
	s.rooms.leave(hello.Rank, c)
	s.mu.Unlock()
}

// connect hands a connection to the session that waits for it; nil: the node could not open it.
func (s *Server) connect(session uint64, c *link.Conn) {
	s.mu.Lock()
	wait := s.calls[session]
	delete(s.calls, session)
	s.mu.Unlock()
	switch {
	case wait != nil:
		wait <- c
	case c != nil:
		_ = c.Close()
	}
}
