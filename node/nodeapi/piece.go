package nodeapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// describe sets the headers that say where in the output an answer begins.
func describe(h http.Header, at, size int64, ended bool) {
	h.Set(wire.HeaderLogOffset, strconv.FormatInt(at, 10))
	h.Set(wire.HeaderLogSize, strconv.FormatInt(size, 10))
	h.Set(wire.HeaderLogEnded, strconv.FormatBool(ended))
}

// kept returns the part of a file that was kept at an offset or behind, and ends at the file's end at the latest: from at to end. Both are
// the size of the file if there is none.
func kept(f *os.File, from, size int64) (at, end int64, err error) {
	if from >= size {
		return from, from, nil
	}
	at, err = unix.Seek(int(f.Fd()), from, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // a hole up to the end
		return size, size, nil
	case errors.Is(err, unix.EINVAL): // a file system without holes
		return from, size, nil
	case err != nil:
		return 0, 0, err
	}
	if end, err = unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE); err != nil {
		return 0, 0, err
	}
	return at, min(end, size), nil
}

// begin returns where an answer in bytes begins, and where it ends unless it follows.
func begin(f *os.File, q *query, size int64) (at, end int64, err error) {
	if q.before != none {
		return piece(f, min(q.before, size), q.limit)
	}
	from := max(q.offset, 0)
	if q.tail >= 0 {
		if from, err = lastLines(f, q.tail); err != nil {
			return 0, 0, err
		}
	}
	return kept(f, from, size)
}

// piece returns the part of at most limit bytes that ends at an offset, or where bytes ahead of the offset were not kept: the part begins
// with a line if it has the beginning of one.
func piece(f *os.File, before, limit int64) (from, end int64, err error) {
	for at := int64(0); at < before; { // there are two kept parts at most, or few
		start, stop, err := kept(f, at, before)
		if err != nil {
			return 0, 0, err
		}
		if start >= before {
			break
		}
		from, end, at = start, stop, stop
	}
	from = max(from, end-limit)
	if from == 0 || from >= end {
		return from, end, nil
	}
	head := make([]byte, end-from)
	n, err := f.ReadAt(head, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, from-1); err == nil && last[0] == '\n' {
		return from, end, nil
	}
	if i := bytes.IndexByte(head[:n], '\n'); i >= 0 && from+int64(i)+1 < end {
		from += int64(i) + 1
	}
	return from, end, nil
}

// sendBytes answers with bytes of the output only. An answer ends where a part was not kept; a request for an offset in that part is
// answered from its end on.
func (s *Server) sendBytes(ctx context.Context, w http.ResponseWriter, f *os.File, q *query) error {
	ended := s.from.Logs.Ended(q.rank)
	if f == nil { // it has written nothing yet
		describe(w.Header(), max(q.offset, 0), 0, ended)
		return s.followBytes(ctx, newSender(w), nil, q, max(q.offset, 0))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, end, err := begin(f, q, info.Size())
	if err != nil {
		return err
	}
	describe(w.Header(), at, info.Size(), ended)
	if q.follow {
		return s.followBytes(ctx, newSender(w), f, q, at)
	}
	if q.limit > 0 {
		end = min(end, at+q.limit)
	}
	out := newSender(w)
	if err := out.piece(nil); err != nil {
		return err
	}
	_, err = out.part(f, at, end)
	return err
}

// followBytes sends what comes until the rank has ended, a part was not kept, or the limit is reached.
func (s *Server) followBytes(ctx context.Context, out *sender, f *os.File, q *query, at int64) error {
	if err := out.piece(nil); err != nil {
		return err
	}
	last := int64(1) << 62
	if q.limit > 0 {
		last = at + q.limit
	}
	for {
		ended := s.from.Logs.Ended(q.rank) // before the end of the file is looked for
		if f == nil {
			var err error
			if f, err = s.from.Logs.Open(q.rank, q.stream); err == nil {
				defer func() { _ = f.Close() }() //nolint:revive // once: it is open from now on
			}
		}
		if f != nil {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			start, end, err := kept(f, at, info.Size())
			if err != nil {
				return err
			}
			if start > at && at < info.Size() {
				return nil // bytes were not kept
			}
			if at, err = out.part(f, at, min(end, last)); err != nil {
				return err
			}
			if end < info.Size() {
				continue // the next round finds the hole
			}
		}
		if ended || at >= last || !wait(ctx) {
			return nil
		}
	}
}

// part sends bytes of a file, and returns where it ended.
func (s *sender) part(f *os.File, at, end int64) (int64, error) {
	buffer := make([]byte, min(pieceSize, max(0, end-at)))
	for at < end {
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), end-at)], at)
		if n == 0 {
			return at, noEOF(err)
		}
		at += int64(n)
		if err := s.piece(buffer[:n]); err != nil {
			return at, err
		}
	}
	return at, nil
}
