// Package smallfile stores small values in files of their own, one value a file, so that a damaged file is
// recognized and distinguished from a missing one.
//
// A file is one line of JSON:
//
//	{"crc32c":"5a0c11d2","value":{...}}
//
// The checksum (CRC-32C, RFC 3720) is that of the bytes of the value. It is written as 8 hexadecimal digits.
// A file is replaced as a whole, by a rename, so a reader never sees half of a new value. Everything that is
// not such a line is damaged: an empty or shortened file, a flipped bit anywhere in the line, another kind of
// file.
//
// [Replace] does not wait for the disk. It is for files that do not outlive the kernel, or for which an older
// value is as good. [Write] returns after the value is on the disk. [WriteTwin] and [ReadTwin] keep a second
// copy, for values that cannot be recovered otherwise.
//
// A file is damaged in the sense of [DamagedError], or missing (fs.ErrNotExist), or could not be read (any
// other error). These three need different answers.
//
//berth:single
package smallfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxSize bounds the size of a file that is read, in bytes.
const MaxSize = 1 << 20

// The parts of a file around the checksum and the value.
const (
	head   = `{"crc32c":"`
	middle = `","value":`
	tail   = "}\n"
	digits = 8 // of the checksum
)

// DamagedError means that a file does not contain what was written to it.
type DamagedError struct {
	Path string
	Why  string // one short clause
}

func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.Why) }

// IsDamaged reports whether an error means that a file is damaged.
func IsDamaged(err error) bool {
	var damaged *DamagedError
	return errors.As(err, &damaged)
}

// Encode returns the content of a file that holds v.
func Encode(v any) ([]byte, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(head)+digits+len(middle)+len(value)+len(tail))
	out = fmt.Appendf(out, "%s%08x%s", head, checksum(value), middle)
	out = append(out, value...)
	return append(out, tail...), nil
}

// Decode reads v from the content of the file at path. The path is for the error only,
// which is a [DamagedError].
func Decode(path string, data []byte, v any) error {
	value, why := verified(data)
	if why == "" {
		if err := json.Unmarshal(value, v); err != nil {
			why = "its value is of another kind: " + err.Error()
		}
	}
	if why != "" {
		return &DamagedError{Path: path, Why: why}
	}
	return nil
}

// verified returns the bytes of the value, or why they cannot be trusted.
func verified(data []byte) (value []byte, why string) {
	const before = len(head) + digits + len(middle)
	switch {
	case len(data) == 0:
		return nil, "it is empty"
	case len(data) > MaxSize:
		return nil, fmt.Sprintf("it is longer than %d bytes", MaxSize)
	case len(data) < before+len(tail), string(data[:len(head)]) != head,
		string(data[len(head)+digits:before]) != middle, string(data[len(data)-len(tail):]) != tail:
		return nil, "it is cut off, or was not written by Berth"
	}
	value = data[before : len(data)-len(tail)]
	if string(data[len(head):len(head)+digits]) != fmt.Sprintf("%08x", checksum(value)) {
		return nil, "its checksum does not match"
	}
	return value, ""
}

func checksum(value []byte) uint32 { return crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli)) }

// Read reads v from the file at path. A link, a pipe or a folder in the place of the
// file counts as damage.
func Read(path string, v any) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // the caller's own file
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return &DamagedError{Path: path, Why: notRegular}
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was open to read
	return ReadFrom(f, path, v)
}

const notRegular = "it is not a regular file"

// ReadFrom reads v from an open file. The path is for errors only.
func ReadFrom(f *os.File, path string, v any) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &DamagedError{Path: path, Why: notRegular}
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, MaxSize+1))
	if err != nil {
		return err
	}
	return Decode(path, data, v)
}

// Replace writes v to the file at path, in place of its former content. It does not wait for the disk.
func Replace(path string, v any) error { return replace(path, v, false) }

// Write writes v to the file at path, in place of its former content, and returns after the value and the
// name are on the disk.
func Write(path string, v any) error { return replace(path, v, true) }

func replace(path string, v any, durable bool) error {
	data, err := Encode(v)
	if err != nil {
		return err
	}
	return replaceBytes(path, data, durable)
}

// WriteBytes writes bytes of another form to the file at path, in place of its former content, and returns after the bytes
// and the name are on the disk. The file has no checksum and is readable for its owner only.
func WriteBytes(path string, data []byte) error { return replaceBytes(path, data, true) }

func replaceBytes(path string, data []byte, durable bool) error {
	next := path + ".new"
	f, err := create(next)
	if errors.Is(err, fs.ErrExist) { // the rest of a write that broke off
		_ = os.Remove(next)
		f, err = create(next)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if durable && err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(next) // on a full disk it takes what room there is
		return err
	}
	if err := syscall.Rename(next, path); err != nil { // os.Rename asks first what is there
		return &os.LinkError{Op: "rename", Old: next, New: path, Err: err}
	}
	if !durable {
		return nil
	}
	return SyncFolder(filepath.Dir(path))
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own file
}

// SyncFolder makes names that were created, changed or removed in a folder durable.
func SyncFolder(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the caller's own folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// copySuffix is in the name of the second copy of a file.
const copySuffix = ".copy"

// WriteTwin writes v to the file at path and to a second copy, PATH.copy, and returns after both are on the
// disk.
func WriteTwin(path string, v any) error {
	return errors.Join(Write(path, v), Write(path+copySuffix, v))
}

// ReadTwin reads v from the file at path, or from its second copy when the file is missing or damaged. A
// missing or damaged one of the two is then written again from the other; restored names that file and the
// reason, and is empty when both were sound. The error is fs.ErrNotExist when both are missing, and a
// [DamagedError] when at least one is damaged and neither can be read.
func ReadTwin(path string, v any) (restored string, err error) {
	first, second := Read(path, v), Read(path+copySuffix, new(json.RawMessage))
	if first == nil && second == nil {
		return "", nil
	}
	from, to, why := path, path+copySuffix, second
	if first != nil {
		from, to, why = to, from, first
	}
	if first != nil && second != nil {
		if IsDamaged(first) || !IsDamaged(second) {
			return "", first
		}
		return "", second
	}
	if err := Read(from, v); err != nil {
		return "", err
	}
	if err := Write(to, v); err != nil {
		return "", err
	}
	if !IsDamaged(why) {
		return fmt.Sprintf("%s was missing and is restored from %s", to, from), nil
	}
	return fmt.Sprintf("%v; it is restored from %s", why, from), nil
}
