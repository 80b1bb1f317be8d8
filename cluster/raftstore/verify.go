package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// The layout of a bbolt file, version 2. Numbers are in the machine's order.
const (
	boltMagic       = 0xED0CDAED
	boltVersion     = 2
	boltMaxDepth    = 64
	boltMinPage     = 1 << 10
	boltMaxPage     = 1 << 24
	pageHeaderSize  = 16
	branchElemSize  = 16
	leafElemSize    = 16
	bucketValueSize = 16
	metaSize        = 64

	flagBranch     = 0x01
	flagLeaf       = 0x02
	flagBucketLeaf = 0x01
)

// verifyFile reads the tree of a bbolt file and returns its damage.
//
// bbolt's own check cannot be used: without a synced freelist its Open walks the tree and reports damage by a
// panic in a goroutine of its own, and in a file that ends too early it dies by SIGBUS; neither can be
// recovered. This walk checks all that bbolt's relies on, by plain reads that cannot fail so. An absent or
// empty file is fine here: it has nothing to be broken.
func verifyFile(path string) (err error) {
	f, err := os.Open(path) //nolint:gosec // the path is the operator's data folder
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusable(path, "cannot open the raft log", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A file that another process writes to looks broken; bbolt's own lock is the same.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return busy(path)
	}
	if err != nil {
		return unusable(path, "cannot lock the raft log", err)
	}
	st, err := f.Stat()
	if err != nil {
		return unusable(path, "cannot look at the raft log", err)
	}
	if st.Size() == 0 {
		return nil
	}
	return judgeTree(path, f, st.Size())
}

// judgeTree checks a file, and tells damage from what the disk cannot read.
func judgeTree(path string, f io.ReaderAt, size int64) error {
	pages := &attentive{ReaderAt: f}
	err := verifyTree(pages, size)
	switch {
	case pages.failed != nil:
		return unreadable(path, pages.failed)
	case err != nil:
		return corrupt(path, "the raft log is damaged", err)
	}
	return nil
}

// verifyTree checks every page that can be reached in a file of size bytes.
func verifyTree(f io.ReaderAt, size int64) error {
	m, err := findMeta(f, size)
	if err != nil {
		return err
	}
	if int64(m.pages) > size/m.pageSize {
		return fmt.Errorf("it is cut off: it should have %d pages of %d bytes and has %d bytes", m.pages, m.pageSize, size)
	}
	v := verifier{f: f, pageSize: m.pageSize, pages: m.pages, seen: make([]uint64, m.pages/64+1)}
	v.push(span{page: m.root})
	for len(v.todo) > 0 {
		next := v.todo[len(v.todo)-1]
		v.todo = v.todo[:len(v.todo)-1]
		if err := v.visit(next); err != nil {
			return fmt.Errorf("page %d: %w", next.page, err)
		}
	}
	return nil
}

// meta is what the walk needs of bbolt's meta page.
type meta struct {
	pageSize int64
	root     uint64 // page of the top bucket
	pages    uint64 // pages in use, from 0
	tx       uint64 // the transaction that wrote it
}

// findMeta returns the newer of the two meta pages, as bbolt chooses it.
func findMeta(f io.ReaderAt, size int64) (meta, error) {
	best, ok := readMeta(f, 0, size)
	if ok {
		if second, ok := readMeta(f, best.pageSize, size); ok && second.tx > best.tx {
			best = second
		}
		return best, nil
	}
	for at := int64(boltMinPage); at <= boltMaxPage && at < size; at *= 2 {
		if m, ok := readMeta(f, at, size); ok && m.pageSize == at {
			return m, nil
		}
	}
	return meta{}, errors.New("neither of its two meta pages is valid")
}

// readMeta decodes the meta page at an offset, if there is a valid one.
func readMeta(f io.ReaderAt, at, size int64) (meta, bool) {
	var b [pageHeaderSize + metaSize]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return meta{}, false
	}
	p := b[pageHeaderSize:]
	ne := binary.NativeEndian
	m := meta{
		pageSize: int64(ne.Uint32(p[8:])), root: ne.Uint64(p[16:]),
		pages: ne.Uint64(p[40:]), tx: ne.Uint64(p[48:]),
	}
	ok := ne.Uint32(p) == boltMagic && ne.Uint32(p[4:]) == boltVersion &&
		ne.Uint64(p[56:]) == fnv64a(p[:56]) &&
		m.pageSize >= boltMinPage && m.pageSize <= boltMaxPage && m.pages>>40 == 0 && size > 0
	return m, ok
}

// fnv64a returns the checksum of a meta page.
func fnv64a(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
