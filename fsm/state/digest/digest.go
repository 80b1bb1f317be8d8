package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Digest is what peers compare: a chain over every entry, the rows that it wrote and its results, and for
// each table the sum of its rows' hashes. The chain shows that two histories differ, the sums that two
// contents do; a sum can be recomputed from the rows alone.
type Digest struct {
	Chain model.Hash
	Sums  [MaxTable + 1]Sum // by table number
}

// MaxTable is the greatest number that a table can have. Digests cover the sums of
// all numbers, so that a further table changes no digest as long as it is empty.
const MaxTable = 47

// Sum adds up SHA-256 hashes, word by word: the order of the rows does not
// matter, and a row can be taken out again.
type Sum [4]uint64

func (s *Sum) add(h *model.Hash) {
	for i := range s {
		s[i] += binary.LittleEndian.Uint64(h[i*8:])
	}
}

func (s *Sum) remove(h *model.Hash) {
	for i := range s {
		s[i] -= binary.LittleEndian.Uint64(h[i*8:])
	}
}

// Less subtracts another sum.
func (s *Sum) Less(o *Sum) {
	for i := range s {
		s[i] -= o[i]
	}
}

// Total returns the digest as one hash.
func (d *Digest) Total() model.Hash {
	h := sha256.New()
	h.Write(d.Chain[:])
	var b [8]byte
	for _, s := range d.Sums {
		for _, word := range s {
			binary.LittleEndian.PutUint64(b[:], word)
			h.Write(b[:])
		}
	}
	return model.Hash(h.Sum(nil))
}

// rowModes writes and reads rows. Encoding reuses buffers, hence its own mode.
type rowModes struct {
	enc   cbor.UserBufferEncMode
	Plain cbor.EncMode
	Dec   cbor.DecMode
	Some  cbor.DecMode // leaves out what it does not know
}

// Rows is how rows are encoded.
var Rows = newRowModes()

func newRowModes() rowModes {
	enc, encErr := cbor.CoreDetEncOptions().UserBufferEncMode()
	plain, plainErr := cbor.CoreDetEncOptions().EncMode()
	strict := cbor.DecOptions{
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, DupMapKey: cbor.DupMapKeyEnforcedAPF,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
	}
	dec, decErr := strict.DecMode()
	strict.ExtraReturnErrors = cbor.ExtraDecErrorNone
	some, someErr := strict.DecMode()
	if encErr != nil || plainErr != nil || decErr != nil || someErr != nil {
		return rowModes{} // fixed options: a test shows that all modes exist
	}
	return rowModes{enc, plain, dec, some}
}

// IsUnknownField reports whether a row could not be decoded because it has a field of a newer program.
func IsUnknownField(err error) bool {
	_, is := errors.AsType[*cbor.UnknownFieldError](err)
	return is
}

// Commit collects a transaction's changes.
type Commit struct {
	Digest Digest
	Wakes  model.TopicSet
	chain  hash.Hash
	buf    bytes.Buffer
}

// NewCommit begins the digest of an entry after the digest d; entry is the hash of the entry's bytes.
func NewCommit(d Digest, entry model.Hash) *Commit {
	c := &Commit{Digest: d, chain: sha256.New()}
	c.chain.Write(d.Chain[:])
	c.chain.Write(entry[:])
	return c
}

// Add adds a row to the sum of its table and to the chain.
func (c *Commit) Add(table uint8, row any) {
	h := c.hash(table, row)
	c.Digest.Sums[table].add(&h)
	c.chain.Write(h[:])
}

// Remove takes a row out of the sum of its table.
func (c *Commit) Remove(table uint8, row any) {
	h := c.hash(table, row)
	c.Digest.Sums[table].remove(&h)
}

func (c *Commit) hash(table uint8, row any) model.Hash {
	c.buf.Reset()
	c.buf.WriteByte(table)
	if err := Rows.enc.MarshalToBuffer(row, &c.buf); err != nil {
		// A row is a plain struct, so this cannot be; were it, every peer would
		// digest the same bytes.
		c.buf.WriteString(err.Error())
	}
	return sha256.Sum256(c.buf.Bytes())
}

// Seal ends the chain's link with the results.
func (c *Commit) Seal(results []command.Result) Digest {
	c.buf.Reset()
	if err := Rows.enc.MarshalToBuffer(results, &c.buf); err != nil {
		c.buf.WriteString(err.Error())
	}
	c.chain.Write(c.buf.Bytes())
	c.Digest.Chain = model.Hash(c.chain.Sum(nil))
	return c.Digest
}
