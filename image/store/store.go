// Package store pulls container images from registries, reads them from files, and keeps each of them as one unpacked
// folder, which is the root of jobs. Everything happens with the rights of the user that runs this code: files belong to
// that user, devices are left out, and setuid bits are not kept.
//
//	FOLDER/sha256-.../   an image of a registry, by the digest of its manifest
//	FOLDER/file-.../     an image from a file, by what tells files apart
//	    root/            its files
//	    config.json      where it came from, its variables, its command
//	    lock             locked, shared, by those that use the image (package image/lock); its time is that of the last use
//	FOLDER/.pull/        what is being pulled: a lock for each image, and unfinished folders
//	FOLDER/.gone/        what is being removed
//
// An image is there as soon as its folder has its name, and not before: a pull that is killed leaves nothing that the
// next one would take for an image.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/files/private"
)

// Names in the folder of a store.
const (
	pullFolder = ".pull"
	goneFolder = ".gone"
	rootName   = "root"
	configName = "config.json"
	lockName   = "lock"
	blobName   = "blobs"

	sha256Key = "sha256-" // begins the key of an image of a registry
	fileKey   = "file-"   // and of an image from a file
)

// Config is what an image says about the processes that run in it.
type Config struct {
	Env        []string `json:"env"`        // NAME=VALUE
	Workdir    string   `json:"workdir"`    // a path in the image; empty: none is given
	Entrypoint []string `json:"entrypoint"` // the first words of its command
	Cmd        []string `json:"cmd"`        // the others
}

// Image is an unpacked image.
type Image struct {
	Digest string // of its manifest; of a file what tells it apart from others; empty for a folder that is used in place
	Root   string // the folder with its files
	Config Config
	Lock   string // the file that its users lock, by lock.Hold; empty for a folder that is used in place
}

// Store is a folder with the images of one user. Several processes may use it at once.
type Store struct {
	folder      string
	root        *os.Root
	credentials credentials
	transport   http.RoundTripper
	space       func(folder string) (free, total int64, err error)
	sync        func(folder *os.File) error
}

// Open returns the store in a folder. The folder is made if it is missing, for its user alone. A folder of another user
// is refused, and so is a link.
func Open(folder string) (*Store, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(folder); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, fmt.Errorf("the folder of images %s is a link, which could lead elsewhere at any time: name the folder itself", folder)
	}
	if _, err := private.Folder(folder); err != nil {
		return nil, fmt.Errorf("the folder of images cannot be used: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{pullFolder, goneFolder} {
		if err := root.Mkdir(sub, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(err, root.Close())
		}
	}
	return &Store{folder: folder, root: root, credentials: usersCredentials(), transport: newTransport(), space: space, sync: syncAll}, nil
}

// Close releases the store's folder. Images that are in use stay so.
func (s *Store) Close() error { return s.root.Close() }

// record is the content of config.json.
type record struct {
	Name   string    `json:"name"`   // as it was fetched, with the digest
	Digest string    `json:"digest"` // as in Image
	Pulled time.Time `json:"pulled"`
	Bytes  int64     `json:"bytes"` // of all files
	Config Config    `json:"config"`
}

// maxRecord bounds config.json, in bytes.
const maxRecord = 16 << 20

// read returns the record of an image in the store. The error is fs.ErrNotExist if there is none.
func read(root *os.Root, key string) (record, error) {
	f, err := root.Open(filepath.Join(key, configName))
	if err != nil {
		return record{}, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return record{}, errors.Join(err, fs.ErrNotExist)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%s of the image %s is damaged: %w", configName, key, err)
	}
	return r, nil
}

// image returns the image that a record describes.
func (s *Store) image(key string, r *record) Image {
	at := filepath.Join(s.folder, key)
	return Image{Digest: r.Digest, Root: filepath.Join(at, rootName), Config: r.Config, Lock: filepath.Join(at, lockName)}
}

// isKey reports whether the name of a folder is the key of an image.
func isKey(text string) bool {
	for _, kind := range []string{sha256Key, fileKey} {
		if hex, is := strings.CutPrefix(text, kind); is {
			return len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
		}
	}
	return false
}
