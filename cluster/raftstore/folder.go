package raftstore

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/berth-gpu/berth/files/private"
)

// prepareFolder makes dir, and closes it to all but its owner, also if it existed: it holds the secret of the
// cluster and the environments of jobs.
func prepareFolder(dir string, log *slog.Logger) error {
	was, err := private.Folder(dir)
	if err != nil {
		return unusable(dir, "cannot create the data folder, or close it to other users", err)
	}
	if was != 0 {
		log.Warn("data_folder_closed", "folder", dir, "was", was.String(), "why", "other users could enter it")
	}
	return nil
}

// probeWrite checks by a test write that dir can be written and synced.
func probeWrite(dir string) error {
	path := filepath.Join(dir, "probe.tmp")
	err := writeSynced(path, []byte("probe\n"))
	if err = errors.Join(err, removeIfThere(path)); err != nil {
		return unusable(dir, "the data folder cannot be written", err)
	}
	return nil
}

// unusable builds the fault of a folder that the system does not let us use.
func unusable(dir, what string, err error) *Fault {
	return &Fault{
		Kind: ErrUnusable, Path: dir, What: what, Err: err,
		Do: "check that it is a folder on a healthy disk, mounted writable and owned by the user that runs berth",
	}
}

// identityCell holds the identity that the folder has on disk.
type identityCell struct {
	mu sync.Mutex
	id Identity
}

func (c *identityCell) get() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

func (c *identityCell) set(id Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// update replaces the identity by what change makes of it, unless it fails.
func (c *identityCell) update(change func(Identity) (Identity, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := change(c.id)
	if err == nil {
		c.id = id
	}
	return err
}
