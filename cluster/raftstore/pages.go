package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// span is a page still to be visited, and the keys that it may hold:
// low <= key < high, nil meaning no bound.
type span struct {
	page      uint64
	depth     int
	inline    bool // kept in the value of a bucket's entry
	low, high []byte
}

// verifier walks the pages of one file.
type verifier struct {
	f        io.ReaderAt
	pageSize int64
	pages    uint64
	seen     []uint64 // a bit for each page
	todo     []span
}

func (v *verifier) push(s span) { v.todo = append(v.todo, s) }

// visit checks one page and queues the pages that it points to.
func (v *verifier) visit(s span) error {
	if s.page < 2 || s.page >= v.pages {
		return fmt.Errorf("it is outside the %d pages of the file", v.pages)
	}
	if s.depth > boltMaxDepth {
		return errors.New("the tree is too deep")
	}
	b, err := v.read(s.page)
	if err != nil {
		return err
	}
	switch flags := binary.NativeEndian.Uint16(b[8:]); flags {
	case flagBranch:
		return v.branch(s, b)
	case flagLeaf:
		return v.leaf(s, b)
	default:
		return fmt.Errorf("it is neither branch nor leaf (flags %#x)", flags)
	}
}

// read returns a page with its overflow pages and marks them all as seen.
func (v *verifier) read(page uint64) ([]byte, error) {
	b := make([]byte, v.pageSize)
	offset := int64(page) * v.pageSize
	if _, err := v.f.ReadAt(b, offset); err != nil {
		return nil, err
	}
	if id := binary.NativeEndian.Uint64(b); id != page {
		return nil, fmt.Errorf("it calls itself page %d", id)
	}
	extra := uint64(binary.NativeEndian.Uint32(b[12:]))
	if page+extra >= v.pages {
		return nil, fmt.Errorf("its %d overflow pages end outside the file", extra)
	}
	for id := page; id <= page+extra; id++ {
		if v.seen[id/64]&(1<<(id%64)) != 0 {
			return nil, fmt.Errorf("page %d is used twice", id)
		}
		v.seen[id/64] |= 1 << (id % 64)
	}
	if extra == 0 {
		return b, nil
	}
	b = make([]byte, int64(extra+1)*v.pageSize)
	_, err := v.f.ReadAt(b, offset)
	return b, err
}

// branch checks a branch page: keys in order, each with a child.
func (v *verifier) branch(s span, b []byte) error {
	elems, err := elements(b, branchElemSize)
	if err != nil {
		return err
	}
	if len(elems) == 0 {
		return errors.New("it is a branch without children")
	}
	ne := binary.NativeEndian
	children := make([]span, len(elems))
	for i, e := range elems {
		key, err := field(b, e.at, ne.Uint32(e.raw), ne.Uint32(e.raw[4:]))
		if err != nil {
			return err
		}
		children[i] = span{page: ne.Uint64(e.raw[8:]), depth: s.depth + 1, low: key, high: s.high}
		if i > 0 {
			children[i-1].high = key
		}
		if err := inOrder(s, children, i); err != nil {
			return err
		}
	}
	v.todo = append(v.todo, children...)
	return nil
}

// inOrder checks child i's key against its neighbour and the page's bounds.
func inOrder(s span, children []span, i int) error {
	key := children[i].low
	if i > 0 && bytes.Compare(children[i-1].low, key) >= 0 {
		return errors.New("its keys are out of order")
	}
	return s.holds(key)
}

// holds checks that key belongs under the page that s describes.
func (s span) holds(key []byte) error {
	if s.low != nil && bytes.Compare(key, s.low) < 0 || s.high != nil && bytes.Compare(key, s.high) >= 0 {
		return errors.New("it holds a key that belongs elsewhere")
	}
	return nil
}

// leaf checks a leaf page: keys in order, values inside, buckets followed.
func (v *verifier) leaf(s span, b []byte) error {
	elems, err := elements(b, leafElemSize)
	if err != nil {
		return err
	}
	ne := binary.NativeEndian
	var last []byte
	for i, e := range elems {
		flags, pos, ksize, vsize := ne.Uint32(e.raw), ne.Uint32(e.raw[4:]), ne.Uint32(e.raw[8:]), ne.Uint32(e.raw[12:])
		key, err := field(b, e.at, pos, ksize)
		if err != nil {
			return err
		}
		value, err := field(b, e.at+uint64(ksize), pos, vsize)
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return errors.New("its keys are out of order")
		}
		if err := s.holds(key); err != nil {
			return err
		}
		last = key
		if flags&flagBucketLeaf != 0 {
			if err := v.bucket(s, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket follows a nested bucket to its root page, or into its own value when
// it is small enough to be kept there. Such a bucket holds no further ones.
func (v *verifier) bucket(s span, value []byte) error {
	if s.inline {
		return errors.New("it holds a bucket inside an inline bucket")
	}
	if len(value) < bucketValueSize {
		return errors.New("it holds a bucket without a root")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		v.push(span{page: root, depth: s.depth + 1})
		return nil
	}
	inline := value[bucketValueSize:]
	if len(inline) < pageHeaderSize || binary.NativeEndian.Uint16(inline[8:]) != flagLeaf {
		return errors.New("it holds an inline bucket that is no leaf")
	}
	return v.leaf(span{inline: true}, inline)
}

// element is one entry of a page's table and its offset in the page.
type element struct {
	at  uint64
	raw []byte
}

// elements returns the table of a page with elements of the given size.
func elements(b []byte, size uint64) ([]element, error) {
	count := uint64(binary.NativeEndian.Uint16(b[10:]))
	if pageHeaderSize+count*size > uint64(len(b)) {
		return nil, fmt.Errorf("its %d elements do not fit", count)
	}
	table := make([]element, count)
	for i := range table {
		at := pageHeaderSize + uint64(i)*size
		table[i] = element{at: at, raw: b[at : at+size]}
	}
	return table, nil
}

// field returns the bytes of a key or value, which lie pos after an offset.
func field(b []byte, at uint64, pos, size uint32) ([]byte, error) {
	from := at + uint64(pos)
	to := from + uint64(size)
	if to > uint64(len(b)) {
		return nil, errors.New("a key or value reaches outside of it")
	}
	return b[from:to], nil
}
