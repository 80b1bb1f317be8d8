package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// conclude writes the end of the rank to its folder, which outlives the kernel, and to the run folder, from
// which the agent takes the end when the folder cannot be used. A rank's processes can do anything to the
// folder, so it may be gone. conclude returns when the end is in the folder, or when it is in the run folder
// and the folder is beyond use; a full disk is waited for.
func (s *supervisor) conclude(exit model.Exit) error {
	s.status.Exit = &exit
	for {
		kept := s.keep(exit)
		told := s.tell(model.RankExited)
		if kept == nil {
			return errors.Join(told, s.folder.SyncExit())
		}
		if told == nil && !noRoom(kept) {
			return fmt.Errorf("the end is in the run folder only: %w", kept)
		}
		s.pause()
	}
}

// noRoom reports whether an error is that of a disk that has no space or is in trouble, which may pass.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO)
}

// keep writes the end into the rank's folder, which is made again if it is missing.
func (s *supervisor) keep(exit model.Exit) error {
	err := s.folder.SetExit(exit)
	if noRoom(err) || err == nil && s.folder.InPlace() {
		return err
	}
	f, err := s.folderAgain()
	if err != nil {
		return err
	}
	_, _, err = f.Latch(runner.LatchStarted)
	if err = errors.Join(err, f.SetRecord(s.record), f.SetExit(exit)); err != nil {
		return errors.Join(err, f.Close())
	}
	before := s.folder
	s.folder = f
	return before.Close()
}

// folderAgain opens the rank's folder at its path, and makes it if it is missing. One of another rank is left
// alone.
func (s *supervisor) folderAgain() (*runner.Folder, error) {
	path := s.folder.Path()
	for _, dir := range []string{filepath.Dir(path), path} { // not the data folder: that is an agent's to make
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // a folder of the rank that the agent named
			return nil, err
		}
	}
	f, err := runner.Open(path)
	if err != nil {
		return nil, err
	}
	if r, err := f.Record(); err == nil && r.Nonce != s.record.Nonce {
		return nil, errors.Join(fmt.Errorf("%s belongs to another rank", path), f.Close())
	}
	return f, nil
}
