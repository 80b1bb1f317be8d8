package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/tx"
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
	magic    = "BERTHSNAP"
	version  = 1
	maxFrame = 1 << 20
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

// Write writes the state. The state may be read meanwhile, and the
// cluster goes on.
func Write(s *state.State, w io.Writer) error {
	out := newWriter(w)
	set := s.Settings()
	out.bytes([]byte(magic))
	out.bytes([]byte{version})
	out.frame(header{set.Level, set.Incarnation, s.Index, s.Term, s.Fingerprint.Chain, s.Digest()})
	t := tx.Begin(s, state.Meta{})
	for _, cell := range t.List {
		number, _ := cell.Info()
		out.bytes([]byte{number})
		for row := range cell.Rows() {
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

type writer struct {
	w   *bufio.Writer
	sum hash.Hash
	buf []byte
	err error
}

func newWriter(w io.Writer) *writer {
	out := &writer{sum: sha256.New()}
	out.w = bufio.NewWriterSize(io.MultiWriter(w, out.sum), 1<<15)
	return out
}

func (o *writer) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *writer) frame(v any) {
	data, err := digest.Rows.Plain.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.buf = binary.AppendUvarint(o.buf[:0], uint64(len(data)))
	o.bytes(o.buf)
	o.bytes(data)
}

// Read builds the state that a snapshot holds. It returns an error that
// wraps [ErrCorrupt] if the bytes are not what was written, and a
// *[command.UnknownError] if a newer program wrote them; the caller then keeps
// the state that it has.
func Read(r io.Reader) (state.State, error) {
	in := &reader{sum: sha256.New()}
	in.r = bufio.NewReaderSize(r, 1<<15)
	head := in.take(len(magic) + 1)
	switch {
	case in.err != nil || string(head[:len(magic)]) != magic:
		return state.State{}, fmt.Errorf("%w: it does not begin as one", state.ErrCorrupt)
	case head[len(magic)] != version:
		return state.State{}, &command.UnknownError{What: fmt.Sprintf("a snapshot of version %d", head[len(magic)])}
	}
	var h header
	if err := in.row(&h); err != nil {
		return state.State{}, err
	}
	if h.Level > command.Level {
		return state.State{}, &command.UnknownError{What: fmt.Sprintf("a snapshot of feature level %d", h.Level)}
	}
	c := digest.NewCommit(digest.Digest{Chain: h.Chain}, model.Hash{})
	t, err := in.tables(h, c)
	if err != nil {
		return state.State{}, err
	}
	if err := in.trailer(); err != nil {
		return state.State{}, err
	}
	s := t.Close(c.Digest)
	if s.Digest() != h.Digest {
		return state.State{}, fmt.Errorf("%w: its rows do not give its digest", state.ErrCorrupt)
	}
	return s, nil
}

type reader struct {
	r   *bufio.Reader
	sum hash.Hash
	buf []byte
	err error
}

// take reads n bytes, which are valid until the next call.
func (i *reader) take(n int) []byte {
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
func (i *reader) frame() ([]byte, error) {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := i.take(1)[0]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
		if shift > 28 {
			return nil, fmt.Errorf("%w: a frame's length", state.ErrCorrupt)
		}
	}
	if n > maxFrame {
		return nil, fmt.Errorf("%w: a frame of %d bytes", state.ErrCorrupt, n)
	}
	b := i.take(int(n))
	if i.err != nil {
		return nil, fmt.Errorf("%w: %w", state.ErrCorrupt, i.err)
	}
	return b, nil
}

func (i *reader) row(v any) error {
	b, err := i.frame()
	if err != nil {
		return err
	}
	return decodeRow(b, v)
}

func decodeRow(b []byte, v any) error {
	if err := digest.Rows.Dec.Unmarshal(b, v); err != nil {
		if digest.IsUnknownField(err) {
			return &command.UnknownError{What: fmt.Sprintf("a snapshot with a field of %T", v)}
		}
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	return nil
}

func (i *reader) tables(h header, c *digest.Commit) (*tx.Tx, error) {
	t := tx.Begin(&state.State{}, state.Meta{Index: h.Index, Term: h.Term})
	t.Restoring = true
	cells := map[uint8]tx.AnyCell{}
	for _, cell := range t.List {
		number, _ := cell.Info()
		cells[number] = cell
	}
	for {
		number := i.take(1)[0]
		if i.err != nil {
			return nil, fmt.Errorf("%w: %w", state.ErrCorrupt, i.err)
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

func (i *reader) fill(cell tx.AnyCell, c *digest.Commit) error {
	for {
		b, err := i.frame()
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil
		}
		if err := cell.Load(c, func(row any) error { return decodeRow(b, row) }); err != nil {
			return err
		}
	}
}

func (i *reader) trailer() error {
	want := i.sum.Sum(nil)
	got := i.take(sha256.Size)
	if i.err != nil || string(got) != string(want) {
		return fmt.Errorf("%w: its checksum does not match", state.ErrCorrupt)
	}
	if _, err := i.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("%w: something follows it", state.ErrCorrupt)
	}
	return nil
}
