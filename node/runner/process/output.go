package process

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Bounds of what is kept of each stream, in bytes: its first part and its last part. The space between is
// freed on the disk; the file keeps its length and reads as zeros there.
const (
	keepHead   = 256 << 20
	keepTail   = 768 << 20
	punchEvery = 16 << 20
)

// stream copies a job's output into a file. It goes on reading the output whatever happens to the file, so
// that a full disk does not stop the job.
type stream struct {
	file       *os.File
	head, tail int64
	step       int64 // how much more than head and tail there may be
	at         int64 // length of the file
	hole       int64 // end of what was given back; head if nothing was
	full       bool  // the file system cannot give back: nothing more is kept
}

func newStream(f *os.File, head, tail, step int64) *stream {
	return &stream{file: f, head: head, tail: tail, step: step, hole: head}
}

// Write writes what it can. It never fails.
func (s *stream) Write(data []byte) (int, error) {
	if s.full {
		return len(data), nil
	}
	n, _ := s.file.WriteAt(data, s.at) // a full disk loses the rest; later writes may fit again
	s.at += int64(n)
	if end := s.at - s.tail; end >= s.hole+s.step {
		s.full = punch(s.file, s.hole, end) != nil
		s.hole = end
	}
	return len(data), nil
}

func punch(f *os.File, from, to int64) error {
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	return unix.Fallocate(int(f.Fd()), mode, from, to-from)
}

// pump is a pipe from a job to a stream.
type pump struct {
	in   *os.File // the job's end
	out  *os.File
	file *os.File
}

func newPump(file *os.File) (*pump, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &pump{in: w, out: r, file: file}, nil
}

// run copies until the job's end has no holder left. The job must have been started: this process closes its
// own copy of that end.
func (p *pump) run(done *sync.WaitGroup) {
	_ = p.in.Close()
	done.Go(func() {
		_, _ = io.CopyBuffer(newStream(p.file, keepHead, keepTail, punchEvery), onlyReader{p.out}, make([]byte, 32<<10))
		_ = p.out.Close()
		_ = p.file.Close()
	})
}

// onlyReader hides the file's other methods, so that each read becomes one write.
type onlyReader struct{ io.Reader }
