package tunnel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/files/frame"
)

// line connects two streams, again whenever it was cut.
type line struct {
	a, b *Stream

	mu    sync.Mutex
	conns [2]net.Conn
	limit int // bytes that a connection carries before it is cut; 0: any number
	rng   *rand.Rand
	done  sync.WaitGroup
}

// cutting is a connection that breaks after so many bytes.
type cutting struct {
	net.Conn
	mu   sync.Mutex
	left int
}

func (c *cutting) Write(data []byte) (int, error) {
	c.mu.Lock()
	n := min(len(data), c.left)
	c.left -= n
	c.mu.Unlock()
	written, err := c.Conn.Write(data[:n])
	if err == nil && n < len(data) {
		_ = c.Close()
		err = io.ErrClosedPipe
	}
	return written, err
}

func newLine(limit int) *line {
	l := &line{a: NewStream(Patience), b: NewStream(Patience), limit: limit, rng: rand.New(rand.NewPCG(1, 2))}
	l.done.Go(func() {
		l.a.Keep(l.pair(), func() (net.Conn, error) { return l.pair(), nil }, func(error) bool { return true })
	})
	return l
}

// pair makes a connection, one end of which carries b.
func (l *line) pair() net.Conn {
	one, other := net.Pipe()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = [2]net.Conn{one, other}
	if l.limit > 0 {
		one = &cutting{Conn: one, left: l.rng.IntN(l.limit) + 2*(frame.Header+numberBytes)}
		other = &cutting{Conn: other, left: l.rng.IntN(l.limit) + 2*(frame.Header+numberBytes)}
	}
	l.done.Go(func() { _ = l.b.Carry(other) })
	return one
}

// transfer writes random bytes from one stream to the other, and returns their sums.
func transfer(t *testing.T, from io.Writer, to io.Reader, size int, seed uint64) (sent, got [32]byte) {
	t.Helper()
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = source.Read(data) // never fails
	var both sync.WaitGroup
	both.Go(func() {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+int(source.Uint64()%100_000))
			if _, err := from.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	})
	hash := sha256.New()
	if n, err := io.CopyN(hash, to, int64(size)); err != nil {
		t.Errorf("after %d bytes: %v", n, err)
	}
	both.Wait()
	return sha256.Sum256(data), [32]byte(hash.Sum(nil))
}

// TestStreamOverManyConnections checks that all bytes arrive once and in order in both directions, however often the connection breaks, and
// then the end.
func TestStreamOverManyConnections(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"one connection": 0, "long ones": 300_000, "short ones": 40_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(limit)
			var both sync.WaitGroup
			for i, ends := range [][2]*Stream{{l.a, l.b}, {l.b, l.a}} {
				both.Go(func() {
					if sent, got := transfer(t, ends[0], ends[1], 3*window+12345, uint64(i)); sent != got {
						t.Error("the bytes differ")
					}
				})
			}
			both.Wait()
			if _, err := l.a.Write([]byte("the last words")); err != nil {
				t.Fatal(err)
			}
			if err := l.a.Close(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(l.b); err != nil || string(rest) != "the last words" {
				t.Errorf("%q, %v", rest, err)
			}
			if _, err := l.b.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a write after the end: %v", err)
			}
			if err := l.b.Close(); err != nil {
				t.Fatal(err)
			}
			l.done.Wait()
		})
	}
}

// TestStreamWaits checks that a writer waits for a reader, and that connections that break meanwhile do not change that.
func TestStreamWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(0)
		written := make(chan int, 1)
		go func() {
			n, _ := l.a.Write(make([]byte, 5*window))
			written <- n
		}()
		for range 5 {
			synctest.Wait()
			l.mu.Lock()
			_ = l.conns[0].Close()
			l.mu.Unlock()
			time.Sleep(time.Second)
		}
		select {
		case n := <-written:
			t.Fatalf("%d bytes were written to an end that reads nothing", n)
		default:
		}
		l.b.mu.Lock()
		held := len(l.b.in)
		l.b.mu.Unlock()
		if held > window {
			t.Errorf("the end that reads nothing holds %d bytes", held)
		}
		if n, err := io.CopyN(io.Discard, l.b, 5*window); err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if n := <-written; n != 5*window {
			t.Errorf("%d bytes were written", n)
		}
		_ = l.a.Close()
		_ = l.b.Close()
		l.done.Wait()
	})
}

