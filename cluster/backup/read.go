package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
)

// Backup is what a file holds.
type Backup struct {
	Description Description
	State       state.State
	Archive     string // path of the archive's copy; empty: the backup has none
	Signed      bool   // by the peer that the description names, with a certificate of the described authority

	signer *x509.Certificate // of the signature; nil: there is none
	keys   []byte            // sealed; empty: there are none
}

// Bounds of parts that are held in memory.
const (
	maxKeys   = 1 << 20
	maxWindow = 64 << 20 // of the decoder
)

// Read reads a backup and checks all of it: the hash of every part, the state's checksum, digest and invariants, and that
// the description is that of the state, and the signature, if there is one. The archive is written into a folder, or only checked against
// its hash if dir is empty. Errors wrap [ErrDamaged], or are a *[NewerError].
func Read(r io.Reader, dir string) (*Backup, error) {
	b := &Backup{}
	if err := b.read(r, func(in *reader, name string) error {
		if name == partState {
			return in.state(b)
		}
		return in.archive(b, dir)
	}); err != nil {
		return nil, err
	}
	return b, b.complete()
}

// ofCluster returns why a file is no whole backup that a peer of this cluster has signed, by the authorities that the cluster trusts.
// Unlike [Read], this needs no more memory than a part of the file: what was read as a whole by the peer that has made the file is the same
// as long as its hashes are.
func ofCluster(r io.Reader, authorities []*x509.Certificate) error {
	b := &Backup{}
	if err := b.read(r, func(*reader, string) error { return nil }); err != nil {
		return err
	}
	if !b.Signed {
		return ErrUnsigned
	}
	if err := b.Description.isOf(b.signer, authorities); err != nil {
		return fmt.Errorf("the backup is not signed by a peer of this cluster: %w", err)
	}
	return nil
}

// read reads the parts of a backup, compares their hashes, and checks the signature. large takes those parts that are large, as far as it
// needs them.
func (b *Backup) read(r io.Reader, large func(in *reader, name string) error) error {
	in, err := newReader(r)
	if err != nil {
		return err
	}
	defer in.zip.Close()
	d, err := in.description()
	if err != nil {
		return err
	}
	b.Description = *d
	for {
		h, err := in.header()
		if err != nil {
			return err
		}
		switch name := h.Name; name {
		case partState, partArchive:
			err = large(in, name)
		case partKeys:
			b.keys, err = in.all(maxKeys)
		case partSums:
			_, b.signer, err = in.sums(d)
			b.Signed = b.signer != nil
			return err
		default:
			return &NewerError{fmt.Sprintf("the backup has a part %.100q, which this program does not know", name)}
		}
		if err != nil {
			return err
		}
		if err := in.done(h.Name); err != nil {
			return err
		}
	}
}

// Describe reads only what a backup says of itself.
func Describe(r io.Reader) (*Description, error) {
	in, err := newReader(r)
	if err != nil {
		return nil, err
	}
	defer in.zip.Close()
	return in.description()
}

// reader reads the parts of a backup, and hashes them.
type reader struct {
	zip  *zstd.Decoder
	tar  *tar.Reader
	sum  hash.Hash
	rest io.Reader // of the present part, hashed
	seen bytes.Buffer
	had  []string
}

func newReader(r io.Reader) (*reader, error) {
	zip, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return &reader{zip: zip, tar: tar.NewReader(zip)}, nil
}

// header begins the next part.
func (in *reader) header() (*tar.Header, error) {
	h, err := in.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, damaged("the file ends before its last part, %s", partSums)
	case err != nil:
		return nil, damaged("%v", err)
	case h.Typeflag != tar.TypeReg, slices.Contains(in.had, h.Name):
		return nil, damaged("part %.100q is no file, or there twice", h.Name)
	}
	in.had = append(in.had, h.Name)
	in.sum = sha256.New()
	in.rest = io.TeeReader(&part{in.tar, h.Name}, in.sum)
	return h, nil
}

// part is the content of a part. All its errors say that the backup is damaged.
type part struct {
	io.Reader

	name string
}

func (p *part) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = damaged("%s: %v", p.name, err)
	}
	return n, err
}

