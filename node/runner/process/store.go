package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner/isolate"
)

const (
	// doneFile is what a job touches in its folder when a checkpoint is complete.
	doneFile = ".done"
	// lookEvery is the interval at which a supervisor looks for doneFile.
	lookEvery = time.Second
	// maxBack bounds how many attempts back a checkpoint is searched for.
	maxBack = 1000
	// keepDone is how many attempts' finished checkpoints are kept in the node's own place.
	keepDone = 2
)

// store is where a rank keeps its checkpoints: base/1 is the first attempt's folder, and so on. The ranks of
// a gang share one. All access is under the account of the job's user, in a goroutine of its own, which may
// have to wait for a file system that hangs.
type store struct {
	base    string
	own     bool     // base is in the node's own place, which its user may have no way to
	root    *os.Root // base
	n       uint32
	restore string // folder of the newest earlier attempt that finished a checkpoint; empty: none

	marked time.Time       // when doneFile was last touched; only the goroutine's
	news   chan struct{}   // a checkpoint was finished
	asks   chan chan bool  // for a look at once
	quit   context.Context //nolint:containedctx // ends the goroutine
	close  context.CancelFunc
}

func (s *store) dir() string { return s.of(s.n) }

func (s *store) of(n uint32) string { return filepath.Join(s.base, decimal(n)) }

// variables returns the variables for the job:
//
//	BERTH_CHECKPOINT_DIR   the attempt's folder
//	BERTH_RESTORE_FROM     that of the newest attempt before it that finished a
//	                       checkpoint; it is not set when there is none
func (s *store) variables() []string {
	if s == nil {
		return nil
	}
	env := assign("BERTH_CHECKPOINT_DIR", s.dir())
	if s.restore != "" {
		env = append(env, assign("BERTH_RESTORE_FROM", s.restore)...)
	}
	return env
}

// open makes the attempt's folder, within a limit, and begins to watch it.
func (s *store) open(ctx context.Context, account *isolate.Account, limit time.Duration) error {
	s.news, s.asks = make(chan struct{}, 1), make(chan chan bool)
	s.quit, s.close = context.WithCancel(context.Background())
	made := make(chan error, 1)
	account.Go(func() {
		err := s.make()
		made <- err
		if err == nil && s.quit.Err() == nil { // otherwise it has come too late
			s.prune()
			s.watch()
		}
	}, func(err error) { made <- err })
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
		s.close()
		return ctx.Err()
	case <-timer.C:
		s.close()
		return late(s.base, limit)
	}
}

// make makes the folder, and searches for a checkpoint to restore.
func (s *store) make() (err error) {
	if s.root == nil {
		if err = os.MkdirAll(s.base, 0o750); err != nil {
			return err
		}
		if s.root, err = os.OpenRoot(s.base); err != nil {
			return err
		}
	}
	if err = s.root.MkdirAll(decimal(s.n), 0o750); err != nil {
		return err
	}
	s.fresh() // what an earlier life of the cluster has left there is no news
	for n := s.n - 1; n > 0 && s.n-n <= maxBack; n-- {
		if _, done := s.done(n); done {
			s.restore = s.of(n)
			return nil
		}
	}
	return nil
}

// done returns when an attempt last finished a checkpoint.
func (s *store) done(n uint32) (time.Time, bool) {
	info, err := s.root.Lstat(filepath.Join(decimal(n), doneFile))
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// fresh reports whether a checkpoint was finished since the last look.
func (s *store) fresh() bool {
	at, done := s.done(s.n)
	if !done || at.Equal(s.marked) {
		return false
	}
	s.marked = at
	return true
}

// watch looks for checkpoints until the rank has ended, and removes an unused folder.
func (s *store) watch() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	defer func() { _ = s.root.Close() }() // it was open to find files
	for {
		select {
		case <-ticker.C:
			if !s.fresh() {
				continue
			}
			select {
			case s.news <- struct{}{}:
			default: // an earlier event has not been received yet
			}
		case reply := <-s.asks:
			reply <- s.fresh()
		case <-s.quit.Done():
			return
		}
	}
}

// finished yields a value for each finished checkpoint.
func (s *store) finished() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.news
}

// last looks once more, and ends the watch. A folder that does not answer in time has no news.
func (s *store) last() (found bool) {
	if s == nil {
		return false
	}
	defer s.close()
	reply := make(chan bool, 1)
	limit := time.After(drainLimit)
	asks := s.asks
	for {
		select {
		case <-s.news:
			found = true
		case asks <- reply:
			asks = nil
		case fresh := <-reply:
			return found || fresh
		case <-limit:
			return found
		}
	}
}

// prune removes the checkpoints of attempts before the last two finished ones, but only in the node's own
// place: elsewhere they are the user's.
func (s *store) prune() {
	if !s.own {
		return
	}
	var earlier []uint32
	entries, _ := fs.ReadDir(s.root.FS(), ".") // without it there is nothing to remove
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 32)
		if err == nil && decimal(uint32(n)) == e.Name() && uint32(n) < s.n {
			earlier = append(earlier, uint32(n))
		}
	}
	slices.Sort(earlier)
	kept := 0
	for _, n := range slices.Backward(earlier) {
		if kept >= keepDone {
			_ = s.root.RemoveAll(decimal(n)) // what stays is looked at again by the next attempt
		} else if _, done := s.done(n); done {
			kept++
		}
	}
}

// forget removes an empty folder and its parent. A gang shares the parent: then it stays, for a rank that
// still has to write.
func (s *store) forget(alone bool) {
	if s == nil || !s.own || !alone {
		return
	}
	_ = answers(context.Background(), drainLimit, s.base, func() error { // what hangs stays
		err := unix.Rmdir(s.dir())
		if err == nil || errors.Is(err, unix.ENOENT) {
			err = unix.Rmdir(s.base) // it stays while another attempt's is in it
		}
		return err
	})
}