// silent is a connection that takes all and says nothing, like that of a machine without power.
type silent struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
	late   *time.Timer
}

func (s *silent) Write(data []byte) (int, error) { return len(data), nil }

func (s *silent) Read([]byte) (int, error) {
	<-s.closed
	return 0, net.ErrClosed
}

func (s *silent) SetReadDeadline(at time.Time) error {
	if s.late != nil {
		s.late.Stop()
	}
	s.late = time.AfterFunc(time.Until(at), func() { _ = s.Close() })
	return nil
}

func (s *silent) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// TestStreamEnds checks that a stream ends when no connection is found, when the error of dial is final, and that a silent connection is
// given up.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	final := errors.New("the other end has gone")
	for name, c := range map[string]struct {
		err          error
		least, limit time.Duration
	}{
		"no connection": {errors.New("no way"), ResumeFor, ResumeFor + time.Second},
		"final":         {final, silence, silence + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, began := NewStream(Patience), time.Now()
				go s.Keep(&silent{closed: make(chan struct{})}, func() (net.Conn, error) { return nil, c.err },
					func(err error) bool { return errors.Is(err, final) })
				_, err := s.Read(make([]byte, 1))
				if took := time.Since(began); !errors.Is(err, ErrLost) || !errors.Is(err, c.err) || took < c.least || took > c.limit {
					t.Errorf("after %s: %v", took, err)
				}
				if _, err := s.Write([]byte("x")); !errors.Is(err, ErrLost) {
					t.Errorf("a write: %v", err)
				}
			})
		})
	}
}

// TestStreamOfAnother checks that a stream ends, and asks for connections at a bounded rate, if each reaches a stream that is not its own.
func TestStreamOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, began, dials := NewStream(Patience), time.Now(), 0
		dial := func() (net.Conn, error) {
			dials++
			one, other := net.Pipe()
			go func() {
				_ = writeFrame(other, frameHello, 9, nil) // it has received what was never written
				_, _ = io.Copy(io.Discard, other)
			}()
			return one, nil
		}
		first, _ := dial()
		go s.Keep(first, dial, func(error) bool { return false })
		_, err := s.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, ErrLost) || took < ResumeFor || took > ResumeFor+time.Second ||
			dials > int(ResumeFor/redialPause)+2 {
			t.Errorf("after %s and %d connections: %v", took, dials, err)
		}
	})
}

// TestStreamStaysAlive checks that beats keep an idle connection, and that frames that no Stream sends end it.
func TestStreamStaysAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(0)
		synctest.Wait()
		l.mu.Lock()
		first := l.conns
		l.mu.Unlock()
		time.Sleep(10 * silence)
		l.mu.Lock()
		same := l.conns == first
		l.mu.Unlock()
		if !same {
			t.Error("an idle connection was replaced")
		}
		_ = l.a.Close()
		_ = l.b.Close()
		l.done.Wait()
	})
	number := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	hello := frame.Append(nil, frameHello, number(0))
	for name, frames := range map[string][]byte{
		"no hello":        frame.Append(nil, frameData, number(0)),
		"wrong offset":    frame.Append(nil, frameHello, number(9)),
		"no number":       frame.Append(nil, frameHello, []byte("short")),
		"a second hello":  frame.Append(hello, frameHello, number(0)),
		"unknown":         frame.Append(hello, 'Z', number(0)),
		"too large":       frame.Append(hello, frameData, make([]byte, maxPiece+1)),
		"never written":   frame.Append(hello, frameTaken, number(5)),
		"a bad number":    frame.Append(hello, frameTaken),
		"a number as end": frame.Append(hello, frameEnd, nil),
	} {
		one, other := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, other) }()
		go func() { _, _ = io.Copy(other, bytes.NewReader(frames)) }()
		if err := NewStream(Patience).Carry(one); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
		_ = other.Close()
	}
}
