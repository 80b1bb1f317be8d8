package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
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
	Source  func(ctx context.Context) (*Source, error)
	Now     func() time.Time
	Log     *slog.Logger

	standing atomic.Pointer[Standing]
}

// Standing is how a keeper stands.
type Standing struct {
	Newest   time.Time // when the newest backup in the folder was made; zero: there is none
	Failure  string    // why the last try failed; empty: it has not
	Failures uint64    // failed tries since the start
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
	newest, err := k.newest()
	if err == nil && k.Now().Sub(newest) >= k.Every {
		newest, err = k.make(ctx)
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

// newest returns when the newest backup of the cluster in the folder was made.
func (k *Keeper) newest() (time.Time, error) {
	list, err := List(k.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, os.MkdirAll(k.Dir, 0o700)
	}
	if err != nil {
		return time.Time{}, err
	}
	for _, f := range list {
		if f.Description != nil && f.Description.Cluster == k.Cluster {
			return f.Description.Made, nil
		}
	}
	return time.Time{}, nil
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
	k.Log.Info("backup_made", "file", path, "index", s.State.Index, "jobs", s.State.Jobs.Len(), "seconds", k.Now().Sub(s.Now).Seconds())
	return s.Now, prune(k.Dir, k.Cluster, k.Keep, k.Now())
}
