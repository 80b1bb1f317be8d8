package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/berth-gpu/berth/files/private"
)

// vault is the file. A damaged one is set aside and replaced by a new one.
type vault struct {
	path   string
	verify func(path string) error
	log    *slog.Logger

	mu      sync.RWMutex
	db      *bolt.DB
	damaged bool
	fail    error // that writing fails with; a test's disk
}

// The buckets of the file.
var (
	bucketRecords   = []byte("records")   // seq -> hash, record
	bucketHoles     = []byte("holes")     // first seq -> last seq, its hash, whether it is lost
	bucketHistories = []byte("histories") // log index of the end, job, part -> history
	bucketJobs      = []byte("jobs")      // job -> log index of the end
	bucketMeta      = []byte("meta")
	bucketAside     = []byte("aside") // what was found to belong to no past that counts
)

// lockPatience is how long to wait for another process that has the file open.
const lockPatience = time.Second

// open opens the file if it is not open. It is for one goroutine; readers, which find no file meanwhile, do not
// wait for it.
func (v *vault) open() (*bolt.DB, error) {
	v.mu.RLock()
	db, damaged := v.db, v.damaged
	v.mu.RUnlock()
	if db != nil && !damaged {
		return db, nil
	}
	if damaged {
		v.set(nil)
		if db != nil {
			_ = db.Close() // it is damaged anyway
		}
		if err := v.setAside(errors.New("it was found damaged while in use")); err != nil {
			return nil, err
		}
	}
	if _, err := private.Folder(filepath.Dir(v.path)); err != nil {
		return nil, fmt.Errorf("no folder for the archive: %w", err)
	}
	if v.verify != nil {
		if err := v.verify(v.path); unopened(err) {
			return nil, fmt.Errorf("looking at the archive: %w", err)
		} else if err != nil {
			if err := v.setAside(err); err != nil {
				return nil, err
			}
		}
	}
	db, err := bolt.Open(v.path, 0o600, &bolt.Options{Timeout: lockPatience, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("opening the archive %s: %w", v.path, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketRecords, bucketHoles, bucketHistories, bucketJobs, bucketMeta, bucketAside} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning the archive %s: %w", v.path, err), db.Close())
	}
	v.set(db)
	return db, nil
}

// set sets the file for readers; nil: none.
func (v *vault) set(db *bolt.DB) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.db, v.damaged = db, false
}

// unopened reports whether the file could not be read at all, and may be sound.
func unopened(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && failed.Op == "open"
}

// setAside renames the file. Its content is taken from other peers again.
func (v *vault) setAside(why error) error {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.damaged-%d", v.path, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(v.path, to); err != nil {
			return fmt.Errorf("setting the damaged archive %s aside: %w", v.path, err)
		}
		v.log.Error("archive damaged: set aside, rebuilding it from other peers", "file", v.path, "aside", to, "err", why)
		return nil
	}
}

// update changes the file, all or nothing.
func (v *vault) update(change func(*page) error) (err error) {
	db, err := v.open()
	if err != nil {
		return err
	}
	defer v.rescue(&err)
	if v.fail != nil {
		return v.fail
	}
	return db.Update(func(tx *bolt.Tx) error { return change(&page{tx}) })
}

// view reads the file as of one moment.
func (v *vault) view(look func(*page) error) (err error) {
	v.mu.RLock()
	db := v.db
	v.mu.RUnlock()
	if db == nil {
		return ErrUnavailable
	}
	defer v.rescue(&err)
	err = db.View(func(tx *bolt.Tx) error { return look(&page{tx}) })
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrUnavailable
	}
	return err
}

// rescue turns a panic into an error: the library panics on damage.
func (v *vault) rescue(err *error) {
	if reason := recover(); reason != nil { //nolint:revive // it is deferred itself
		v.mu.Lock()
		v.damaged = true
		v.mu.Unlock()
		*err = fmt.Errorf("the archive %s is damaged: %v", v.path, reason)
	}
}

func (v *vault) close() {
	v.mu.RLock()
	db := v.db
	v.mu.RUnlock()
	if db == nil {
		return
	}
	v.set(nil)
	if err := db.Close(); err != nil {
		v.log.Warn("cannot close the archive", "file", v.path, "err", err)
	}
}
