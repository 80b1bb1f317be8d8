package raftstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// OpenSnapshot opens a snapshot for reading only, without a lock and next to a running peer,
// and returns its index, its folder, and its state from the first byte. The path is a folder of one
// snapshot, a folder of snapshots, or a peer's data folder; of several snapshots the newest is
// opened. Checksums of the description and the state are verified first: a snapshot that does not match
// is a *Fault of ErrCorrupt, a path without a snapshot one of ErrUnusable.
func OpenSnapshot(path string) (index uint64, folder string, state io.ReadCloser, err error) {
	if folder, err = newestSnapshot(path); err != nil {
		return 0, "", nil, err
	}
	meta, sum, err := readDescription(folder)
	if err != nil {
		return 0, folder, nil, damagedCopy(folder, err)
	}
	file, err := os.Open(filepath.Join(folder, snapshotState)) //nolint:gosec // the caller names the folder
	if err != nil {
		return 0, folder, nil, damagedCopy(folder, err)
	}
	if err := verifyState(file, meta, sum); err != nil {
		return 0, folder, nil, damagedCopy(folder, errors.Join(err, file.Close()))
	}
	return meta.Index, folder, file, nil
}

// newestSnapshot returns the folder of the newest snapshot at or below a path.
func newestSnapshot(path string) (string, error) {
	for _, at := range []string{path, filepath.Join(path, snapshotFolder)} {
		if _, err := os.Stat(filepath.Join(at, snapshotState)); err == nil {
			return at, nil
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			if at == path {
				return "", &Fault{Kind: ErrUnusable, Path: path, What: "cannot be read", Do: "name a snapshot, or the data folder of a peer", Err: err}
			}
			continue
		}
		var newest snapshotName
		for _, e := range entries {
			if n, ok := parseSnapshotName(e.Name()); ok && e.IsDir() && filepath.Ext(n.name) != snapshotTmp && n.after(newest) {
				newest = n
			}
		}
		if newest.name != "" {
			return filepath.Join(at, newest.name), nil
		}
	}
	return "", &Fault{
		Kind: ErrUnusable, Path: path, What: "holds no snapshot",
		Do: "name a snapshot (a folder with state.bin), or the data folder of a peer that has taken one",
	}
}

// readDescription returns the description of a snapshot and the checksum of its state, as raft wrote them.
func readDescription(folder string) (*raft.SnapshotMeta, []byte, error) {
	data, err := os.ReadFile(filepath.Join(folder, "meta.json")) //nolint:gosec // the caller names the folder
	if err != nil {
		return nil, nil, err
	}
	var meta struct {
		raft.SnapshotMeta

		CRC []byte
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, nil, errors.Join(errMeta, err)
	}
	return &meta.SnapshotMeta, meta.CRC, nil
}

var errState = errors.New("its state (state.bin) does not match its checksum (CRC)")

// verifyState checks the whole file and leaves it at the first byte of the state.
func verifyState(file io.ReadSeeker, meta *raft.SnapshotMeta, want []byte) error {
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	size, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	if size != meta.Size || !bytes.Equal(sum.Sum(nil), want) {
		return errState
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	seal := make([]byte, snapSealSize)
	if _, err := io.ReadFull(file, seal); err != nil {
		return err
	}
	if !bytes.Equal(seal, snapSeal(meta.Version, meta.Term, meta.Index, meta.Configuration, meta.ConfigurationIndex)) {
		return errMeta
	}
	return nil
}

func damagedCopy(folder string, err error) *Fault {
	return &Fault{
		Kind: ErrCorrupt, Path: folder, What: "the snapshot is damaged", Err: err,
		Do: "take another copy, or the snapshot of another peer",
	}
}
