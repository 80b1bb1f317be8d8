package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// Schedule is when a peer makes backups, and where.
type Schedule struct {
	Dir   string        // on another disk than the data folder, or shared by all peers; empty: none are made
	Every time.Duration // a backup that is as old is followed by another
	Keep  int           // the newest backups of the cluster that are kept
	Seal  Seal
}

// Keeper makes backups in a folder at intervals, and removes old ones.
type Keeper struct {
	Schedule

	Cluster string
	Trusted func() (*trust.Material, error) // with the authorities of the cluster
	Source  func(ctx context.Context) (*Source, error)
	Now     func() time.Time
	Log     *slog.Logger

	standing atomic.Pointer[Standing]
	verified map[string]verdict // files by their paths, used by Run alone
}

// verdict is what a check of a whole file has found, for as long as the file stays as it is.
type verdict struct {
	size    int64
	changed time.Time
	err     error
}

// Standing is the state of the scheduled backups.
type Standing struct {
	Newest   time.Time // when the newest backup in the folder was made that was verified as a whole; zero: there is none
	Failure  string    // why the last try failed; empty: it has not
	Failures uint64    // failed tries since the start
	Future   int       // backups whose time lies in the future: they do not count
}

// Standing returns how the keeper stands.
func (k *Keeper) Standing() Standing {
	if s := k.standing.Load(); s != nil {
		return *s
	}
	return Standing{}
}

// Intervals of the keeper.
const (
	lookEvery = time.Minute // between two looks at the folder
	retry     = 10 * time.Minute
)

// Run makes backups until the context ends. Peers that share a folder make one backup between them: each looks first
// whether there is one already. first delays the first look, so that peers do not all look at once.
func (k *Keeper) Run(ctx context.Context, first time.Duration) {
	wait := time.NewTimer(first)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		wait.Reset(k.round(ctx))
	}
}

// round makes a backup if one is due, and returns how long to wait.
func (k *Keeper) round(ctx context.Context) time.Duration {
	was := k.Standing()
	now := was
	newest, future, err := k.newest()
	if err == nil && k.Now().Sub(newest) >= k.Every {
		newest, err = k.make(ctx)
	}
	if now.Future = future; future > 0 {
		k.Log.Warn("backup_of_the_future", "folder", k.Dir, "files", future, "remedy", "look at the clocks of the peers, and remove the files: berth backup list "+k.Dir)
	}
	if err == nil {
		now.Newest = newest
	}
	if ctx.Err() != nil {
		return 0
	}
	now.Failure = ""
	if err != nil {
		now.Failure, now.Failures = err.Error(), was.Failures+1
		k.Log.Error("backup_failed", "folder", k.Dir, "newest", now.Newest, "err", err, "next_try", retry)
	}
	k.standing.Store(&now)
	if err != nil {
		return retry
	}
	return min(lookEvery, k.Every)
}

// newest returns when the newest sound backup of the cluster in the folder was made, and how many have a time in the future.
func (k *Keeper) newest() (made time.Time, future int, err error) {
	list, err := List(k.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, 0, os.MkdirAll(k.Dir, 0o700)
	}
	if err != nil {
		return time.Time{}, 0, err
	}
	for _, f := range list {
		switch {
		case f.Description == nil || f.Description.Cluster != k.Cluster:
		case f.future(k.Now()):
			future++
		case k.verify(f.Path) == nil:
			return f.Description.Made, future, nil
		}
	}
	return time.Time{}, future, nil
}

// verify returns why a file is no whole backup of this cluster. A file that has not changed is read once.
func (k *Keeper) verify(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	v, known := k.verified[path]
	if known && v.size == info.Size() && v.changed.Equal(info.ModTime()) {
		return v.err
	}
	v = verdict{size: info.Size(), changed: info.ModTime(), err: k.signed(path)}
	if v.err != nil {
		k.Log.Error("backup_not_sound", "file", path, "err", v.err)
	}
	if k.verified == nil {
		k.verified = map[string]verdict{}
	}
	k.verified[path] = v
	return v.err
}

// signed returns why a file is no whole backup that a peer of this cluster has signed.
func (k *Keeper) signed(path string) error {
	known, err := k.Trusted()
	if err != nil {
		return err
	}
	return reads(path, func(r io.Reader) error { return ofCluster(r, known.Authorities) })
}

// reads has a file read.
func reads(path string, by func(io.Reader) error) error {
	f, err := os.Open(path) //nolint:gosec // in the folder of backups
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return by(f)
}

// make makes a backup, removes old ones, and returns when the backup was made.
func (k *Keeper) make(ctx context.Context) (time.Time, error) {
	s, err := k.Source(ctx)
	if err != nil {
		return time.Time{}, err
	}
	path := filepath.Join(k.Dir, FileName(s.Describe(&k.Seal)))
	if err := Create(path, func(w io.Writer) error { return Write(w, s, &k.Seal) }); err != nil {
		return time.Time{}, err
	}
	err = reads(path, func(r io.Reader) error {
		_, err := Read(r, "")
		return err
	})
	if err == nil {
		err = k.verify(path)
	}
	if err != nil {
		return time.Time{}, errors.Join(fmt.Errorf("%s was written, and cannot be read back: %w", path, err), os.Remove(path))
	}
	k.Log.Info("backup_made", "file", path, "index", s.State.Index, "jobs", s.State.Jobs.Len(), "seconds", k.Now().Sub(s.Now).Seconds())
	return s.Now, prune(k.Dir, k.Cluster, k.Keep, k.Now(), func(path string) bool { return k.verified[path].err == nil })
}
