package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	path string
	mode int64
}

// archive packs the programs of a folder with documents and units.
func (r *release) archive(arch, bin string) error {
	base := "berth_" + r.version.file() + "_linux_" + arch
	var list []entry
	add := func(mode int64, name, path string) { list = append(list, entry{base + "/" + name, path, mode}) }
	for _, file := range []string{"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"} {
		add(0o644, file, file)
	}
	add(0o644, notices, filepath.Join(r.out, notices))
	for _, p := range programs() {
		add(0o755, "bin/"+p.name, filepath.Join(bin, p.name))
	}
	trees := map[string]string{"docs": "docs", "deploy": "deploy", "share/man": filepath.Join(r.work, "manual", "man"), "share/completions": filepath.Join(r.work, "manual", "completions")}
	for _, at := range []string{"deploy", "docs", "share/completions", "share/man"} {
		err := filepath.WalkDir(trees[at], func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			mode := int64(0o644)
			if info.Mode()&0o111 != 0 {
				mode = 0o755
			}
			add(mode, at+strings.TrimPrefix(path, trees[at]), path)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(r.out, base+".tar.gz"), func(to io.Writer) error { return pack(to, list, r.version.time) })
}

// pack writes a tar archive, compressed. Its bytes depend on the files alone, not on their owners and times.
func pack(to io.Writer, list []entry, at time.Time) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	for _, e := range list {
		text, err := os.ReadFile(e.path)
		if err != nil {
			return err
		}
		head := &tar.Header{Format: tar.FormatPAX, Name: e.name, Mode: e.mode, Size: int64(len(text)), ModTime: at, Uname: "root", Gname: "root"}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}

// compressed returns a text as gzip -9n writes it.
func compressed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = packed.Write(text)
	err = errors.Join(err, packed.Close())
	return out.Bytes(), err
}

// writeFile writes a file by a function.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
