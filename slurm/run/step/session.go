package step

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/srun"
)

// session is one step, from the request of srun to its end.
type session struct {
	server *Server
	srun   *link.Conn
	ask    link.Ask
	step   environ.Step
	layout srun.Layout
	frames chan link.Frame // of srun; closed when srun has ended
	dead   chan struct{}   // closed when srun has ended
	begun  sync.WaitGroup  // until each node has its tasks, or could not be reached

	mu      sync.Mutex
	parts   []*part
	relayed int // frames of input that srun knows to be taken
}

// part is a session's tasks on one node.
type part struct {
	share srun.Share
	conn  *link.Conn // nil: it has ended, or could not be reached
	open  map[int]bool
	taken int
}

// session serves one srun.
func (s *Server) session(ctx context.Context, c *link.Conn) {
	defer func() { _ = c.Close() }()
	ss := &session{server: s, srun: c, frames: make(chan link.Frame, link.Window+2), dead: make(chan struct{})}
	if !s.receive(c, &ss.ask) || len(ss.ask.Command) == 0 {
		return
	}
	ended, end := context.WithCancel(ctx)
	defer end()
	go ss.read(ended)
	if !ss.pin(ctx) || !ss.place() {
		return
	}
	defer ss.release()
	if !ss.created() {
		return
	}
	ss.run()
}

// read receives the frames of srun.
func (ss *session) read(ended context.Context) {
	defer close(ss.frames)
	defer close(ss.dead)
	for {
		f, err := ss.srun.Receive()
		if err != nil {
			return
		}
		select {
		case ss.frames <- f:
		case <-ended.Done():
			return
		}
	}
}

func (ss *session) refuse(format string, args ...any) bool {
	_ = ss.srun.Send(link.KindRefused, fmt.Appendf(nil, format, args...)) // an srun that has ended needs no answer
	return false
}

// pin gives the image of the step its digest, so that all nodes run the same, and reports whether it can run. A container with a name may
// be there already: its nodes find that.
func (ss *session) pin(ctx context.Context) bool {
	c := &ss.ask.Container
	if c.Image == "" || c.Name != "" {
		return true
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-ss.dead:
			end()
		case <-ctx.Done():
		}
	}()
	name, err := ss.server.containers.Images.Pin(ctx, c.Image)
	if err != nil {
		return ss.refuse("Unable to create step for job %d: the image %s: %s", ss.server.file.Job.ID, c.Image, err.Error())
	}
	c.Image = name
	return true
}

// place waits for the resources of the step, and holds them. It reports whether the step has its place.
func (ss *session) place() bool {
	s := ss.server
	if ss.ask.Parent >= 0 {
		ss.ask.Size.Overlap, ss.ask.Size.Exact = true, false // what it needs is held by the step that it is a part of
	}
	var limit <-chan time.Time
	if ss.ask.Immediate > 0 {
		limit = time.After(time.Duration(ss.ask.Immediate))
	}
	for said := false; ; said = true {
		s.mu.Lock()
		layout, waits, err := s.rooms.take(ss.ask.Size)
		changed := s.rooms.changed
		if err == nil && waits == "" {
			ss.layout, ss.step = layout, s.number(layout, ss.ask.Size, ss.ask.Name)
		}
		s.mu.Unlock()
		switch {
		case err != nil:
			return ss.refuse("Unable to create step for job %d: %s", s.file.Job.ID, err.Error())
		case waits == "":
			return true
		case ss.ask.Immediate < 0:
			return ss.refuse("Unable to create step for job %d: %s", s.file.Job.ID, waits)
		case !said:
			_ = ss.srun.Send(link.KindNote, fmt.Appendf(nil, "Job %d step creation temporarily disabled, retrying (%s)", s.file.Job.ID, waits))
		}
		select {
		case <-changed:
		case <-limit:
			return ss.refuse("Unable to create step for job %d: %s", s.file.Job.ID, waits)
		case _, alive := <-ss.frames: // an srun that waits has sent nothing but signals, which end it
			if !alive {
				return false
			}
		}
	}
}

// number returns the next step, with the tasks of a layout.
func (s *Server) number(layout srun.Layout, size srun.Size, name string) environ.Step {
	step := environ.Step{
		ID: s.next, TasksPerNode: size.TasksPerNode, CPUsPerTask: size.CPUsPerTask, GPUsPerTask: size.GPUsPerTask, Name: name,
		Distribution: size.Distribution(),
	}
	s.next++
	for _, share := range layout.Shares {
		step.Nodes, step.Ranks = append(step.Nodes, share.Node), append(step.Ranks, share.Ranks)
	}
	if size.NoGPUs {
		step.GPUsPerTask = 0
	}
	return step
}

// created sends srun the place of the step, and waits until srun has opened its files.
func (ss *session) created() bool {
	c := link.Created{Step: ss.step.ID, Tasks: ss.step.Tasks(), Notes: ss.layout.Notes}
	for _, share := range ss.layout.Shares {
		c.Nodes = append(c.Nodes, link.Place{Name: ss.server.file.Job.Nodes[share.Node].Name, Ranks: share.Ranks})
	}
	if ss.srun.SendValue(link.KindCreated, c) != nil {
		return false
	}
	f, alive := <-ss.frames
	return alive && f.Kind == link.KindReady
}

// release gives back what no node has given back.
func (ss *session) release() {
	ss.server.mu.Lock()
	defer ss.server.mu.Unlock()
	if ss.parts == nil { // it has not run
		for _, share := range ss.layout.Shares {
			ss.server.rooms.release(share)
		}
	}
}

