package raftstore

import (
	"errors"
	"os"
)

// VerifyBolt returns what is broken in a bbolt file that nobody has open; nil if nothing
// is, or if there is no file or an empty one. bbolt itself would end the process.
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
	return verifyTree(f, st.Size())
}
