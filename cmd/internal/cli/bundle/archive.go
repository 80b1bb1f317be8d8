package bundle

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/redact"
)

// partLimit bounds the time for one part.
const partLimit = 45 * time.Second

// mostBytes bounds one part: a longer one is cut at its beginning, since the end of a log is the newest.
const mostBytes = 16 << 20

// file is a file of a bundle.
type file struct {
	Name   string `json:"name"`
	What   string `json:"content"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// left is what is not in a bundle.
type left struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// manifest describes a bundle.
type manifest struct {
	Host    string    `json:"host"`
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Files   []file    `json:"files"`
	Left    []left    `json:"left_out"`
}

// archive writes the file of a bundle.
type archive struct {
	folder   string
	at       time.Time
	zip      *gzip.Writer
	tar      *tar.Writer
	filter   *redact.Filter
	manifest manifest
	err      error // of the file: nothing more is written
}

func newArchive(w io.Writer, folder, host string, at time.Time) *archive {
	zip := gzip.NewWriter(w)
	return &archive{
		folder: folder, at: at, zip: zip, tar: tar.NewWriter(zip), filter: newFilter(),
		manifest: manifest{Host: host, Version: build.Version(), At: at, Files: []file{}, Left: []left{}},
	}
}

// add collects a part and writes it. Whatever goes wrong with the part is noted, and the others are written.
func (a *archive) add(ctx context.Context, p Part) {
	ctx, cancel := context.WithTimeout(ctx, partLimit)
	defer cancel()
	text, err := protected(ctx, p)
	switch {
	case err != nil:
		a.leave(p.Name, err.Error())
	case text == "":
		a.leave(p.Name, "it is empty")
	default:
		if !p.Raw {
			text = a.text(text)
		}
		a.put(p.Name, p.What, text)
	}
}

// protected collects a part; a defect of one part does not cost the others.
func protected(ctx context.Context, p Part) (text string, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			text, err = "", fmt.Errorf("a defect of this program: %v", reason)
		}
	}()
	return p.Collect(ctx)
}

// text returns a text, or its end, without secrets. Every text of a bundle, and each reason in the manifest, passes the filter here or in
// leave.
func (a *archive) text(text string) string {
	clean := a.filter.Text(text)
	if cut := len(clean) - mostBytes; cut > 0 {
		clean = fmt.Sprintf("(the first %d bytes are left out)\n", cut) + clean[cut:]
	}
	return clean
}

// put writes a file, and lists it in the manifest.
func (a *archive) put(name, what, content string) {
	sum := sha256.Sum256([]byte(content))
	a.manifest.Files = append(a.manifest.Files, file{Name: name, What: what, Bytes: len(content), SHA256: hex.EncodeToString(sum[:])})
	a.write(name, content)
}

// leave notes that something is not there.
func (a *archive) leave(what, why string) {
	a.manifest.Left = append(a.manifest.Left, left{what, a.filter.Text(why)})
}

func (a *archive) write(name, text string) {
	if a.err != nil {
		return
	}
	head := &tar.Header{Name: a.folder + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: a.at, Format: tar.FormatPAX}
	_, err := 0, a.tar.WriteHeader(head)
	if err == nil {
		_, err = io.WriteString(a.tar, text)
	}
	a.err = err
}

// close writes the manifest and ends the file.
func (a *archive) close() error {
	slices.SortFunc(a.manifest.Left, func(x, y left) int { return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Why, y.Why)) })
	text, err := document(&a.manifest)
	if err != nil {
		return err
	}
	a.write("manifest.json", text)
	return errors.Join(a.err, a.tar.Close(), a.zip.Close())
}

// document returns a value as JSON that people can read.
func document(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text) + "\n", err
}
