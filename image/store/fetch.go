package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/image/lock"
	"github.com/berth-gpu/berth/image/name"
)

// Resolve returns the name of an image with the digest of its manifest for this machine's platform, so that the name means
// the same image from then on. A path is returned as an absolute one, after a check that it is there. The error is an
// *Error, or that of the context.
func (s *Store) Resolve(ctx context.Context, n name.Name) (name.Name, error) {
	if n.IsPath() {
		path, _, err := look(n)
		return name.Name{Path: path}, explain(ctx, n.String(), err)
	}
	if n.Pinned() {
		if _, err := read(s.root, keyOf(n.Digest)); err == nil {
			return n, nil
		}
	}
	src, err := s.resolve(ctx, n)
	if err != nil {
		return name.Name{}, explain(ctx, n.String(), err)
	}
	return n.WithDigest(src.digest), nil
}

func (s *Store) resolve(ctx context.Context, n name.Name) (*source, error) {
	r, err := s.reader(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.source(ctx)
}

// Fetch returns an unpacked image. One that is not in the store is pulled from its registry or read from its file; if
// another process is doing that, Fetch waits for it. progress is called from one goroutine at a time; it may be nil. The
// error is an *Error, or that of the context.
//
// The image stays for two minutes at least, in which its user locks it by lock.Hold.
func (s *Store) Fetch(ctx context.Context, n name.Name, progress func(Progress)) (Image, error) {
	m := newMeter(progress)
	defer m.close()
	get := s.fetchRemote
	if n.IsPath() {
		get = s.fetchPath
	}
	image, err := get(ctx, n, m)
	return image, explain(ctx, n.String(), err)
}

// keyOf returns the key of an image of a registry.
func keyOf(digest string) string { return sha256Key + strings.TrimPrefix(digest, "sha256:") }

func (s *Store) fetchRemote(ctx context.Context, n name.Name, m *meter) (Image, error) {
	if n.Pinned() {
		if image, err := s.ready(keyOf(n.Digest)); err == nil || !errors.Is(err, lock.ErrGone) {
			return image, err
		}
	}
	m.enter(Resolving, 0)
	src, err := s.resolve(ctx, n)
	if err != nil {
		return Image{}, err
	}
	return s.pull(ctx, keyOf(src.digest), src.size()*unpackedSize, m, func(ctx context.Context, dir string) (*record, error) {
		m.enter(Pulling, src.size())
		r := &record{Name: n.WithDigest(src.digest).String(), Digest: src.digest, Config: ofConfig(src.config)}
		return r, s.unpack(ctx, src, dir, m, r)
	})
}

// unpack downloads and applies the layers of an image.
func (s *Store) unpack(ctx context.Context, src *source, dir string, m *meter, r *record) error {
	u := &unpacking{source: src, root: filepath.Join(dir, rootName), blobs: filepath.Join(dir, blobName), meter: m, room: s.makeRoom}
	err := u.run(ctx)
	r.Bytes = u.bytes.Load()
	return err
}

// look returns the absolute path of a file or folder, and what it is.
func look(n name.Name) (path string, info fs.FileInfo, err error) {
	if path, err = filepath.Abs(n.Path); err != nil {
		return "", nil, err
	}
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil, failed(NotFound, "check the path on this node; an image of a registry is written without a slash or dot at the beginning", "there is no %s", path)
	case errors.Is(err, fs.ErrPermission):
		return "", nil, failed(Denied, "change the rights of the file and of the folders above it", "no right to %s", path)
	case err != nil:
		return "", nil, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", nil, failed(BadFile, "name a squashfs file, an archive of docker or OCI, or a folder", "%s is neither a file nor a folder", path)
	}
	return path, info, nil
}

// fetchPath returns the image of a file, or a folder as it is.
func (s *Store) fetchPath(ctx context.Context, n name.Name, m *meter) (Image, error) {
	path, info, err := look(n)
	if err != nil {
		return Image{}, err
	}
	if info.IsDir() {
		config, err := ofRoot(path)
		return Image{Root: path, Config: config}, err
	}
	key, err := fileID(info)
	if err != nil {
		return Image{}, err
	}
	if image, err := s.ready(key); err == nil || !errors.Is(err, lock.ErrGone) {
		return image, err
	}
	f, err := os.Open(path) //nolint:gosec // the user's own file
	if errors.Is(err, fs.ErrPermission) {
		return Image{}, failed(Denied, "change the rights of the file", "no right to read %s", path)
	}
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = f.Close() }()
	return s.pull(ctx, key, info.Size()*unpackedSize, m, func(ctx context.Context, dir string) (*record, error) {
		r := &record{Name: path, Digest: key}
		err := s.unpackFile(ctx, f, dir, m, r)
		if err == nil {
			err = unchanged(path, key)
		}
		return r, err
	})
}

// fileID returns the key of a file: by its device, inode, size and time, as a file that is written again has others.
func fileID(info fs.FileInfo) (string, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.ErrUnsupported
	}
	text := fmt.Sprintf("%d %d %d %d", stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
	return fmt.Sprintf("%s%x", fileKey, sha256.Sum256([]byte(text))), nil
}

// unchanged returns an error if a file is not the one any more that was read.
func unchanged(path, key string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if now, err := fileID(info); err != nil || now != key {
		return errors.Join(err, failed(Damaged, "try again when the file is complete", "%s has changed while it was read", path))
	}
	return nil
}