// done notes the hash of a part, after the rest of it.
func (in *reader) done(name string) error {
	if _, err := io.Copy(io.Discard, in.rest); err != nil {
		return err
	}
	fmt.Fprintf(&in.seen, "%x  %s\n", in.sum.Sum(nil), name)
	return nil
}

// all returns a part that is small.
func (in *reader) all(most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in.rest, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > most:
		return nil, damaged("%s has more than %d bytes", in.had[len(in.had)-1], most)
	}
	return text, nil
}

func (in *reader) description() (*Description, error) {
	h, err := in.header()
	if err != nil {
		return nil, err
	}
	if h.Name != partDescription {
		return nil, damaged("the first part is %.100q in place of %s: it is no backup, or was packed again in another order", h.Name, partDescription)
	}
	text, err := in.all(MaxDescription)
	if err != nil {
		return nil, err
	}
	d, err := parseDescription(text)
	if err != nil {
		return nil, err
	}
	if d.Level > command.Level {
		return nil, &NewerError{fmt.Sprintf("the backup has feature level %d, written by version %.100q, and this program knows up to %d", d.Level, d.Version, command.Level)}
	}
	return d, in.done(h.Name)
}

func (in *reader) state(b *Backup) error {
	s, err := snapshot.Read(in.rest)
	if newer, is := errors.AsType[*command.UnknownError](err); is {
		return &NewerError{newer.Error()}
	}
	switch {
	case errors.Is(err, ErrDamaged):
		return err
	case err != nil:
		return damaged("%s: %v", partState, err)
	}
	b.State = s
	return nil
}

func (in *reader) archive(b *Backup, dir string) (err error) {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, partArchive)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the caller names the folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, in.rest); err != nil { // its own errors name the part
		return err
	}
	b.Archive = path
	return f.Sync()
}

// sums compares the hashes of all parts with those in the file, checks the signature over them, and looks for anything behind. It returns
// the part with the signature, and the certificate of the peer that has signed; nil: there is none.
func (in *reader) sums(d *Description) (signature []byte, signer *x509.Certificate, err error) {
	text, err := in.all(MaxDescription)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(text, in.seen.Bytes()) {
		return nil, nil, damaged("its parts do not have the hashes of %s", partSums)
	}
	h, err := in.tar.Next()
	if err == nil && h.Name == partSignature && h.Typeflag == tar.TypeReg {
		in.rest = &part{in.tar, partSignature}
		in.had = append(in.had, partSignature)
		if signature, err = in.all(MaxDescription); err == nil {
			signer, err = d.verify(text, signature)
		}
		if err != nil {
			return nil, nil, err
		}
		h, err = in.tar.Next()
	}
	switch {
	case err == nil:
		return nil, nil, damaged("part %.100q follows %s", h.Name, in.had[len(in.had)-1])
	case !errors.Is(err, io.EOF):
		return nil, nil, damaged("%v", err)
	}
	return signature, signer, in.padding()
}

// maxPadding bounds the zeros with which a program fills the last record of a tar file, in bytes.
const maxPadding = 1 << 20

// padding reads the rest of the file, which also checks the checksum of zstd. A file that another program has packed again ends with zeros.
func (in *reader) padding() error {
	rest, err := io.ReadAll(io.LimitReader(in.zip, maxPadding+1))
	switch {
	case err != nil:
		return damaged("%v", err)
	case len(rest) > maxPadding, len(bytes.Trim(rest, "\x00")) > 0:
		return damaged("%d bytes or more follow its last part", len(rest))
	}
	return nil
}

// complete returns why the parts do not belong together, or break invariants.
func (b *Backup) complete() error {
	d, s := &b.Description, &b.State
	set, digest := s.Settings(), s.Digest()
	switch {
	case s.Index == 0:
		return damaged("there is no part %s", partState)
	case s.Index != d.Index, set.Level != d.Level, hex.EncodeToString(digest[:]) != d.Digest,
		hex.EncodeToString(set.Incarnation[:]) != d.Incarnation:
		return damaged("%s describes another state than that in the file", partDescription)
	case len(d.Keys) > 0 != (len(b.keys) > 0):
		return damaged("%s and the parts differ on whether there are keys", partDescription)
	}
	if err := check.State(s); err != nil {
		return damaged("the state at index %d breaks invariants; report this defect:\n%v", s.Index, err)
	}
	return nil
}
