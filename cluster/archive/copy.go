package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/fsm/model"
)

// Copy passes the size of the file, in bytes, and its content as of one moment. The content is copied within the folder first:
// while it is read no record is written, and its receiver may be slow.
func (a *Archive) Copy(write func(size int64, content io.Reader) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(a.cfg.Path), "copy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := os.Remove(f.Name()); err != nil { // its space is free once it is closed, even after a crash
		return err
	}
	var size int64
	if err := a.vault.view(func(p *page) error {
		size, err = p.tx.WriteTo(f)
		return err
	}); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return write(size, f)
}

// Check verifies a file that no archive has open: its pages by verify, and the hashes of the audit trail up to a head.
// Nothing is changed.
func Check(ctx context.Context, path string, verify func(path string) error, head model.AuditHead) (Verdict, error) {
	if err := verify(path); err != nil {
		return Verdict{}, err
	}
	a := New(Config{Path: path, Log: slog.New(slog.DiscardHandler)})
	if _, err := a.vault.open(); err != nil {
		return Verdict{}, err
	}
	defer a.vault.close()
	return a.Verify(ctx, head)
}

// Cut removes the histories of jobs that ended after a place of the log from a file that no archive has open: a state of
// that place has these jobs, and they end again. Records of the audit trail that follow its head are set aside by [Archive.Run].
func Cut(path string, after uint64) error {
	v := vault{path: path, log: slog.New(slog.DiscardHandler)}
	defer v.close()
	return v.update(func(p *page) error {
		histories, jobs := p.tx.Bucket(bucketHistories), p.tx.Bucket(bucketJobs)
		var gone [][]byte
		c := histories.Cursor()
		for k, _ := c.Seek(keyOf(after + 1)); k != nil; k, _ = c.Next() {
			gone = append(gone, clone(k))
		}
		for _, k := range gone {
			if err := histories.Delete(k); err != nil {
				return err
			}
		}
		gone = gone[:0]
		c = jobs.Cursor()
		for k, end := c.First(); k != nil; k, end = c.Next() {
			if bytes.Compare(end, keyOf(after)) > 0 {
				gone = append(gone, clone(k))
			}
		}
		for _, k := range gone {
			if err := jobs.Delete(k); err != nil {
				return err
			}
		}
		return shelf{p}.rewind(after)
	})
}
