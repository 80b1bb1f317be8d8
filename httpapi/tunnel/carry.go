package tunnel

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/berth-gpu/berth/files/frame"
)

// The kinds of frames. The body of all but frameData is a number: an offset.
const (
	frameHello byte = 'H' // the first one of a connection: what has been received
	frameData  byte = 'D'
	frameTaken byte = 'T' // what has been received and read
	frameEnd   byte = 'E' // the end of the stream; counts as one byte
	frameBeat  byte = 'B' // nothing
)

// numberBytes is the length of a number.
const numberBytes = 8

// limit returns the largest body of a kind of frames, or -1 if there is no such kind.
func limit(kind byte) int {
	switch kind {
	case frameData:
		return maxPiece
	case frameHello, frameTaken, frameEnd, frameBeat:
		return numberBytes
	}
	return -1
}

// Carry lets a connection carry the stream until the connection is lost, or the stream is over; it closes the connection. A stream has one
// connection at a time: the one before is closed.
func (s *Stream) Carry(conn net.Conn) error {
	s.mu.Lock()
	if s.failure != nil {
		s.mu.Unlock()
		return errors.Join(s.failure, conn.Close())
	}
	if s.carried != nil {
		_ = s.carried.Close()
	}
	s.carried = conn
	received := s.received
	s.told = 0 // the connection may have lost what it was to tell
	s.mu.Unlock()
	in := bufio.NewReaderSize(conn, maxPiece+frame.Header)
	err := s.greet(conn, in, received)
	if err != nil {
		err = errors.Join(errNoGreeting, err)
	} else {
		writer := make(chan struct{})
		go func() {
			defer close(writer)
			s.send(conn)
		}()
		err = s.receive(conn, in)
		s.drop(conn)
		<-writer
	}
	s.drop(conn)
	return err
}

// errNoGreeting is the error of a connection that has carried nothing.
var errNoGreeting = errors.New("the other end did not say what it has received")

// drop closes a connection, which carries the stream no more.
func (s *Stream) drop(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carried == conn {
		s.carried = nil
		s.wake()
	}
}

// greet exchanges what both ends have received.
func (s *Stream) greet(conn net.Conn, in io.Reader, received uint64) error {
	_ = conn.SetReadDeadline(time.Now().Add(silence)) // a connection without deadlines is a test's
	sent := make(chan error, 1)
	go func() { sent <- writeFrame(conn, frameHello, received, nil) }()
	kind, other, _, err := readFrame(in)
	if err = errors.Join(err, <-sent); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != frameHello || other < s.base || other > s.end() {
		return fmt.Errorf("the other end of the stream begins with %q %d; %d to %d can be sent again", kind, other, s.base, s.end())
	}
	if s.carried != conn {
		return net.ErrClosed
	}
	s.sent = other
	s.wake()
	return nil
}

// taken drops what the other end has. The lock is held.
func (s *Stream) taken(upTo uint64) {
	n := min(upTo-s.base, uint64(len(s.out)))
	s.known = s.known || upTo-s.base > n
	s.out = s.out[n:]
	s.base = upTo
	s.wake()
}

// send sends what is written, what is read, and a beat from time to time.
func (s *Stream) send(conn net.Conn) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		kind, number, data := s.next(conn, beat.C)
		if kind == 0 {
			return
		}
		if writeFrame(conn, kind, number, data) != nil {
			_ = conn.Close() // so that receive ends, too
			return
		}
	}
}

// next waits for the next frame to send; kind 0: the connection is not that of the stream any more.
func (s *Stream) next(conn net.Conn, beat <-chan time.Time) (kind byte, number uint64, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func() bool { return s.carried != conn || s.failure != nil }
	due := func() uint64 { // what the other end is to know as read
		read := s.received - uint64(len(s.in))
		switch {
		case s.over:
			return s.received
		case read-s.told >= window/4:
			return read
		}
		return s.told
	}
	rest := func() []byte { return s.out[min(s.sent-s.base, uint64(len(s.out))):] }
	if !s.await(func() bool { return gone() || due() > s.told || s.sent < s.end() }, beat) {
		return frameBeat, 0, nil
	}
	switch {
	case gone():
		return 0, 0, nil
	case due() > s.told:
		s.told = due()
		return frameTaken, s.told, nil
	case len(rest()) > 0:
		data = append(data, rest()[:min(len(rest()), maxPiece)]...)
		s.sent += uint64(len(data))
		return frameData, 0, data
	}
	s.sent++
	return frameEnd, s.sent, nil
}

// receive takes frames until the connection is lost.
func (s *Stream) receive(conn net.Conn, in io.Reader) error {
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silence)) // a connection without deadlines is a test's
		kind, number, data, err := readFrame(in)
		if err != nil {
			return err
		}
		if err := s.take(conn, kind, number, data); err != nil {
			return err
		}
	}
}

// take carries out what a frame of a connection says.
func (s *Stream) take(conn net.Conn, kind byte, number uint64, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carried != conn {
		return net.ErrClosed // another one has been told what was received
	}
	switch kind {
	case frameBeat:
	case frameData:
		if s.over || len(s.in)+len(data) > window {
			return errors.New("more was sent than the other end may send")
		}
		s.in = append(s.in, data...)
		s.received += uint64(len(data))
	case frameTaken:
		if number < s.base || number > s.sent {
			return fmt.Errorf("%d bytes are said to be read, of %d to %d", number, s.base, s.sent)
		}
		s.taken(number)
	case frameEnd:
		s.received++
		s.over = true
	default:
		return fmt.Errorf("a frame of kind %q is not the first one of its connection", kind)
	}
	s.wake()
	return nil
}

// writeFrame writes a frame: of frameData its data, of others the number.
func writeFrame(to io.Writer, kind byte, number uint64, data []byte) error {
	if kind != frameData {
		data = binary.BigEndian.AppendUint64(nil, number)
	}
	_, err := to.Write(frame.Append(nil, kind, data))
	return err
}

// readFrame reads a frame: of frameData its data, of others the number.
func readFrame(from io.Reader) (kind byte, number uint64, data []byte, err error) {
	kind, data, err = frame.Read(from, limit)
	if err != nil || kind == frameData {
		return kind, 0, data, err
	}
	if len(data) != numberBytes {
		return 0, 0, nil, fmt.Errorf("%w: a number of %d bytes", frame.ErrMalformed, len(data))
	}
	return kind, binary.BigEndian.Uint64(data), nil, nil
}
