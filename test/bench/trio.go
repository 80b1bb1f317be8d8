package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// readyLimit bounds the wait for three peers to agree and be level.
const readyLimit = time.Minute

// trio is three peers of a kind, each a process of its own.
type trio struct {
	kind  string
	dir   string
	peers []peer.Server
	run   [3]*member
}

// newTrio starts three peers in a new folder below dir. All of 127/8 is this
// machine, so that each trio has addresses of its own.
func newTrio(kind, dir string) (*trio, error) {
	dir, err := os.MkdirTemp(dir, kind+"-*")
	if err != nil {
		return nil, err
	}
	t := &trio{kind: kind, dir: dir}
	pid := os.Getpid()
	for i := range t.run {
		t.peers = append(t.peers, peer.Server{
			ID: model.PeerID(fmt.Sprintf("p%d", i+1)), Address: fmt.Sprintf("127.%d.%d.%d:7000", 32+i, pid>>8&0xff, pid&0xff),
		})
	}
	for i := range t.run {
		if err := t.start(i); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

func (t *trio) start(i int) error {
	s := t.peers[i]
	m, err := spawn("-engine", t.kind, "-id", string(s.ID), "-data", filepath.Join(t.dir, string(s.ID)), "-peers", formatPeers(t.peers))
	t.run[i] = m
	return err
}

// close ends the peers and removes what they wrote.
func (t *trio) close() error {
	var errs []error
	for _, m := range t.run {
		if m != nil {
			errs = append(errs, m.close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(t.dir))...)
}

// statuses asks all three; one that does not answer fails all.
func (t *trio) statuses(ctx context.Context) (out [3]status, err error) {
	for i, m := range t.run {
		a, err := m.call(ctx, request{Op: opStatus})
		if err != nil {
			return out, fmt.Errorf("peer %s: %w", t.peers[i].ID, err)
		}
		out[i] = *a.Status
	}
	return out, nil
}

// level waits until one peer leads and all have applied what it has, and says
// which leads.
func (t *trio) level(ctx context.Context) (leader int, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		all, err := t.statuses(ctx)
		if err != nil {
			return 0, err
		}
		if leader, ok := leveled(all); ok {
			return leader, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("no leader with level followers in %s: %+v", readyLimit, all)
		}
	}
}

func leveled(all [3]status) (leader int, ok bool) {
	leader = -1
	for i, s := range all {
		if s.Leads {
			if leader >= 0 {
				return 0, false
			}
			leader = i
		}
	}
	if leader < 0 {
		return 0, false
	}
	for _, s := range all {
		ok = s.Applied >= all[leader].Applied && s.Term == all[leader].Term
		if !ok {
			return 0, false
		}
	}
	return leader, true
}

func formatPeers(list []peer.Server) string {
	var out []string
	for _, s := range list {
		out = append(out, string(s.ID)+"="+s.Address)
	}
	return strings.Join(out, ",")
}

func parsePeers(text string) (out []peer.Server, err error) {
	for entry := range strings.SplitSeq(text, ",") {
		id, address, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not id=address", entry)
		}
		out = append(out, peer.Server{ID: model.PeerID(id), Address: address})
	}
	return out, nil
}

// member is a child process and the requests that it has not answered yet.
type member struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan reply
	gone    chan struct{} // closed when it answers no more
}

var errGone = errors.New("the process has ended")

// spawn starts this program as a child.
func spawn(args ...string) (*member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{childMode}, args...)...) //nolint:gosec // this program again
	m := &member{cmd: cmd, waiting: map[uint64]chan reply{}, gone: make(chan struct{})}
	m.cmd.Stderr = os.Stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go m.read(out)
	return m, nil
}

func (m *member) read(from io.Reader) {
	defer close(m.gone)
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var a reply
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return
		}
		m.mu.Lock()
		done := m.waiting[a.ID]
		delete(m.waiting, a.ID)
		m.mu.Unlock()
		if done != nil {
			done <- a
		}
	}
}

// send asks without waiting for the answer.
func (m *member) send(q request) (<-chan reply, error) {
	done := make(chan reply, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	q.ID = m.next
	m.waiting[q.ID] = done
	return done, json.NewEncoder(m.in).Encode(q)
}

// call asks and waits for the answer.
func (m *member) call(ctx context.Context, q request) (reply, error) {
	done, err := m.send(q)
	if err != nil {
		return reply{}, err
	}
	select {
	case a := <-done:
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-m.gone:
		return reply{}, errGone
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// kill ends the process as kill -9 does.
func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	<-m.gone
	_ = m.cmd.Wait() // it was killed
}

// close hangs up, upon which the child ends; one that does not is killed.
func (m *member) close() error {
	_ = m.in.Close()
	late := time.AfterFunc(10*time.Second, func() { _ = m.cmd.Process.Kill() })
	defer late.Stop()
	<-m.gone
	if err := m.cmd.Wait(); err != nil && m.cmd.ProcessState.Exited() {
		return fmt.Errorf("a peer's process: %w", err)
	}
	return nil
}
