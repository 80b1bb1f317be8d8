package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Rotation is the policy for files of lines: one that is written and older ones, all of bounded size.
type Rotation struct {
	Dir  string
	Size int64 // bytes of a file at most, but for what is written at once; 0: 64 MiB
	Keep int   // files in addition to the one that is written; 0: 16
}

// rotating is such files: NAME.jsonl is written, NAME-1.jsonl was first.
type rotating struct {
	Rotation

	name string
	file *os.File
	size int64
}

const lines = ".jsonl"

func newRotating(r Rotation, name string) *rotating {
	if r.Size <= 0 {
		r.Size = 64 << 20
	}
	if r.Keep <= 0 {
		r.Keep = 16
	}
	return &rotating{Rotation: r, name: name}
}

// append writes whole lines, and syncs them.
func (r *rotating) append(data []byte) error {
	if r.file != nil && r.size+int64(len(data)) > r.Size && r.size > 0 {
		if err := r.turn(); err != nil {
			return err
		}
	}
	if err := r.open(); err != nil {
		return err
	}
	n, err := r.file.Write(data)
	r.size += int64(n)
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		r.close() // the next one begins a line of its own, whatever of this is there
		return fmt.Errorf("writing %s: %w", r.path(), err)
	}
	return nil
}

func (r *rotating) path() string { return filepath.Join(r.Dir, r.name+lines) }

// open opens the current file. A line that was cut off by a crash is terminated.
func (r *rotating) open() error {
	if r.file != nil {
		return nil
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return fmt.Errorf("no folder for %s: %w", r.name, err)
	}
	file, err := os.OpenFile(r.path(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.size = info.Size()
	last := []byte{'\n'}
	if r.size > 0 {
		_, err = file.ReadAt(last, r.size-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = file.WriteString("\n")
		r.size++
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.file = file
	return nil
}

// turn sets the file aside and deletes the oldest of its kind.
func (r *rotating) turn() error {
	r.close()
	old, err := r.old()
	if err != nil {
		return err
	}
	next := int64(1)
	if len(old) > 0 {
		next = old[len(old)-1] + 1
	}
	if err := os.Rename(r.path(), r.numbered(next)); err != nil {
		return err
	}
	for i := 0; i <= len(old)-r.Keep; i++ {
		if err := os.Remove(r.numbered(old[i])); err != nil {
			return err
		}
	}
	return nil
}

func (r *rotating) numbered(n int64) string {
	return filepath.Join(r.Dir, r.name+"-"+strconv.FormatInt(n, 10)+lines)
}

// old returns the numbers of the files that were set aside, oldest first.
func (r *rotating) old() (list []int64, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, is := strings.CutSuffix(e.Name(), lines)
		number, ours := strings.CutPrefix(text, r.name+"-")
		if n, err := strconv.ParseInt(number, 10, 64); is && ours && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

func (r *rotating) close() {
	if r.file != nil {
		_ = r.file.Close() // what it holds was synced
		r.file = nil
	}
}
