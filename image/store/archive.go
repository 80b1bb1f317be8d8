package store

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// archived is an archive of docker (docker save) or of OCI (an image layout in a tar). The content of the archive is found
// once, so that each layer is read from its place.
type archived struct {
	file    *os.File
	entries map[string]entry
}

// entry is one file of an archive.
type entry struct {
	at, size int64
	link     string // the file that has the content in place of this one
}

// The files that tell what an archive holds.
const (
	ociIndex       = "index.json"
	dockerManifest = "manifest.json"
)

const remedySave = "write it with docker save IMAGE -o image.tar, podman save or skopeo copy"

// openArchive finds the files of a tar.
func openArchive(f *os.File) (*archived, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	a := &archived{file: f, entries: map[string]entry{}}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, failed(BadFile, remedySave, "the archive cannot be read: %s", plain(err))
		}
		at, err := f.Seek(0, io.SeekCurrent) // the reader of a tar reads no byte ahead
		if err != nil {
			return nil, err
		}
		e := entry{at: at, size: h.Size}
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeSymlink: // docker stores a layer that occurs twice only once
			e.link = path.Join(path.Dir(path.Clean(h.Name)), h.Linkname) //nolint:gosec // a name to look up in the archive, not a file
		case tar.TypeLink:
			e.link = path.Clean(h.Linkname)
		default:
			continue
		}
		a.entries[path.Clean(h.Name)] = e
	}
}

// find returns the place of a file.
func (a *archived) find(file string) (entry, error) {
	const maxLinks = 8
	at := path.Clean(file)
	for range maxLinks {
		e, has := a.entries[at]
		if !has {
			break
		}
		if e.link == "" {
			return e, nil
		}
		at = e.link
	}
	return entry{}, failed(BadFile, remedySave, "the archive has no file %s", file)
}

func (a *archived) open(file string) (*io.SectionReader, error) {
	e, err := a.find(file)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(a.file, e.at, e.size), nil
}

// read returns a small file.
func (a *archived) read(file string) ([]byte, error) {
	r, err := a.open(file)
	if err != nil {
		return nil, err
	}
	if r.Size() > maxManifest {
		return nil, failed(BadFile, remedySave, "%s in the archive has %d bytes, more than %d", file, r.Size(), maxManifest)
	}
	return io.ReadAll(r)
}

// layer returns a layer that is a file of the archive.
func (a *archived) layer(file string, diff v1.Hash) (layer, error) {
	e, err := a.find(file)
	if err != nil {
		return layer{}, err
	}
	return layer{diff: diff, digest: diff, size: e.size, open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(a.file, e.at, e.size)), nil
	}}, nil
}

// source returns the image in the archive.
func (a *archived) source() (*source, error) {
	if _, has := a.entries[ociIndex]; has {
		return a.ofOCI()
	}
	if _, has := a.entries[dockerManifest]; has {
		return a.ofDocker()
	}
	return nil, failed(BadFile, remedySave, "the archive has neither %s nor %s: it is no archive of docker or OCI", ociIndex, dockerManifest)
}

// ofOCI reads an image layout.
func (a *archived) ofOCI() (*source, error) {
	text, err := a.read(ociIndex)
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, failed(BadFile, remedySave, "%s in the archive cannot be read: %s", ociIndex, plain(err))
	}
	images := map[v1.Hash]bool{}
	for _, d := range index.Manifests {
		if d.Platform == nil {
			images[d.Digest] = true
		}
	}
	if len(images) > 1 {
		return nil, severalImages(len(images))
	}
	for range maxNested {
		d, err := choose(index)
		if err != nil {
			return nil, err
		}
		text, err := a.blob(d.Digest)
		if err != nil {
			return nil, err
		}
		if d.MediaType.IsIndex() {
			if index, err = v1.ParseIndexManifest(bytes.NewReader(text)); err != nil {
				return nil, failed(BadFile, remedySave, "an index in the archive cannot be read: %s", plain(err))
			}
			continue
		}
		manifest, err := v1.ParseManifest(bytes.NewReader(text))
		if err != nil {
			return nil, failed(BadFile, remedySave, "the manifest in the archive cannot be read: %s", plain(err))
		}
		config, err := a.blob(manifest.Config.Digest)
		if err != nil {
			return nil, err
		}
		files := make([]string, len(manifest.Layers))
		for i, l := range manifest.Layers {
			files[i] = blobFile(l.Digest)
		}
		return a.image(config, files)
	}
	return nil, failed(BadFile, remedySave, "the indexes in the archive are nested more than %d times", maxNested)
}

func severalImages(n int) error {
	return failed(BadFile, "write an archive with one image", "the archive holds %d images", n)
}

func blobFile(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// blob returns a small blob of an image layout, and compares it with its digest.
func (a *archived) blob(h v1.Hash) ([]byte, error) {
	text, err := a.read(blobFile(h))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(text)); err != nil || got != h {
		return nil, failed(BadFile, remedySave, "the blob %s in the archive is damaged: its checksum is %s", h, got)
	}
	return text, nil
}

// ofDocker reads an archive of docker save.
func (a *archived) ofDocker() (*source, error) {
	text, err := a.read(dockerManifest)
	if err != nil {
		return nil, err
	}
	var images []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(text, &images); err != nil {
		return nil, failed(BadFile, remedySave, "%s in the archive cannot be read: %s", dockerManifest, plain(err))
	}
	if len(images) != 1 {
		return nil, severalImages(len(images))
	}
	config, err := a.read(images[0].Config)
	if err != nil {
		return nil, err
	}
	return a.image(config, images[0].Layers)
}

// image returns an image of a configuration and the files of its layers.
func (a *archived) image(text []byte, files []string) (*source, error) {
	config, err := v1.ParseConfigFile(bytes.NewReader(text))
	if err != nil {
		return nil, failed(BadFile, remedySave, "the configuration in the archive cannot be read: %s", plain(err))
	}
	if err := checkConfig(config, len(files)); err != nil {
		return nil, err
	}
	out := &source{config: config}
	for i, file := range files {
		l, err := a.layer(file, config.RootFS.DiffIDs[i])
		if err != nil {
			return nil, err
		}
		out.layers = append(out.layers, l)
	}
	return out, nil
}

// ofFile returns a fault of the file in place of one of the image: what an archive holds is up to the file.
func ofFile(err error) error {
	if f, is := errors.AsType[*fault](err); is && f.kind == BadImage {
		return &fault{BadFile, f.reason, strings.Replace(f.remedy, "build the image again", remedySave, 1)}
	}
	return err
}

// expandArchive writes the content of a compressed archive to another file.
func expandArchive(ctx context.Context, from io.Reader, path string) (*os.File, error) {
	content, err := decompress(from)
	if err != nil {
		return nil, failed(BadFile, remedySave, "the archive cannot be read: %s", err)
	}
	defer func() { _ = content.Close() }()
	to, err := os.Create(path) //nolint:gosec // in the folder of the pull
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyBuffer(onlyWriter{to}, &stoppable{content, ctx}, make([]byte, 1<<18)); err != nil {
		if f := judge(err); f.kind != Full && ctx.Err() == nil {
			err = failed(BadFile, remedySave, "the archive cannot be read: %s", err)
		}
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// stoppable ends with a context.
type stoppable struct {
	io.Reader

	ctx context.Context //nolint:containedctx // of the copy that the reader is made for
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fmt.Errorf("stopped: %w", err)
	}
	return s.Reader.Read(p)
}
