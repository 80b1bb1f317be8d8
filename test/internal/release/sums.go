package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// sum writes the checksums of all that is published, and prints the sizes.
func (r *release) sum(out io.Writer) error {
	list, err := r.published()
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, path := range list {
		sum, size, err := digest(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, filepath.Base(path))
		fmt.Fprintf(out, "%8.2f MB  %s\n", float64(size)/1e6, path)
	}
	found, err := filepath.Glob(filepath.Join(r.out, "build", "*", "bin", "*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%8.2f MB  %s\n", float64(info.Size())/1e6, path)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// published returns the files of the version in the folder, sorted.
func (r *release) published() ([]string, error) {
	list := []string{filepath.Join(r.out, notices)}
	for _, pattern := range []string{"berth_" + r.version.file() + "_*", "berth_" + r.version.packaged() + "_*", "berth-" + r.version.packaged() + "-*"} {
		found, err := filepath.Glob(filepath.Join(r.out, pattern))
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// digest returns the SHA-256 of a file, in hexadecimal digits, and its size.
func digest(path string) (string, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
