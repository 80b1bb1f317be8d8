package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// Keep is the policy for the output of ended ranks.
type Keep struct {
	Bytes int64  // the limit for ended ranks' folders together; 0: no limit
	Dir   string // the output is also copied below this folder; empty: nowhere
}

// heavy returns the parts of a folder that are not needed to know how its rank ended.
func heavy() []string {
	return []string{
		runner.StdoutFile, runner.StderrFile, runner.WorkFolder, runner.TmpFolder, runner.GangFolder, runner.ScriptFile,
		runner.SlurmFile,
	}
}

// copyOut copies a rank's output to the operator's folder, whole or not at all:
// DIR/<job>/attempt-<n>.rank-<r>.stdout.
func (k Keep) copyOut(folder string, rank model.RankKey) error {
	if k.Dir == "" {
		return nil
	}
	dir := filepath.Join(k.Dir, rank.Attempt().TaskKey().String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var errs []error
	for _, name := range []string{runner.StdoutFile, runner.StderrFile} {
		to := filepath.Join(dir, fmt.Sprintf("attempt-%d.rank-%d.%s", rank.N, rank.Rank, name))
		errs = append(errs, copySparse(filepath.Join(folder, name), to))
	}
	return errors.Join(errs...)
}

// copySparse copies a file without its holes; a missing file is skipped.
func copySparse(from, to string) error {
	in, err := openRegular(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	next := to + ".part"
	out, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600) //nolint:gosec // below the operator's folder
	if err != nil {
		return err
	}
	err = errors.Join(copyData(out, in, info.Size()), out.Truncate(info.Size()), out.Close())
	if err == nil {
		err = os.Rename(next, to)
	}
	if err != nil {
		_ = os.Remove(next) // the error has the reason
	}
	return err
}

// copyData copies the parts of a file that hold data.
func copyData(out, in *os.File, size int64) error {
	for at := int64(0); at < size; {
		begin, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole is left
		}
		if err != nil {
			begin = at // this file system knows no holes
		}
		end, err := in.Seek(begin, unix.SEEK_HOLE)
		if err != nil {
			end = size
		}
		end = min(end, size)
		if _, err := io.Copy(io.NewOffsetWriter(out, begin), io.NewSectionReader(in, begin, end-begin)); err != nil {
			return err
		}
		at = end
	}
	return nil
}
