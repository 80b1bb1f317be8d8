package raftstore

import (
	"errors"
	"os"
)

// VerifyBolt returns the damage of a bbolt file that no process has open; nil if there is none, or if the
// file is missing or empty. bbolt itself would end the process.
func VerifyBolt(path string) (err error) {
	f, err := os.Open(path) //nolint:gosec // the path is the operator's data folder
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return err
	}
	pages := &attentive{ReaderAt: f}
	if err := verifyTree(pages, st.Size()); pages.failed == nil {
		return err
	}
	return unreadable(path, pages.failed)
}
