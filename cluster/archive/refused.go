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

// RefusalFilter says which refusals are wanted; empty fields take all.
type RefusalFilter struct {
	Actor string // "user:alice", or "alice"
	Code  string
	Since time.Time
	Until time.Time
	Limit int // at most so many; at least 1
}

func (f *RefusalFilter) takes(r *Refusal) bool {
	return ByActor(f.Actor, r.Actor) && (f.Code == "" || f.Code == r.Code) &&
		!r.Time.Before(f.Since) && (f.Until.IsZero() || !r.Time.After(f.Until))
}

// Find lists refusals that are still kept, newest first; more says that there are older
// ones. A line that a crash has cut off is passed over.
func (r *Refusals) Find(ctx context.Context, f RefusalFilter) (list []Refusal, more bool, err error) {
	files, err := r.files()
	defer func() {
		for _, file := range files {
			_ = file.Close() // nothing was written
		}
	}()
	for _, file := range files {
		if err == nil {
			err = context.Cause(ctx)
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(file)
		}
		if err != nil {
			return nil, false, err
		}
		for len(data) > 0 {
			at := bytes.LastIndexByte(data, '\n') + 1
			var one Refusal
			if json.Unmarshal(data[at:], &one) == nil && f.takes(&one) {
				if len(list) == f.Limit {
					return list, true, nil
				}
				list = append(list, one)
			}
			data = data[:max(0, at-1)]
		}
	}
	return list, false, err
}

// files opens what there is, the newest first. Open files stay what they are when the
// writer gives them other names.
func (r *Refusals) files() (list []*os.File, err error) {
	r.turning.Lock()
	defer r.turning.Unlock()
	old, err := r.file.old()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	paths := []string{r.file.path()}
	for _, n := range slices.Backward(old) {
		paths = append(paths, r.file.numbered(n))
	}
	for _, path := range paths {
		file, failure := os.Open(path) //nolint:gosec // one of the peer's own
		switch {
		case failure == nil:
			list = append(list, file)
		case !errors.Is(failure, fs.ErrNotExist):
			err = errors.Join(err, failure)
		}
	}
	return list, err
}
