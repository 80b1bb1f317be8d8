package state

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

// digest is what peers compare: a chain over every entry, the rows that it wrote and its results, and for
// each table the sum of its rows' hashes. The chain shows that two histories differ, the sums that two
// contents do; a sum can be recomputed from the rows alone.
type digest struct {
	chain model.Hash
	sums  [maxTable + 1]sum // by table number
}

// maxTable is the greatest number that a table can have. Digests cover the sums of
// all numbers, so that a further table changes no digest as long as it is empty.
const maxTable = 47

// sum adds up SHA-256 hashes, word by word: the order of the rows does not
// matter, and a row can be taken out again.
type sum [4]uint64

func (s *sum) add(h *model.Hash) {
	for i := range s {
		s[i] += binary.LittleEndian.Uint64(h[i*8:])
	}
}

func (s *sum) remove(h *model.Hash) {
	for i := range s {
		s[i] -= binary.LittleEndian.Uint64(h[i*8:])
	}
}

// less subtracts another sum.
func (s *sum) less(o *sum) {
	for i := range s {
		s[i] -= o[i]
	}
}

func (d *digest) total() model.Hash {
	h := sha256.New()
	h.Write(d.chain[:])
	var b [8]byte
	for _, s := range d.sums {
		for _, word := range s {
			binary.LittleEndian.PutUint64(b[:], word)
			h.Write(b[:])
		}
	}
	return model.Hash(h.Sum(nil))
}

// Digest returns a value that is equal on two peers exactly when they have applied the same entries with the
// same outcome.
func (s *State) Digest() model.Hash { return s.digest.total() }

// rowModes writes and reads rows. Encoding reuses buffers, hence its own mode.
type rowModes struct {
	enc   cbor.UserBufferEncMode
	plain cbor.EncMode
	dec   cbor.DecMode
	some  cbor.DecMode // leaves out what it does not know
}

var rows = newRowModes()

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

func isUnknownField(err error) bool {
	_, is := errors.AsType[*cbor.UnknownFieldError](err)
	return is
}

// commit collects a transaction's changes.
type commit struct {
	digest digest
	wakes  model.TopicSet
	chain  hash.Hash
	buf    bytes.Buffer
}

func newCommit(d digest, entry model.Hash) *commit {
	c := &commit{digest: d, chain: sha256.New()}
	c.chain.Write(d.chain[:])
	c.chain.Write(entry[:])
	return c
}

func (c *commit) add(table uint8, row any) {
	h := c.hash(table, row)
	c.digest.sums[table].add(&h)
	c.chain.Write(h[:])
}

func (c *commit) remove(table uint8, row any) {
	h := c.hash(table, row)
	c.digest.sums[table].remove(&h)
}

func (c *commit) hash(table uint8, row any) model.Hash {
	c.buf.Reset()
	c.buf.WriteByte(table)
	if err := rows.enc.MarshalToBuffer(row, &c.buf); err != nil {
		// A row is a plain struct, so this cannot be; were it, every peer would
		// digest the same bytes.
		c.buf.WriteString(err.Error())
	}
	return sha256.Sum256(c.buf.Bytes())
}

// seal ends the chain's link with the results.
func (c *commit) seal(results []command.Result) digest {
	c.buf.Reset()
	if err := rows.enc.MarshalToBuffer(results, &c.buf); err != nil {
		c.buf.WriteString(err.Error())
	}
	c.chain.Write(c.buf.Bytes())
	c.digest.chain = model.Hash(c.chain.Sum(nil))
	return c.digest
}
