package nodeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	followEvery = 100 * time.Millisecond
	pieceSize   = 64 << 10
)

// sender writes pieces, each within a limit of its own.
type sender struct {
	to      http.ResponseWriter
	control *http.ResponseController
}

func newSender(w http.ResponseWriter) *sender {
	return &sender{to: w, control: http.NewResponseController(w)}
}

func (s *sender) piece(data []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	if _, err := s.to.Write(data); err != nil {
		return err
	}
	return s.control.Flush()
}

// abort breaks the connection, so that the reader does not take a part for everything.
func (s *sender) abort() { _ = s.control.SetWriteDeadline(time.Unix(1, 0)) }

// send sends a stream, which is nil as long as the rank has not begun to write it.
func (s *Server) send(ctx context.Context, out *sender, f *os.File, q query) error {
	if err := out.piece(nil); err != nil {
		return err
	}
	ended, late := false, f == nil
	for f == nil {
		if ended = s.from.Logs.Ended(q.rank); !wait(ctx) {
			return nil
		}
		var err error
		if f, err = s.from.Logs.Open(q.rank, q.stream); err != nil && (ended || !errors.Is(err, fs.ErrNotExist)) {
			return nil // it never wrote
		}
	}
	defer func() { _ = f.Close() }()
	if late { // all of it has come since the request
		q.tail = -1
	}
	at, err := lastLines(f, q.tail)
	if err != nil {
		return err
	}
	for {
		ended = !q.follow || s.from.Logs.Ended(q.rank) // before the end of the file is looked for
		if at, err = copyFrom(out, f, at); err != nil {
			return err
		}
		if ended || !wait(ctx) {
			return nil
		}
	}
}

// wait waits a moment; false: the reader is gone.
func wait(ctx context.Context) bool {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// copyFrom sends the content of a file from an offset on, and returns where it ended. A hole is output that
// was dropped.
func copyFrom(out *sender, f *os.File, at int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return at, err
	}
	buffer := make([]byte, min(pieceSize, max(0, info.Size()-at)))
	for at < info.Size() {
		if data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA); err == nil && data > at {
			if err := out.piece(fmt.Appendf(nil, "\n[berth: %d bytes of output were not kept]\n", data-at)); err != nil {
				return at, err
			}
			at = data
		}
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), info.Size()-at)], at)
		if n == 0 {
			return at, noEOF(err)
		}
		at += int64(n)
		if err := out.piece(buffer[:n]); err != nil {
			return at, err
		}
	}
	return at, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lastLines returns the offset at which the last n lines of a file begin; 0 if n is negative.
func lastLines(f *os.File, n int) (int64, error) {
	info, err := f.Stat()
	if err != nil || n < 0 {
		return 0, err
	}
	at := info.Size()
	if n == 0 {
		return at, nil
	}
	buffer := make([]byte, min(pieceSize, at))
	for at > 0 {
		from := max(0, at-int64(len(buffer)))
		piece := buffer[:at-from]
		if _, err := f.ReadAt(piece, from); err != nil {
			return 0, noEOF(err)
		}
		for i := len(piece); i > 0; {
			i = bytes.LastIndexByte(piece[:i], '\n')
			if i < 0 {
				break
			}
			if from+int64(i)+1 == info.Size() {
				continue // the newline at the very end ends the last line
			}
			if n--; n == 0 {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return 0, nil
}
