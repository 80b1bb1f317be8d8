package nodeapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of a search, in bytes.
const (
	maxSearched = 64 << 10 // of a line; longer ones are searched in parts
	maxShown    = 4 << 10  // of a line in the answer
)

// sendMatches answers with the lines that have a text, each with its offset and a colon ahead, as grep -b does. The header for the next
// offset says where the search ended.
func (s *Server) sendMatches(ctx context.Context, w http.ResponseWriter, f *os.File, q *query) error {
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(q.offset, 0)
	ended := s.from.Logs.Ended(q.rank)
	lines, next, err := search(ctx, f, q, from, info.Size())
	if err != nil {
		return err
	}
	describe(w.Header(), from, info.Size(), ended)
	w.Header().Set(wire.HeaderLogNext, strconv.FormatInt(next, 10))
	return newSender(w).piece(lines)
}

// search returns the lines that have a text, as far as the limit allows, and the offset at which it ended.
func search(ctx context.Context, f *os.File, q *query, at, size int64) (found []byte, next int64, err error) {
	want := []byte(q.grep)
	if q.fold {
		want = bytes.ToLower(want)
	}
	for at < size {
		start, end, err := kept(f, at, size)
		if err != nil {
			return nil, at, err
		}
		at = start
		r := bufio.NewReaderSize(io.NewSectionReader(f, start, end-start), maxSearched)
		for at < end {
			if err := ctx.Err(); err != nil {
				return nil, at, err
			}
			line, err := r.ReadSlice('\n')
			if len(line) == 0 {
				if err := noEOF(err); err != nil {
					return nil, at, err
				}
				break // the file has become shorter
			}
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
				return nil, at, err
			}
			if hit := matches(line, want, q.fold); hit {
				entry := strconv.AppendInt(nil, at, 10)
				entry = append(append(append(entry, ':'), shown(line)...), '\n')
				if len(found) > 0 && int64(len(found)+len(entry)) > q.limit {
					return found, at, nil
				}
				found = append(found, entry...)
			}
			at += int64(len(line))
		}
		at = max(at, end)
	}
	return found, at, nil
}

func matches(line, want []byte, fold bool) bool {
	if fold {
		line = bytes.ToLower(line)
	}
	return bytes.Contains(line, want)
}

// shown returns a line as the answer has it.
func shown(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return line[:min(len(line), maxShown)]
}
