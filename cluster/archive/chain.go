package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// link is the place of a line in the chain of its files: its number, and the SHA-256 over the hash of the
// line before and the line itself without its hash. So a line that was changed, removed or inserted breaks
// the chain. The newest link is stored in a file of its own next to the lines, so that the end cannot be cut
// off without a trace either.
type link struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"chain_hash"`
}

// next returns the link of a line that follows, and the line with that link.
func (l link) next(one Refusal) (link, Refusal, error) {
	one.Seq, one.Hash = l.Seq+1, ""
	text, err := json.Marshal(one)
	if err != nil {
		return l, one, err
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, l.Hash) // a hash takes everything
	_, _ = sum.Write(text)
	one.Hash = hex.EncodeToString(sum.Sum(nil))
	return link{one.Seq, one.Hash}, one, nil
}

// headPath returns the path of the file with the newest link.
func (r *Refusals) headPath() string { return filepath.Join(r.file.Dir, r.file.name+".head") }

// head returns the newest link in its file; the zero link: there is no file.
func (r *Refusals) head() (l link, err error) {
	text, err := os.ReadFile(r.headPath())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	return l, err
}

// keepHead writes the newest link, after the lines that lead to it.
func (r *Refusals) keepHead() error {
	text, err := json.Marshal(r.last)
	if err != nil {
		return err
	}
	next := r.headPath() + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.headPath())
}

// resume finds the newest link that is in the files.
func (r *Refusals) resume() error {
	last := link{}
	err := r.walk(context.Background(), func(one *Refusal) bool {
		last = link{one.Seq, one.Hash}
		return true
	})
	if err == nil {
		r.last, r.resumed = last, true
	}
	return err
}

// walk visits the lines that are kept, oldest first, until visit returns false. A line that a crash has cut
// off is skipped.
func (r *Refusals) walk(ctx context.Context, visit func(*Refusal) bool) error {
	files, err := r.files()
	defer func() {
		for _, file := range files {
			_ = file.Close() // nothing was written
		}
	}()
	for i := len(files) - 1; i >= 0 && err == nil; i-- {
		in := bufio.NewReader(files[i])
		for {
			text, end := in.ReadBytes('\n')
			var one Refusal
			if len(bytes.TrimSpace(text)) > 0 && json.Unmarshal(text, &one) == nil && !visit(&one) {
				return nil
			}
			if errors.Is(end, io.EOF) {
				break
			}
			if end != nil {
				return end
			}
		}
		err = context.Cause(ctx)
	}
	return err
}

// RefusalsVerdict is the result of a check whether the lines are those that were written.
type RefusalsVerdict struct {
	Records uint64 // lines that were looked at
	Bad     uint64 // number of the first one that is not as it was written, or is missing; 0: none
	What    string // is wrong; empty: nothing
}

// Verify recomputes the chain of the lines that are kept.
func (r *Refusals) Verify(ctx context.Context) (v RefusalsVerdict, err error) {
	head, err := r.head()
	if err != nil {
		return v, fmt.Errorf("%s: %w", r.headPath(), err)
	}
	old, err := r.file.old()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	var at link
	err = r.walk(ctx, func(one *Refusal) bool {
		v.Records++
		if v.Records == 1 && one.Seq > 1 { // older ones were deleted for their number, or so it seems
			if len(old) < r.file.Keep {
				v.Bad, v.What = 1, "the oldest records are missing"
				return false
			}
			at = link{one.Seq, one.Hash}
			return true
		}
		next, _, failed := at.next(*one)
		switch {
		case failed != nil || one.Seq != next.Seq:
			v.Bad, v.What = next.Seq, "a record is missing, or was put in"
		case one.Hash != next.Hash:
			v.Bad, v.What = next.Seq, "a record is not as it was written"
		}
		at = next
		return v.Bad == 0
	})
	switch {
	case err != nil || v.Bad > 0:
	case at.Seq < head.Seq:
		v.Bad, v.What = at.Seq+1, "the newest records are missing"
	case at.Seq == head.Seq && at.Hash != head.Hash:
		v.Bad, v.What = at.Seq, "the newest record is not as it was written"
	case at.Seq > 0 && head.Seq == 0:
		v.Bad, v.What = at.Seq, "the file with the newest hash is missing"
	}
	return v, err
}
