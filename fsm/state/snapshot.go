package state

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A snapshot is
//
//	magic, version (1 byte)
//	header frame
//	per table: number (1 byte), then one frame for each row in key order, then an empty frame
//	0 (1 byte)
//	SHA-256 of everything before it
//
// where a frame is a length (uvarint) and that many bytes of CBOR.
const (
	snapshotMagic   = "BERTHSNAP"
	snapshotVersion = 1
	maxFrame        = 1 << 20
)

// header leads a snapshot.
type header struct {
	Level       uint32            `cbor:"1,keyasint"` // the cluster's: what the rows mean
	Incarnation model.Incarnation `cbor:"2,keyasint"`
	Index       uint64            `cbor:"3,keyasint"`
	Term        uint64            `cbor:"4,keyasint"`
	Chain       model.Hash        `cbor:"5,keyasint"`
	Digest      model.Hash        `cbor:"6,keyasint"` // of the state that the rows must give
}

// ErrCorrupt means that a snapshot is not what was written.
var ErrCorrupt = errors.New("the snapshot is corrupt")

// WriteSnapshot writes the state. The state may be read meanwhile, and the
// cluster goes on.
func (s *State) WriteSnapshot(w io.Writer) error {
	out := newSnapshotWriter(w)
	set := s.Settings()
	out.bytes([]byte(snapshotMagic))
	out.bytes([]byte{snapshotVersion})
	out.frame(header{set.Level, set.Incarnation, s.Index, s.Term, s.digest.chain, s.Digest()})
	t := begin(s, Meta{})
	for _, cell := range t.list {
		number, _ := cell.info()
		out.bytes([]byte{number})
		for row := range cell.rows() {
			out.frame(row)
		}
		out.bytes([]byte{0}) // an empty frame
	}
	out.bytes([]byte{0}) // no further table
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("writing a snapshot: %w", out.err)
	}
	if _, err := w.Write(out.sum.Sum(nil)); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	return nil
}

type snapshotWriter struct {
	w   *bufio.Writer
	sum hash.Hash
	buf []byte
	err error
}

func newSnapshotWriter(w io.Writer) *snapshotWriter {
	out := &snapshotWriter{sum: sha256.New()}
	out.w = bufio.NewWriterSize(io.MultiWriter(w, out.sum), 1<<15)
	return out
}

func (o *snapshotWriter) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *snapshotWriter) frame(v any) {
	data, err := rows.plain.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.buf = binary.AppendUvarint(o.buf[:0], uint64(len(data)))
	o.bytes(o.buf)
	o.bytes(data)
}

// ReadSnapshot builds the state that a snapshot holds. It returns an error that
// wraps [ErrCorrupt] if the bytes are not what was written, and a
// *[command.UnknownError] if a newer program wrote them; the caller then keeps
// the state that it has.
func ReadSnapshot(r io.Reader) (State, error) {
	in := &snapshotReader{sum: sha256.New()}
	in.r = bufio.NewReaderSize(r, 1<<15)
	head := in.take(len(snapshotMagic) + 1)
	switch {
	case in.err != nil || string(head[:len(snapshotMagic)]) != snapshotMagic:
		return State{}, fmt.Errorf("%w: it does not begin as one", ErrCorrupt)
	case head[len(snapshotMagic)] != snapshotVersion:
		return State{}, &command.UnknownError{What: fmt.Sprintf("a snapshot of version %d", head[len(snapshotMagic)])}
	}
	var h header
	if err := in.row(&h); err != nil {
		return State{}, err
	}
	if h.Level > command.Level {
		return State{}, &command.UnknownError{What: fmt.Sprintf("a snapshot of feature level %d", h.Level)}
	}
	c := newCommit(digest{chain: h.Chain}, model.Hash{})
	t, err := in.tables(h, c)
	if err != nil {
		return State{}, err
	}
	if err := in.trailer(); err != nil {
		return State{}, err
	}
	s := t.close(c.digest)
	if s.Digest() != h.Digest {
		return State{}, fmt.Errorf("%w: its rows do not give its digest", ErrCorrupt)
	}
	return s, nil
}

type snapshotReader struct {
	r   *bufio.Reader
	sum hash.Hash
	buf []byte
	err error
}

// take reads n bytes, which are valid until the next call.
func (i *snapshotReader) take(n int) []byte {
	if cap(i.buf) < n {
		i.buf = make([]byte, n)
	}
	b := i.buf[:n]
	if i.err == nil {
		_, i.err = io.ReadFull(i.r, b)
	}
	if i.err != nil {
		clear(b)
		return b
	}
	i.sum.Write(b)
	return b
}

// frame reads one frame; it is empty at the end of a table.
func (i *snapshotReader) frame() ([]byte, error) {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := i.take(1)[0]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
		if shift > 28 {
			return nil, fmt.Errorf("%w: a frame's length", ErrCorrupt)
		}
	}
	if n > maxFrame {
		return nil, fmt.Errorf("%w: a frame of %d bytes", ErrCorrupt, n)
	}
	b := i.take(int(n))
	if i.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, i.err)
	}
	return b, nil
}

func (i *snapshotReader) row(v any) error {
	b, err := i.frame()
	if err != nil {
		return err
	}
	return decodeRow(b, v)
}

func decodeRow(b []byte, v any) error {
	if err := rows.dec.Unmarshal(b, v); err != nil {
		if isUnknownField(err) {
			return &command.UnknownError{What: fmt.Sprintf("a snapshot with a field of %T", v)}
		}
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

func (i *snapshotReader) tables(h header, c *commit) (*tx, error) {
	t := begin(&State{}, Meta{Index: h.Index, Term: h.Term})
	t.restoring = true
	cells := map[uint8]anyCell{}
	for _, cell := range t.list {
		number, _ := cell.info()
		cells[number] = cell
	}
	for {
		number := i.take(1)[0]
		if i.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, i.err)
		}
		if number == 0 {
			return t, nil
		}
		cell, known := cells[number]
		if !known {
			return nil, &command.UnknownError{What: fmt.Sprintf("a snapshot with table %d", number)}
		}
		if err := i.fill(cell, c); err != nil {
			return nil, err
		}
	}
}

func (i *snapshotReader) fill(cell anyCell, c *commit) error {
	for {
		b, err := i.frame()
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil
		}
		if err := cell.load(c, func(row any) error { return decodeRow(b, row) }); err != nil {
			return err
		}
	}
}

func (i *snapshotReader) trailer() error {
	want := i.sum.Sum(nil)
	got := i.take(sha256.Size)
	if i.err != nil || string(got) != string(want) {
		return fmt.Errorf("%w: its checksum does not match", ErrCorrupt)
	}
	if _, err := i.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("%w: something follows it", ErrCorrupt)
	}
	return nil
}
