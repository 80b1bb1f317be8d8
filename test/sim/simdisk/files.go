package simdisk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Files are small files by name, for identities and journals. What a method
// has changed when it returns nil is durable.
type Files struct{ h *Handle }

// fileKey keeps the files' names apart from those of raft's stores.
func fileKey(name string) string { return "file/" + name }

// Write replaces a file, whole or not at all: temporary file, sync, rename,
// sync of the folder.
func (f Files) Write(name string, data []byte) error {
	data = bytes.Clone(data)
	return f.h.write(WriteFile, fileKey(name), func(m *image) { m.files[name] = data })
}

// Create makes a file that does not exist yet, or fails with fs.ErrExist.
func (f Files) Create(name string, data []byte) error {
	if err := f.h.run(WriteFile); err != nil {
		return err
	}
	if !f.h.create(name, bytes.Clone(data)) {
		return fmt.Errorf("create %s: %w", name, fs.ErrExist)
	}
	return f.h.sync(SyncFile, fileKey(name))
}

// create adds a file unless there is one, without a moment between.
func (h *Handle) create(name string, data []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, exists := h.vol.cache.files[name]; exists {
		return false
	}
	h.vol.write(fileKey(name), func(m *image) { m.files[name] = data })
	return true
}

// Append adds to the end of a file, and makes it if need be. A power cut can
// leave any number of whole appends.
func (f Files) Append(name string, data []byte) error {
	data = bytes.Clone(data)
	return f.h.write(WriteFile, fileKey(name), func(m *image) { m.files[name] = slices.Concat(m.files[name], data) })
}

// Read returns a file's content, or fails with fs.ErrNotExist.
func (f Files) Read(name string) (data []byte, err error) {
	err = f.h.read(ReadFile, func(m *image) error {
		b, ok := m.files[name]
		if !ok {
			return fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
		}
		data = bytes.Clone(b)
		return nil
	})
	return data, err
}

// Remove removes a file, and does nothing if there is none.
func (f Files) Remove(name string) error {
	return f.h.write(WriteFile, fileKey(name), func(m *image) { delete(m.files, name) })
}

// List returns the names that begin with prefix, sorted.
func (f Files) List(prefix string) (names []string, err error) {
	err = f.h.read(ReadFile, func(m *image) error {
		for _, name := range slices.Sorted(maps.Keys(m.files)) {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// Folder is a disk's data folder as peers see it: its id, and the stored ids of the other peers' folders.
// Another process on the same disk finds the same; a wiped disk has another id.
type Folder struct {
	files Files
	id    string
	peers map[string]string
}

const (
	folderFile = "folder"
	peersFile  = "peers"
)

// Folder returns the disk's folder, and gives a new disk its id.
func (h *Handle) Folder() *Folder {
	f := &Folder{files: h.Files()}
	h.mu.Lock()
	defer h.mu.Unlock()
	id, found := h.vol.cache.files[folderFile]
	if !found {
		id = []byte(h.dev.newFolder())
		h.vol.write(fileKey(folderFile), func(m *image) { m.files[folderFile] = id })
		h.vol.sync(fileKey(folderFile))
	}
	f.id = string(id)
	_ = json.Unmarshal(h.vol.cache.files[peersFile], &f.peers) // none: no file yet
	return f
}

// FolderID returns the folder's id.
func (f *Folder) FolderID() string { return f.id }

// Peers returns the ids last stored by SetPeers, as of the opening.
func (f *Folder) Peers() map[string]string { return f.peers }

// SetPeers stores the ids of the peers' folders.
func (f *Folder) SetPeers(peers map[string]string) error {
	data, err := json.Marshal(peers)
	if err != nil {
		return err
	}
	return f.files.Write(peersFile, data)
}
