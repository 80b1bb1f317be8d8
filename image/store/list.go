package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/image/lock"
	"github.com/berth-gpu/berth/image/name"
)

// Entry is an image in the store.
type Entry struct {
	Key    string    `json:"key"`  // the name of its folder
	Name   string    `json:"name"` // by which it was fetched, with the digest; of a file its path
	Digest string    `json:"digest"`
	Bytes  int64     `json:"bytes"` // of all files
	Pulled time.Time `json:"pulled"`
	Used   time.Time `json:"used"`   // the last time
	InUse  bool      `json:"in_use"` // by a process at this moment
}

// List returns the images in the store in the order of their last use, the oldest first.
func (s *Store) List() ([]Entry, error) {
	all, err := byUse(s.root)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(all))
	for _, key := range all {
		r, err := read(s.root, key)
		if errors.Is(err, fs.ErrNotExist) { // removed in between
			continue
		}
		if err != nil {
			r.Name = "(damaged)"
		}
		e := Entry{Key: key, Name: r.Name, Digest: r.Digest, Bytes: r.Bytes, Pulled: r.Pulled}
		if info, err := s.root.Lstat(filepath.Join(key, lockName)); err == nil {
			e.Used = info.ModTime()
		}
		f, err := lock.Try(s.root, filepath.Join(key, lockName))
		e.InUse = errors.Is(err, lock.ErrBusy)
		if err == nil {
			_ = f.Close()
		}
		out = append(out, e)
	}
	return out, nil
}

// ShortKey is how many bytes of a key are shown in tables, and are needed to name an image by the beginning of its key.
const ShortKey = 19

// Remove removes the images that a text names: the name of an image, with or without a digest, a digest, the path of the
// file from which it came, or the beginning of a key. It returns those that were removed. An image in use stays, and is
// an error.
func (s *Store) Remove(text string) ([]Entry, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	var out []Entry
	var busy []string
	found := false
	for _, e := range all {
		if !means(text, &e) {
			continue
		}
		found = true
		switch err := remove(s.root, e.Key, 0); {
		case errors.Is(err, lock.ErrBusy):
			busy = append(busy, e.Name)
		case err != nil && !errors.Is(err, lock.ErrGone):
			return out, err
		default:
			out = append(out, e)
		}
	}
	switch {
	case len(busy) > 0:
		return out, fmt.Errorf("a process uses the image %s: remove it after the end of its jobs", strings.Join(busy, ", "))
	case !found:
		return nil, &Error{Kind: NotFound, Image: text, Reason: "it is not in " + s.folder, Remedy: "see berth image list"}
	}
	return out, nil
}

// means reports whether a text names an image of the store.
func means(text string, e *Entry) bool {
	if text == e.Digest || text == e.Name || len(text) >= ShortKey && strings.HasPrefix(e.Key, text) {
		return true
	}
	asked, err := name.Parse(text)
	if err != nil {
		return false
	}
	if asked.IsPath() {
		at, err := filepath.Abs(asked.Path)
		return err == nil && at == e.Name
	}
	has, err := name.Parse(e.Name)
	if err != nil || has.IsPath() {
		return false
	}
	if !asked.Pinned() {
		has.Digest = ""
	}
	if asked.User == "" {
		has.User = ""
	}
	return asked == has
}
