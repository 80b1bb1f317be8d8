package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// DefaultMinFree is the free space below which a peer does not start and takes no user writes: 512 MiB.
	DefaultMinFree = 512 << 20
	// DefaultBallast is the size of the ballast file: 64 MiB.
	DefaultBallast = 64 << 20

	// enoughFree allows user writes on a disk of any size: 2 GiB, several times what a snapshot and the log
	// of the largest state need. 5 % of a disk of 4 TB are 200 GB.
	enoughFree = 2 << 30

	ballastName = "ballast"
)

// Space is the space on the file system of a data folder, in bytes.
type Space struct {
	Free  uint64 // what this process may still write
	Total uint64 // the whole file system
}

// Low reports whether user writes should be refused: less than 5 % is free, but never with 2 GiB free and
// always with less than 512 MiB. bbolt grows its file in large steps, so the last few hundred MiB can go in
// one write, and a full disk stops the peer.
func (s Space) Low() bool {
	return s.Free < max(DefaultMinFree, min(s.Total/20, enoughFree))
}

// spaceOf reads the space at path from the kernel.
func spaceOf(path string) (Space, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return Space{}, fmt.Errorf("ask for the free space of %s: %w", path, err)
	}
	block := uint64(st.Bsize)
	return Space{Free: st.Bavail * block, Total: st.Blocks * block}, nil
}

// checkSpace refuses a folder that has less than the minimum in addition to the ballast that is still to be
// written.
func checkSpace(o Options) error {
	space, err := o.statfs(o.Dir)
	if err != nil {
		return unusable(o.Dir, "cannot tell its free space", err)
	}
	need := o.MinFree + uint64(max(0, missingBallast(o.Dir, o.Ballast)))
	if space.Free >= need {
		return nil
	}
	return &Fault{
		Kind: ErrNoSpace, Path: o.Dir,
		What: fmt.Sprintf("%d MiB are free on this file system, %d MiB are needed", space.Free>>20, (need+1<<20-1)>>20),
		Do:   "make room there, or move the data folder to a larger disk",
	}
}

// missingBallast returns how many bytes the ballast file lacks.
func missingBallast(dir string, size int64) int64 {
	st, err := os.Stat(filepath.Join(dir, ballastName))
	if err != nil {
		return size
	}
	return size - st.Size()
}

// ensureBallast reserves size bytes of real blocks in the ballast file.
func ensureBallast(dir string, size int64) (err error) {
	if missingBallast(dir, size) <= 0 {
		return nil
	}
	path := filepath.Join(dir, ballastName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's data folder
	if err != nil {
		return unusable(dir, "cannot create its ballast file", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := fill(f, size); err != nil {
		return errors.Join(unusable(dir, "cannot fill its ballast file", err), removeIfThere(path))
	}
	return nil
}

// fill gives f size bytes of allocated blocks: a hole would reserve nothing.
func fill(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if !errors.Is(err, syscall.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
