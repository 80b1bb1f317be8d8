package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// RefusalFilter selects refusals; empty fields match all.
type RefusalFilter struct {
	Actor string // "user:alice", or "alice"
	Code  string
	Since time.Time
	Until time.Time

	Before uint64 // those at places before it; 0: from the newest
	Limit  int    // at most so many; at least 1
}

func (f *RefusalFilter) takes(r *Refusal) bool {
	return ByActor(f.Actor, r.Actor) && (f.Code == "" || f.Code == r.Code) &&
		!r.Time.Before(f.Since) && (f.Until.IsZero() || !r.Time.After(f.Until))
}

// Find returns stored refusals, newest first; next is the Before of the next query, 0 if there are no older
// ones. A line that a crash has cut off is skipped.
func (r *Refusals) Find(ctx context.Context, f RefusalFilter) (list []Refusal, next uint64, err error) {
	files, err := r.files()
	defer func() {
		for _, file := range files {
			_ = file.Close() // nothing was written
		}
	}()
	last := uint64(0) // the place of the last of the list
	for _, file := range files {
		if err == nil {
			err = context.Cause(ctx)
		}
		var data []byte
		if err == nil {
			data, err = file.before(f.Before)
		}
		if err != nil {
			return nil, 0, err
		}
		for len(data) > 0 {
			at := bytes.LastIndexByte(data, '\n') + 1
			var one Refusal
			if json.Unmarshal(data[at:], &one) == nil && f.takes(&one) {
				if len(list) == f.Limit {
					return list, last, nil
				}
				list, last = append(list, one), file.place(at)
			}
			data = data[:max(0, at-1)]
		}
	}
	return list, 0, err
}

// kept is a file of refusals that is being read. Its number is the one that it has once it is set aside, so
// that places in it stay the same then.
type kept struct {
	*os.File

	number uint64
}

// place returns the place of the line that begins at an offset. A file is smaller than 2^32 bytes.
func (k *kept) place(offset int) uint64 { return k.number<<32 | uint64(offset) }

// before reads the lines at places before one; 0: all.
func (k *kept) before(place uint64) ([]byte, error) {
	switch {
	case place == 0 || k.number < place>>32:
		return io.ReadAll(k)
	case k.number > place>>32:
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(k, int64(place&(1<<32-1))))
}

// files opens the existing files, the newest first. Open files stay the same when the writer renames them.
func (r *Refusals) files() (list []*kept, err error) {
	r.turning.Lock()
	defer r.turning.Unlock()
	old, err := r.file.old()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	next := int64(1)
	if len(old) > 0 {
		next = old[len(old)-1] + 1
	}
	for _, n := range slices.Backward(append(old, next)) {
		path := r.file.numbered(n)
		if n == next {
			path = r.file.path()
		}
		file, failure := os.Open(path) //nolint:gosec // one of the peer's own
		switch {
		case failure == nil:
			list = append(list, &kept{file, uint64(n)})
		case !errors.Is(failure, fs.ErrNotExist):
			err = errors.Join(err, failure)
		}
	}
	return list, err
}
