package raftstore

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/files/smallfile"
)

// writeDurable replaces dir/name by data so that after a crash the file holds
// either the old or the new bytes, and after a nil return the new ones.
func writeDurable(dir, name string, data []byte) (err error) {
	tmp := filepath.Join(dir, name+".tmp")
	if err := writeSynced(tmp, data); err != nil {
		return errors.Join(err, removeIfThere(tmp))
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return errors.Join(err, removeIfThere(tmp))
	}
	return smallfile.SyncFolder(dir)
}

// writeSynced creates path with data and forces it to the disk.
func writeSynced(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the path is the operator's data folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// removeIfThere removes path and is content when it does not exist.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
