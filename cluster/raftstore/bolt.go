package raftstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/berth-gpu/berth/files/smallfile"
)

const boltName = "raft.db"

// boltOptions returns bbolt's settings for a raft log.
//
// A log is appended at one end and cut off at the other, so bbolt's list of
// free pages is long, and by default it is written whole in each commit
// (hashicorp/consul#12141). NoFreelistSync leaves it out; it is found again at
// the start by reading the tree. The map type finds room in constant time.
func boltOptions(timeout time.Duration) *bbolt.Options {
	return &bbolt.Options{
		Timeout:        timeout,
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
	}
}

// openBolt opens the raft log of a folder that is fresh or has been used.
func openBolt(o Options, fresh bool) (*raftboltdb.BoltStore, error) {
	path := filepath.Join(o.Dir, boltName)
	if err := checkPresence(path, fresh); err != nil {
		return nil, err
	}
	if err := verifyFile(path); err != nil {
		return nil, err
	}
	if o.Deep {
		if err := checkTree(path, o.LockTimeout); err != nil {
			return nil, err
		}
	}
	store, err := openRecovering(path, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	// bbolt does not sync the folder: without this, raft.db as a whole could be gone after a power cut, and
	// with it a vote.
	if err := smallfile.SyncFolder(o.Dir); err != nil {
		return nil, errors.Join(unusable(o.Dir, "cannot sync the data folder", err), store.Close())
	}
	return store, nil
}

// checkPresence refuses a used folder whose store is missing or empty: bbolt
// would quietly begin a new one, and the peer would vote twice in one term.
func checkPresence(path string, fresh bool) error {
	st, err := os.Stat(path)
	switch {
	case fresh && (errors.Is(err, os.ErrNotExist) || err == nil && st.Size() == 0):
		return nil
	case errors.Is(err, os.ErrNotExist):
		return corrupt(path, "the raft log is missing, so this peer has forgotten its votes", nil)
	case err != nil:
		return unusable(path, "cannot look at the raft log", err)
	case st.Size() == 0:
		return corrupt(path, "the raft log is empty, so this peer has forgotten its votes", nil)
	}
	return nil
}

// openRecovering opens the store and turns a panic of bbolt into a fault.
func openRecovering(path string, timeout time.Duration) (store *raftboltdb.BoltStore, err error) {
	defer func() {
		if p := recover(); p != nil {
			store, err = nil, corrupt(path, "the raft log cannot be read", fmt.Errorf("bbolt: %v", p))
		}
	}()
	err = mapped(path, func() (err error) {
		store, err = raftboltdb.New(raftboltdb.Options{
			Path: path, BoltOptions: boltOptions(timeout),
		})
		return err
	})
	if fault, is := errors.AsType[*Fault](err); is {
		return nil, fault
	}
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	return store, nil
}

// cannotOpen returns the fault of a bbolt file that does not open.
func cannotOpen(path string, err error) *Fault {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return busy(path)
	case errors.Is(err, os.ErrPermission):
		return unusable(path, "cannot open the raft log", err)
	default:
		return corrupt(path, "the raft log cannot be opened", err)
	}
}

// busy returns the fault of a bbolt file that another process has open.
func busy(path string) *Fault {
	return &Fault{
		Kind: ErrLocked, Path: path, What: "another process has the raft log open",
		Do: "stop that process (a bbolt tool or a backup may hold it too), then start again",
	}
}

// checkTree runs bbolt's own consistency check. verifyFile comes first: bbolt
// panics where it cannot be caught when the tree is broken.
func checkTree(path string, timeout time.Duration) error {
	if st, err := os.Stat(path); err != nil || st.Size() == 0 {
		return nil // a new store; whether it may be new has been decided before
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: timeout, ReadOnly: true})
	if err != nil {
		return cannotOpen(path, err)
	}
	var first error
	err = db.View(func(tx *bbolt.Tx) error {
		for e := range tx.Check() {
			first = cmp.Or(first, e)
		}
		return nil
	})
	if err := errors.Join(first, err, db.Close()); err != nil {
		return corrupt(path, "the raft log fails bbolt's check", err)
	}
	return nil
}
