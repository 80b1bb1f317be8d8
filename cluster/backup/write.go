package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/trust"
)

// Archive is the archive of a peer.
type Archive interface {
	// Copy passes the size of the file, and its content as of one moment.
	Copy(write func(size int64, content io.Reader) error) error
}

// Source is a cluster as one peer has it.
type Source struct {
	State      *state.State
	Archive    Archive // nil: none
	ArchivedTo uint64  // see [Description]
	Peer       string
	Version    string
	Now        time.Time

	Cluster string
	Trust   *trust.Material // certificates and generation, and the key of the peer, which signs
	Secrets *trust.Secrets  // all that the machine has; they are sealed, or left out
}

// Describe returns the description of the backup of a source.
func (s *Source) Describe(to *Seal) *Description {
	set := s.State.Settings()
	d := &Description{
		Format: Format, Cluster: s.Cluster, Name: set.Defaults.Name, Peer: s.Peer, Version: s.Version, Made: s.Now.UTC().Truncate(time.Second),
		Level: set.Level, Incarnation: hex.EncodeToString(set.Incarnation[:]), Index: s.State.Index, Term: s.State.Term,
		Jobs: s.State.Jobs.Len(), Nodes: s.State.Nodes.Len(), GPUs: s.State.GPUs.Len(), Keys: to.names,
	}
	digest := s.State.Digest()
	d.Digest = hex.EncodeToString(digest[:])
	if s.Archive != nil {
		d.ArchivedTo = s.ArchivedTo
	}
	d.setBundle(s.Trust)
	return d
}

// Write writes a backup. The state is a value, so the peer goes on meanwhile; only a few megabytes are held in memory.
func Write(w io.Writer, s *Source, to *Seal) error {
	out, err := newWriter(w, s.Now)
	if err != nil {
		return err
	}
	d := s.Describe(to)
	description, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := out.bytes(partDescription, append(description, '\n')); err != nil {
		return err
	}
	var size counter
	if err := snapshot.Write(s.State, &size); err != nil {
		return err
	}
	if err := out.part(partState, int64(size), func(w io.Writer) error { return snapshot.Write(s.State, w) }); err != nil {
		return err
	}
	if s.Archive != nil {
		err := s.Archive.Copy(func(size int64, content io.Reader) error {
			return out.part(partArchive, size, func(w io.Writer) error {
				_, err := io.Copy(w, content)
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("copying the archive: %w", err)
		}
	}
	if !to.None() {
		keys, err := to.seal(s.Secrets)
		if err != nil {
			return err
		}
		if err := out.bytes(partKeys, keys); err != nil {
			return err
		}
	}
	return out.end(func(sums []byte) ([]byte, error) { return d.sign(s.Trust, sums) })
}

// counter counts what is written.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// writer writes the parts of a backup.
type writer struct {
	zip  *zstd.Encoder
	tar  *tar.Writer
	made time.Time
	sums bytes.Buffer
}

func newWriter(w io.Writer, made time.Time) (*writer, error) {
	zip, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &writer{zip: zip, tar: tar.NewWriter(zip), made: made.UTC().Truncate(time.Second)}, nil
}

func (o *writer) bytes(name string, content []byte) error {
	return o.part(name, int64(len(content)), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// part writes one part, of a size in bytes.
func (o *writer) part(name string, size int64, content func(io.Writer) error) error {
	sum := sha256.New()
	if err := o.header(name, size); err != nil {
		return err
	}
	if err := content(io.MultiWriter(o.tar, sum)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	o.note(name, sum)
	return nil
}

func (o *writer) header(name string, size int64) error {
	return o.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: o.made, Format: tar.FormatPAX})
}

func (o *writer) note(name string, sum hash.Hash) {
	fmt.Fprintf(&o.sums, "%x  %s\n", sum.Sum(nil), name)
}

// end writes the hashes, without which a file is incomplete, and the signature over them.
func (o *writer) end(sign func(sums []byte) ([]byte, error)) error {
	sums := bytes.Clone(o.sums.Bytes())
	if err := o.bytes(partSums, sums); err != nil {
		return err
	}
	text, err := sign(sums)
	if err != nil {
		return err
	}
	if len(text) > 0 {
		if err := o.bytes(partSignature, text); err != nil {
			return err
		}
	}
	if err := o.tar.Close(); err != nil {
		return err
	}
	return o.zip.Close()
}
