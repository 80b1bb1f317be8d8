package sealing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/files/smallfile"
)

// maxFile bounds the file of a ring, in bytes.
const maxFile = 16 << 10

// Load returns the ring in a file: a key in 64 hexadecimal digits per line, the one that seals first. If there is no such file,
// the ring is empty, and the first key makes the file.
func Load(path string) (*Ring, error) {
	keys, err := read(path)
	if err != nil {
		return nil, err
	}
	r, err := NewRing(keys...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.path = path
	return r, nil
}

func read(path string) ([][]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(), info.Size() > maxFile:
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxFile)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s is open to other users (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the settings name the file
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		key, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(key) != KeySize {
			return nil, fmt.Errorf("%s is damaged: it does not hold one key of %d hexadecimal digits per line: copy the file from another peer, or restore the file from a backup", path, 2*KeySize)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// save writes the keys of a ring. The folder of the file is made, for its owner only, if there is none.
func save(path string, keys []key) error {
	if path == "" {
		return nil
	}
	var out []byte
	for i := range keys {
		out = append(hex.AppendEncode(out, keys[i].bytes), '\n')
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if _, err := private.Folder(dir); err != nil {
			return err
		}
	}
	if err := smallfile.WriteBytes(path, out); err != nil {
		return fmt.Errorf("the key of secrets is not stored (server.secrets_key names its file): %w", err)
	}
	return nil
}
