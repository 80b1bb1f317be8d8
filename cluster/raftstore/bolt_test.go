package raftstore

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// A damaged entry in a sound tree, or one in the place of another, is found at the start.
func TestADamagedEntryIsFoundAtTheStart(t *testing.T) {
	for name, tc := range map[string]struct {
		entry []byte
		says  string
	}{
		"no entry":        {[]byte{0xc1}, "log entry 7 cannot be read"},
		"another's entry": {nil, "log entry 7 calls itself 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := small(t.TempDir())
			s := open(t, o)
			fillStore(t, s)
			check(t, s.Close())
			plant(t, filepath.Join(o.Dir, boltName), 7, tc.entry)
			s, err := Open(o)
			if err == nil {
				check(t, s.Close())
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v does not say %q", err, tc.says)
			}
		})
	}
}

// plant puts raw bytes in place of a log entry; nil means those of entry 1.
func plant(t *testing.T, path string, index uint64, raw []byte) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, boltOptions(0))
	check(t, err)
	check(t, db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("logs"))
		if raw == nil {
			raw = b.Get(binary.BigEndian.AppendUint64(nil, 1))
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, index), raw)
	}))
	check(t, db.Close())
}

// TestFreelistIsNotWritten: with it, each commit of a long log writes it whole.
func TestFreelistIsNotWritten(t *testing.T) {
	b := healthyBolt(t)
	const freelistOffset, none = pageHeaderSize + 32, ^uint64(0)
	for page := range 2 {
		if got := binary.NativeEndian.Uint64(b[4096*page+freelistOffset:]); got != none {
			t.Errorf("meta page %d names a freelist at %d", page, got)
		}
	}
}
