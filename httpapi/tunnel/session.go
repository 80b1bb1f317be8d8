package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Answers of a server to a connection that names its stream.
var (
	ErrNoSession    = errors.New("there is no such stream")
	ErrSessionTaken = errors.New("there is a stream of this name")
)

// The words of an introduction: the first byte of the connection, ahead of the name, and of the answer.
const (
	introBegin   = 'N' // a stream of this name begins
	introResume  = 'R' // the stream of this name goes on
	introTaken   = 'T'
	introNone    = '-'
	introGranted = '+'
)

// introLimit bounds the time of an introduction.
const introLimit = 5 * time.Second

// Introduce tells a server which stream a connection to it carries. The error is [ErrNoSession] or [ErrSessionTaken] if the server says so.
// name has [SessionBytes] bytes.
func Introduce(conn net.Conn, name []byte, resume bool) error {
	word := byte(introBegin)
	if resume {
		word = introResume
	}
	if err := conn.SetDeadline(time.Now().Add(introLimit)); err != nil {
		return err
	}
	if _, err := conn.Write(append([]byte{word}, name...)); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	switch answer[0] {
	case introGranted:
		return conn.SetDeadline(time.Time{})
	case introNone:
		return ErrNoSession
	case introTaken:
		return ErrSessionTaken
	}
	return fmt.Errorf("the server of streams answers %q", answer)
}

// Sessions are the streams of a server, by their names. A stream outlives the connections that carry it, and all that passes them on.
type Sessions struct {
	mu  sync.Mutex
	all map[string]*Stream
}

// Serve lets a connection carry the stream that it names, until the connection is lost. A new stream is served by a goroutine of its own.
func (s *Sessions) Serve(conn net.Conn, serve func(net.Conn)) {
	stream, answer := s.find(conn, serve)
	if answer == 0 {
		_ = conn.Close()
		return
	}
	if _, err := conn.Write([]byte{answer}); err != nil || answer != introGranted || conn.SetDeadline(time.Time{}) != nil {
		_ = conn.Close()
	}
	if stream == nil {
		return
	}
	_ = stream.Carry(conn) // why it is lost does not matter
	if !stream.Await(ResumeFor) {
		stream.Fail(ErrLost)
	}
}

// find returns the stream that a connection names, and the answer; 0: the other end has left.
func (s *Sessions) find(conn net.Conn, serve func(net.Conn)) (*Stream, byte) {
	var intro [1 + SessionBytes]byte
	if err := conn.SetDeadline(time.Now().Add(introLimit)); err != nil {
		return nil, 0
	}
	if _, err := io.ReadFull(conn, intro[:]); err != nil {
		return nil, 0
	}
	name := string(intro[1:])
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := s.all[name]
	switch resume := intro[0] == introResume; {
	case resume && stream == nil:
		return nil, introNone
	case resume:
		return stream, introGranted
	case stream != nil:
		return nil, introTaken
	}
	if s.all == nil {
		s.all = map[string]*Stream{}
	}
	stream = NewStream(ResumeFor)
	s.all[name] = stream
	go func() {
		serve(stream)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, name)
	}()
	return stream, introGranted
}
