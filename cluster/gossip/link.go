package gossip

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// link is a connection for packets in both directions. Each packet has its length before it, as two bytes.
type link struct {
	of   *transport
	name string

	mu     sync.Mutex
	conn   net.Conn // nil: it is being opened
	queue  [][]byte // frames to send
	busy   bool     // a goroutine sends, or opens the connection
	closed bool
	unread time.Time // when the first question was sent since the member was last heard; zero: none was
}

// silent reports whether the other side has sent nothing for long after a question: the connection may lead nowhere.
func (l *link) silent(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.conn != nil && !l.unread.IsZero() && now.Sub(l.unread) > answerLimit
}

// send queues a frame. One that finds no room is lost, as packets may be.
func (l *link) send(frame []byte, asks bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) >= maxQueued {
		return
	}
	if asks && l.unread.IsZero() {
		l.unread = now
	}
	if l.queue = append(l.queue, frame); !l.busy {
		l.busy = l.of.serve(l.flush)
	}
}

// flush writes what is queued.
func (l *link) flush() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 || l.closed {
			l.busy = false
			l.mu.Unlock()
			return
		}
		all := slices.Concat(l.queue...)
		l.queue = nil
		conn := l.conn
		l.mu.Unlock()
		err := conn.SetWriteDeadline(time.Now().Add(answerLimit))
		if err == nil {
			_, err = conn.Write(all)
		}
		if err != nil {
			l.close()
		}
	}
}

// dial opens the connection, and serves it.
func (l *link) dial(address string) {
	conn, _, err := l.of.dial(memberlist.Address{Addr: address, Name: l.name}, dialLimit, carriesPackets)
	if err != nil {
		l.of.notes.add(slog.LevelDebug, "no connection", slog.String("member", l.name), slog.String("addr", address), slog.Any("err", err))
		l.close()
		return
	}
	l.mu.Lock()
	l.conn = conn
	late := l.closed || !l.of.serve(l.flush)
	l.mu.Unlock()
	if late {
		_ = conn.Close()
		return
	}
	l.read()
}

// heard notes that a packet of a member has come, by whichever connection.
func (t *transport) heard(name string) {
	t.mu.Lock()
	l := t.links[name]
	t.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		l.unread = time.Time{}
		l.mu.Unlock()
	}
}

// read serves the connection until it ends.
func (l *link) read() {
	defer l.close()
	frame := make([]byte, maxPacket)
	for window, n := time.Now(), 0; ; n++ {
		if err := l.conn.SetReadDeadline(time.Now().Add(idleLimit)); err != nil {
			return
		}
		if _, err := io.ReadFull(l.conn, frame[:2]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint16(frame))
		if size > maxPacket {
			l.of.refused(l.name, errPack)
			return
		}
		if _, err := io.ReadFull(l.conn, frame[:size]); err != nil {
			return
		}
		l.of.heard(l.name)
		if err := l.of.deliver(l.name, l.conn.RemoteAddr(), frame[:size]); err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.of.refused(l.name, err)
			}
			return
		}
		if n < packetsEach {
			continue
		}
		select {
		case <-time.After(time.Until(window.Add(time.Second))):
		case <-l.of.ctx.Done():
			return
		}
		window, n = time.Now(), 0
	}
}

// close ends the connection, and lets the next packet open another.
func (l *link) close() {
	t := l.of
	t.mu.Lock()
	if t.links[l.name] == l {
		delete(t.links, l.name)
	}
	t.taken[l.name] = slices.DeleteFunc(t.taken[l.name], func(other *link) bool { return other == l })
	if len(t.taken[l.name]) == 0 {
		delete(t.taken, l.name)
	}
	t.mu.Unlock()
	l.mu.Lock()
	conn := l.conn
	again := l.closed
	l.closed, l.queue = true, nil
	l.mu.Unlock()
	if conn != nil && !again {
		_ = conn.Close()
	}
}

// exchange is a connection on which each side sends one list of members, with its length before it, as four bytes.
type exchange struct {
	net.Conn

	of    *transport
	name  string
	rest  []byte // what was checked, and not read yet
	full  bool   // the list of the other side was read
	done  chan struct{}
	close sync.Once
}

// Write sends the list of this member, which memberlist writes at once.
func (x *exchange) Write(b []byte) (int, error) {
	if len(b) > maxLists {
		return 0, errPack
	}
	out := x.of.check.sentList(b)
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...)
	if _, err := x.Conn.Write(frame); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read reads the list of the other side, once the whole list was checked.
func (x *exchange) Read(b []byte) (int, error) {
	if !x.full {
		if err := x.fill(); err != nil {
			return 0, err
		}
	}
	if len(x.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

// fill reads and checks the list of the other side. Memory is taken for what has come, and not for what is announced.
func (x *exchange) fill() error {
	x.full = true
	var size [4]byte
	if _, err := io.ReadFull(x.Conn, size[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	if n > maxLists {
		return errPack
	}
	b, err := io.ReadAll(io.LimitReader(x.Conn, n))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		x.rest, err = x.of.check.list(x.name, b)
	}
	return err
}

// Close ends the connection.
func (x *exchange) Close() error {
	x.close.Do(func() {
		if x.done != nil {
			close(x.done)
		}
	})
	return x.Conn.Close()
}