// unpackFile unpacks a squashfs file or an archive.
func (s *Store) unpackFile(ctx context.Context, f *os.File, dir string, m *meter, r *record) error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return failed(BadFile, remedySave, "the file is empty or cannot be read: %s", plain(err))
	}
	if isSquashfs(head) {
		m.enter(Unpacking, 0)
		return s.unpackSquashfs(ctx, f.Name(), dir, r)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if isGzip(head) || isZstd(head) {
		m.enter(Unpacking, 0)
		plain, err := expandArchive(ctx, f, filepath.Join(dir, blobName, "archive"))
		if err != nil {
			return err
		}
		defer func() { _ = plain.Close() }()
		f = plain
	}
	a, err := openArchive(f)
	if err != nil {
		return err
	}
	src, err := a.source()
	if err != nil {
		return ofFile(err)
	}
	m.enter(Unpacking, src.size())
	r.Config = ofConfig(src.config)
	return ofFile(s.unpack(ctx, src, dir, m, r))
}

func (s *Store) unpackSquashfs(ctx context.Context, file, dir string, r *record) error {
	root := filepath.Join(dir, rootName)
	if err := os.Remove(root); err != nil { // the program makes the folder
		return err
	}
	if err := unsquash(ctx, file, root); err != nil {
		return err
	}
	at, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	if r.Bytes, err = tame(at, rootName); err != nil {
		return err
	}
	r.Config, err = ofRoot(root)
	return err
}

// ready returns an image that is in the store, and notes that it is used. The error is lock.ErrGone if it is not there.
func (s *Store) ready(key string) (Image, error) {
	f, err := lock.Hold(filepath.Join(s.folder, key, lockName))
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := read(s.root, key)
	if errors.Is(err, fs.ErrNotExist) {
		return Image{}, lock.ErrGone
	}
	if err != nil {
		return Image{}, err
	}
	if info, err := s.root.Lstat(filepath.Join(key, rootName)); err != nil || !info.IsDir() {
		return Image{}, lock.ErrGone
	}
	return s.image(key, &r), nil
}

// pull makes an image of the store by build, which unpacks into a folder. One process at a time makes an image; the
// others wait for it.
func (s *Store) pull(ctx context.Context, key string, need int64, m *meter,
	build func(ctx context.Context, dir string) (*record, error),
) (Image, error) {
	path := filepath.Join(pullFolder, key+".lock")
	held, err := lock.Wait(ctx, s.root, path, func() { m.enter(Waiting, 0) })
	if err != nil {
		return Image{}, err
	}
	defer func() { _ = lock.Remove(s.root, path, held) }()
	if image, err := s.ready(key); err == nil || !errors.Is(err, lock.ErrGone) {
		return image, err
	}
	if err := s.sweepPulls(key); err != nil {
		return Image{}, err
	}
	if err := s.makeRoom(need); err != nil {
		return Image{}, err
	}
	dir := filepath.Join(pullFolder, key+"-"+rand.Text())
	defer func() { _ = removeTree(s.root, dir) }()
	for _, folder := range []string{dir, filepath.Join(dir, rootName), filepath.Join(dir, blobName)} {
		if err := s.root.Mkdir(folder, 0o700); err != nil {
			return Image{}, err
		}
	}
	if err := s.root.Chmod(filepath.Join(dir, rootName), 0o755); err != nil { // as the image's own users see it
		return Image{}, err
	}
	r, err := build(ctx, filepath.Join(s.folder, dir))
	if err != nil {
		return Image{}, err
	}
	if err := s.complete(ctx, key, dir, r); err != nil {
		return Image{}, err
	}
	return s.ready(key)
}

// complete gives an unpacked image its place in the store, once all of it is on disk.
func (s *Store) complete(ctx context.Context, key, dir string, r *record) error {
	r.Pulled = time.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := removeTree(s.root, filepath.Join(dir, blobName)); err != nil {
		return err
	}
	for file, content := range map[string][]byte{configName: text, lockName: nil} { // order-free: two files
		if err := s.root.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return err
		}
	}
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(s.sync(f), f.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := s.root.Lstat(key); err == nil { // without a lock or a root, or ready would have found it
		if _, err := discard(s.root, key); err != nil {
			return err
		}
	}
	return s.root.Rename(dir, key)
}

// sweepPulls removes what pulls have left that were killed: of the image whose lock is held here, and of those that no
// process pulls.
func (s *Store) sweepPulls(held string) error {
	names, err := list(s.root, pullFolder)
	if err != nil {
		return err
	}
	for _, folder := range names {
		at := strings.LastIndexByte(folder, '-')
		if at < 0 || !isKey(folder[:at]) {
			continue
		}
		if err := s.sweepPull(folder[:at], folder, held); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sweepPull(key, folder, held string) error {
	if key != held {
		path := filepath.Join(pullFolder, key+".lock")
		f, err := lock.Try(s.root, path)
		switch {
		case errors.Is(err, lock.ErrBusy):
			return nil
		case err == nil:
			defer func() { _ = lock.Remove(s.root, path, f) }()
		case !errors.Is(err, lock.ErrGone):
			return err
		}
	}
	return removeTree(s.root, filepath.Join(pullFolder, folder))
}
