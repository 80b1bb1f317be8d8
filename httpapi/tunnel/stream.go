package tunnel

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Bounds of a stream.
const (
	window    = 1 << 20          // bytes of one direction that are on the way, or that the other end has not read
	maxPiece  = 32 << 10         // bytes of one frame
	beatEvery = 5 * time.Second  // a frame is sent at least so often
	silence   = 20 * time.Second // without a frame, after which a connection counts as lost
	ResumeFor = 30 * time.Second // that a stream without a connection waits for the next one

	// Patience is the time that Close waits for the other end to have all, unless a stream waits longer.
	Patience = 5 * time.Second
)

// SessionBytes is the length of the name of a stream, random bytes that both ends know: with it a connection finds its stream.
const SessionBytes = 16

// ErrLost is the error of a stream whose connection was lost, and that found no other one in time.
var ErrLost = errors.New("the connection is lost, and no other one was found in time")

// Stream is one end of a stream of bytes in both directions that outlives its connections: what a lost connection has not carried is sent
// again by the next one ([Stream.Carry]). Read, Write and Close are those of a net.Conn.
type Stream struct {
	patience time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change

	out   []byte // written, and not known to be read by the other end
	base  uint64 // offset of out
	sent  uint64 // offset up to which the present connection has got out
	ended bool   // the end comes after out
	known bool   // the other end has the end

	in       []byte // received and not read
	received uint64 // bytes, with the end
	told     uint64 // what the other end knows of received
	over     bool   // the end has been received

	carried net.Conn // nil: there is no connection
	failure error    // the stream is dead
}

// NewStream returns a stream without a connection. Close waits at most for patience until the other end has all that was written.
func NewStream(patience time.Duration) *Stream {
	return &Stream{patience: patience, changed: make(chan struct{})}
}

// wake wakes all that wait for a change. The lock is held.
func (s *Stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until ready returns true, with the lock held.
func (s *Stream) await(ready func() bool, until <-chan time.Time) bool {
	for !ready() {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
			s.mu.Lock()
		case <-until:
			s.mu.Lock()
			return false
		}
	}
	return true
}

// Read reads what the other end has written; io.EOF after its end.
func (s *Stream) Read(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await(func() bool { return len(s.in) > 0 || s.over || s.failure != nil }, nil)
	switch n := copy(data, s.in); {
	case n > 0:
		s.in = s.in[n:]
		s.wake()
		return n, nil
	case s.over:
		return 0, io.EOF
	}
	return 0, s.failure
}

// Write waits while the other end does not read.
func (s *Stream) Write(data []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(data) {
		s.await(func() bool { return len(s.out) < window || s.over || s.ended || s.failure != nil }, nil)
		switch {
		case s.failure != nil:
			return n, s.failure
		case s.ended, s.over:
			return n, net.ErrClosed
		}
		piece := data[n:min(len(data), n+window-len(s.out))]
		s.out = append(s.out, piece...)
		n += len(piece)
		s.wake()
	}
	return n, nil
}

// Close ends the stream in both directions, and waits a while until the other end has all that was written.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
	limit := time.NewTimer(s.patience)
	defer limit.Stop()
	s.await(func() bool { return s.over || s.base == s.end() || s.failure != nil }, limit.C)
	s.fail(net.ErrClosed)
	return nil
}

// Fail ends the stream at once.
func (s *Stream) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail(err)
}

func (s *Stream) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
	if s.carried != nil {
		_ = s.carried.Close()
	}
	s.wake()
}

// Over reports whether the stream needs no connection any more.
func (s *Stream) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over || s.failure != nil
}

// Await waits until the stream has a connection or is over, at most for a time, and reports whether that came about.
func (s *Stream) Await(limit time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	return s.await(func() bool { return s.carried != nil || s.over || s.failure != nil }, timer.C)
}

// Keep carries the stream by a first connection, and by others that dial returns, until the stream is over, or until none has carried
// anything for [ResumeFor]. An error that final reports as final ends the stream.
func (s *Stream) Keep(conn net.Conn, dial func() (net.Conn, error), final func(error) bool) {
	lost := time.Now()
	for {
		err := s.Carry(conn)
		useless := errors.Is(err, errNoGreeting)
		if !useless {
			lost = time.Now()
		}
		for conn = nil; conn == nil; {
			if s.Over() {
				return
			}
			if useless {
				time.Sleep(redialPause)
			}
			if time.Since(lost) > ResumeFor {
				s.Fail(errors.Join(ErrLost, err))
				return
			}
			if conn, err = dial(); err == nil {
				continue
			}
			useless = true
			if final(err) {
				s.Fail(errors.Join(ErrLost, err))
				return
			}
		}
	}
}

// redialPause is the time between two tries to find another connection.
const redialPause = 100 * time.Millisecond

// end returns the offset after all that was written. The lock is held.
func (s *Stream) end() uint64 {
	n := s.base + uint64(len(s.out))
	if s.ended && !s.known {
		n++
	}
	return n
}

// address is the address of both ends of a stream, which has none.
type address struct{}

func (address) Network() string { return "stream" }
func (address) String() string  { return "stream" }

// LocalAddr returns an address without meaning.
func (s *Stream) LocalAddr() net.Addr { return address{} }

// RemoteAddr returns an address without meaning.
func (s *Stream) RemoteAddr() net.Addr { return address{} }

// SetDeadline is not supported.
func (s *Stream) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline is not supported.
func (s *Stream) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline is not supported.
func (s *Stream) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
