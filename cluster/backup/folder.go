package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
)

// Suffix ends the names of files of backups.
const Suffix = ".berth.tar.zst"

// unfinished ends the name of a file that is being written.
const unfinished = ".unfinished"

// FileName returns the name of the file of a backup: berth-CLUSTER-TIME-INDEX, of which names sort by time.
func FileName(d *Description) string {
	return fmt.Sprintf("berth-%s-%s-%d%s", d.Cluster[:min(8, len(d.Cluster))], d.Made.UTC().Format("20060102T150405Z"), d.Index, Suffix)
}

// File is a backup in a folder.
type File struct {
	Path        string
	Size        int64
	Description *Description // nil: it cannot be read
	Err         error        // why it cannot be read
}

// List returns the backups in a folder, newest first; those that cannot be read are last. Only descriptions are read: see
// [Read] for all checks.
func List(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []File
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), Suffix) {
			list = append(list, look(filepath.Join(dir, e.Name())))
		}
	}
	slices.SortFunc(list, func(a, b File) int { return b.made().Compare(a.made()) })
	return list, nil
}

func (f *File) made() time.Time {
	if f.Description == nil {
		return time.Time{}
	}
	return f.Description.Made
}

// ahead is by how much the clocks of peers that share a folder may differ.
const ahead = time.Minute

// future reports whether a backup has a time that has not come yet.
func (f *File) future(now time.Time) bool { return f.made().After(now.Add(ahead)) }

// look reads the description of a file.
func look(path string) File {
	f := File{Path: path}
	r, err := os.Open(path) //nolint:gosec // the caller names the folder
	if err != nil {
		f.Err = err
		return f
	}
	defer func() { _ = r.Close() }() // nothing was written
	if info, err := r.Stat(); err == nil {
		f.Size = info.Size()
	}
	f.Description, f.Err = Describe(r)
	return f
}

// Create writes a file as a whole or not at all: content writes it under another name first. Only its owner may read it.
func Create(path string, content func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already: name another file", path)
	}
	f, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the caller names the file
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = content(f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return smallfile.SyncFolder(filepath.Dir(path))
}

// prune removes all but the newest sound backups of a cluster from a folder, and files that a peer has left unfinished a day ago. Backups
// of the future stay, and do not count.
func prune(dir, cluster string, keep int, now time.Time, sound func(path string) bool) error {
	list, err := List(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		switch {
		case f.Description == nil || f.Description.Cluster != cluster || f.future(now):
		case keep <= 0:
			err = errors.Join(err, os.Remove(f.Path))
		case sound(f.Path):
			keep--
		}
	}
	entries, failed := os.ReadDir(dir)
	for _, e := range entries {
		info, gone := e.Info()
		if gone == nil && strings.HasSuffix(e.Name(), Suffix+unfinished) && now.Sub(info.ModTime()) > 24*time.Hour {
			if one := os.Remove(filepath.Join(dir, e.Name())); !errors.Is(one, fs.ErrNotExist) {
				err = errors.Join(err, one)
			}
		}
	}
	return errors.Join(err, failed)
}
