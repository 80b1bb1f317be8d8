package raftnet

import (
	"errors"
	"io"
	"time"
)

var errSilent = errors.New("the sender of a snapshot fell silent")

// body is the stream of a snapshot as raft's main goroutine reads it, with a limit for silence. Without a
// limit, a leader that dies while it sends would hold the main goroutine of its follower, vote and all, until
// the system gives the connection up, which takes minutes.
type body struct {
	source   io.Reader
	patience time.Duration
	pipe     *io.PipeReader
	timer    *time.Timer
	read     chan struct{} // closed when nothing reads from source any more; nil until the first Read
}

// Read fails with errSilent when nothing has come within the limit.
func (b *body) Read(p []byte) (int, error) {
	if b.read == nil {
		b.start()
	}
	b.timer.Reset(b.patience)
	defer b.timer.Stop()
	return b.pipe.Read(p)
}

func (b *body) start() {
	out, in := io.Pipe()
	read := make(chan struct{})
	b.pipe, b.read = out, read
	b.timer = time.AfterFunc(b.patience, func() { _ = in.CloseWithError(errSilent) })
	go func() {
		defer close(read)
		_, err := io.Copy(in, b.source)
		_ = in.CloseWithError(err)
	}()
}

// afterwards runs f when nothing reads from the connection any more: before that, an answer would let the
// connection's own goroutine read from it, too.
func (b *body) afterwards(f func()) {
	if b == nil || b.read == nil {
		f()
		return
	}
	select {
	case <-b.read:
		f()
	default:
		go func() {
			<-b.read
			f()
		}()
	}
}