// run runs the tasks on all nodes, and returns when all have ended.
func (ss *session) run() {
	ss.server.running(ss, true)
	defer ss.server.running(ss, false)
	ss.mu.Lock()
	for _, share := range ss.layout.Shares {
		p := &part{share: share, open: map[int]bool{}}
		for _, rank := range share.Ranks {
			p.open[rank] = true
		}
		ss.parts = append(ss.parts, p)
	}
	ss.mu.Unlock()
	var all, reader sync.WaitGroup
	ss.begun.Add(len(ss.parts))
	for i, p := range ss.parts {
		all.Go(func() { ss.serve(i, p) })
	}
	reader.Go(ss.pass)
	all.Wait()
	_ = ss.srun.Close()
	reader.Wait()
}

// pass passes the frames of srun on to all nodes, once each of them has its tasks. When srun has ended, the tasks end, too.
func (ss *session) pass() {
	ss.begun.Wait()
	for f := range ss.frames {
		switch f.Kind { //nolint:exhaustive // no others come from srun
		case link.KindInput, link.KindInputEnd, link.KindSignal, link.KindEnd, link.KindResize:
			for _, c := range ss.conns() {
				_ = c.Send(f.Kind, f.Body) // a lost connection is found by serve
			}
		}
	}
	for _, c := range ss.conns() {
		_ = c.Close()
	}
}

func (ss *session) conns() (all []*link.Conn) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, p := range ss.parts {
		if p.conn != nil {
			all = append(all, p.conn)
		}
	}
	return all
}

// serve runs the tasks of one node, and gives back what they held.
func (ss *session) serve(index int, p *part) {
	s := ss.server
	conn, served := ss.open(p)
	launch := link.Launch{Ask: ss.ask, Step: ss.step, Index: index, GPUs: p.share.GPUs, TmpDir: s.file.Job.TmpDir}
	launched := conn != nil && conn.SendValue(link.KindLaunch, launch) == nil
	if launched {
		ss.mu.Lock()
		p.conn = conn
		ss.mu.Unlock()
	}
	ss.begun.Done()
	if launched {
		ss.listen(p, conn)
	}
	if conn != nil {
		_ = conn.Close()
	}
	ss.mu.Lock()
	p.conn = nil
	ss.mu.Unlock()
	ss.acknowledge() // the others decide now
	if served != nil {
		<-served
	}
	s.mu.Lock()
	s.rooms.release(p.share)
	s.mu.Unlock()
	if len(p.open) > 0 {
		ss.lost(p)
	}
}

// lost reports a node that cannot be reached any more, and ends the other tasks.
func (ss *session) lost(p *part) {
	l := link.Lost{Node: ss.server.file.Job.Nodes[p.share.Node].Name}
	for _, rank := range p.share.Ranks {
		if p.open[rank] {
			l.Ranks = append(l.Ranks, rank)
		}
	}
	_ = ss.srun.SendValue(link.KindLost, l) // an srun that has ended needs none
	for _, c := range ss.conns() {
		_ = c.Send(link.KindEnd)
	}
}

// open connects to a node's tasks. served is closed when tasks of this node have ended, of another node it is nil.
func (ss *session) open(p *part) (conn *link.Conn, served chan struct{}) {
	s := ss.server
	if p.share.Node == 0 {
		here, there := link.Pair()
		served = make(chan struct{})
		go func() {
			defer close(served)
			var launch link.Launch
			if there.Expect(link.KindLaunch, &launch) == nil {
				s.node.Serve(there, &launch)
			}
			_ = there.Close()
		}()
		return here, served
	}
	s.mu.Lock()
	node, gone := s.rooms.nodes[p.share.Node], s.rooms.gone[p.share.Node]
	s.token++
	token, wait := s.token, make(chan *link.Conn, 1)
	s.calls[token] = wait
	s.mu.Unlock()
	if node != nil && node.Send(link.KindDial, binary.BigEndian.AppendUint64(nil, token)) == nil {
		select {
		case c := <-wait:
			return c, nil
		case <-gone:
		case <-ss.dead:
		}
	}
	s.mu.Lock()
	delete(s.calls, token)
	s.mu.Unlock()
	select {
	case c := <-wait:
		if c != nil {
			_ = c.Close()
		}
	default:
	}
	return nil, nil
}

// listen passes what a node sends on to srun, until all its tasks have ended or the connection is lost.
func (ss *session) listen(p *part, conn *link.Conn) {
	for len(p.open) > 0 {
		f, err := conn.Receive()
		if err != nil {
			return
		}
		switch f.Kind { //nolint:exhaustive // no others come from a node
		case link.KindOutput:
			_ = ss.srun.Send(f.Kind, f.Body) // an srun that has ended ends the tasks
		case link.KindExit:
			if rank, _, ok := link.ReadExit(f.Body); ok && p.open[rank] {
				delete(p.open, rank)
				_ = ss.srun.Send(f.Kind, f.Body)
			}
		case link.KindTaken:
			ss.mu.Lock()
			p.taken++
			ss.mu.Unlock()
			ss.acknowledge()
		}
	}
}

// acknowledge reports frames of input that all nodes have taken.
func (ss *session) acknowledge() {
	ss.mu.Lock()
	least := -1
	for _, p := range ss.parts {
		if p.conn != nil && (least < 0 || p.taken < least) {
			least = p.taken
		}
	}
	n := max(least-ss.relayed, 0)
	ss.relayed += n
	ss.mu.Unlock()
	for range n {
		_ = ss.srun.Send(link.KindTaken) // an srun that has ended needs none
	}
}
