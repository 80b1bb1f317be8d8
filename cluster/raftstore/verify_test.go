package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// healthyBolt returns the bytes of a store with several levels of pages.
func healthyBolt(t *testing.T) []byte {
	t.Helper()
	o := small(t.TempDir())
	s := open(t, o)
	fillStore(t, s)
	check(t, s.Logs().DeleteRange(1, 300))
	check(t, s.Close())
	b, err := os.ReadFile(filepath.Join(o.Dir, boltName))
	check(t, err)
	check(t, verifyTree(bytes.NewReader(b), int64(len(b))))
	return b
}

// rootOf returns the offset of the page of the top bucket.
func rootOf(t *testing.T, b []byte) int64 {
	t.Helper()
	m, err := findMeta(bytes.NewReader(b), int64(len(b)))
	check(t, err)
	return int64(m.root) * m.pageSize
}

// TestBoltDiesOnCorruptPages shows why the file is verified before bbolt opens
// it: bbolt alone takes the process down in a way that nothing can recover.
func TestBoltDiesOnCorruptPages(t *testing.T) {
	healthy := healthyBolt(t)
	for name, spoil := range map[string]func([]byte) []byte{
		"a page that calls itself another": func(b []byte) []byte {
			binary.NativeEndian.PutUint64(b[rootOf(t, b):], 1<<30)
			return b
		},
		"a file that ends too early": func(b []byte) []byte { return b[:rootOf(t, b)] },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), boltName)
			check(t, os.WriteFile(path, spoil(bytes.Clone(healthy)), 0o600))
			out, err := helper(t, "bbolt", path).CombinedOutput()
			if err == nil {
				t.Errorf("bbolt alone survived: %s", out)
			}
			if err := verifyFile(path); !errors.Is(err, ErrCorrupt) {
				t.Errorf("with the check before it: %v", err)
			}
		})
	}
}

// TestVerifiedFilesNeverKillBolt damages single bytes of the tree's pages. A file that passes the check must
// open, or at least fail without ending this process.
func TestVerifiedFilesNeverKillBolt(t *testing.T) {
	healthy := healthyBolt(t)
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), boltName)
	caught := 0
	for range 200 {
		b := bytes.Clone(healthy)
		page := rng.IntN(len(b)/4096) * 4096
		b[page+rng.IntN(200)] ^= byte(1 << rng.IntN(8)) // headers and tables lie in front
		if err := verifyTree(bytes.NewReader(b), int64(len(b))); err != nil {
			caught++
			continue
		}
		check(t, os.WriteFile(path, b, 0o600))
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, NoSync: true})
		if err == nil {
			check(t, db.Close())
		}
	}
	if caught < 50 {
		t.Errorf("only %d of 200 damaged files were caught", caught)
	}
}

func TestVerifyTreeNamesWhatIsBroken(t *testing.T) {
	ne := binary.NativeEndian
	for _, tc := range []struct {
		name  string
		spoil func(b []byte, root int64)
		says  string
	}{
		{"id", func(b []byte, r int64) { ne.PutUint64(b[r:], 9999) }, "calls itself"},
		{"type", func(b []byte, r int64) { ne.PutUint16(b[r+8:], 0x10) }, "neither branch nor leaf"},
		{"count", func(b []byte, r int64) { ne.PutUint16(b[r+10:], 60000) }, "do not fit"},
		{"overflow", func(b []byte, r int64) { ne.PutUint32(b[r+12:], 1<<30) }, "overflow"},
		{"position", func(b []byte, r int64) { ne.PutUint32(b[r+16+4:], 1<<30) }, "outside"},
		{"order", func(b []byte, r int64) {
			conf, logs := ne.Uint32(b[r+16+4:])+16, ne.Uint32(b[r+32+4:])+32
			copy(b[r+int64(conf):], "zzzz")
			copy(b[r+int64(logs):], "aaaa")
		}, "out of order"},
		{"both metas", func(b []byte, _ int64) { b[20], b[4096+20] = 99, 99 }, "meta pages"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := healthyBolt(t)
			tc.spoil(b, rootOf(t, b))
			err := verifyTree(bytes.NewReader(b), int64(len(b)))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v does not say %q", err, tc.says)
			}
		})
	}
}

// TestOneMetaSuffices: a crash while a meta page is written leaves the other.
func TestOneMetaSuffices(t *testing.T) {
	for _, at := range []int{20, 4096 + 20} {
		b := healthyBolt(t)
		b[at] ^= 0xff
		if err := verifyTree(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Errorf("with the meta at %d broken: %v", at, err)
		}
	}
}

// TestInlineBucketsHoldNoBuckets: else a few bytes could describe so many that
// the walk would not end.
func TestInlineBucketsHoldNoBuckets(t *testing.T) {
	b, ne := fuzzBase(), binary.NativeEndian
	page := b[2*boltMinPage:]
	for _, depth := range []int{1, 2} {
		ne.PutUint16(page[8:], flagLeaf)
		ne.PutUint16(page[10:], 1)
		elem := page[pageHeaderSize:]
		ne.PutUint32(elem, flagBucketLeaf)
		ne.PutUint32(elem[4:], leafElemSize)
		ne.PutUint32(elem[12:], 100) // value: no root, then a page
		page = elem[leafElemSize+bucketValueSize:]
		ne.PutUint16(page[8:], flagLeaf)
		err := verifyTree(bytes.NewReader(b), int64(len(b)))
		if (err != nil) != (depth == 2) {
			t.Errorf("inline buckets %d deep: %v", depth, err)
		}
	}
}

func FuzzVerifyTree(f *testing.F) {
	f.Add([]byte{}, 0)
	f.Fuzz(func(_ *testing.T, b []byte, at int) {
		healthy := fuzzBase()
		if at >= 0 && at < len(healthy) {
			copy(healthy[at:], b)
		}
		_ = verifyTree(bytes.NewReader(healthy), int64(len(healthy)))
	})
}

// fuzzBase returns a small file with a valid meta page and a leaf.
func fuzzBase() []byte {
	const size = boltMinPage
	b := make([]byte, 4*size)
	ne := binary.NativeEndian
	for i := range uint64(2) {
		p := b[i*size:]
		ne.PutUint64(p, i)
		m := p[pageHeaderSize:]
		ne.PutUint32(m, boltMagic)
		ne.PutUint32(m[4:], boltVersion)
		ne.PutUint32(m[8:], size)
		ne.PutUint64(m[16:], 2)
		ne.PutUint64(m[40:], 4)
		ne.PutUint64(m[48:], i)
		ne.PutUint64(m[56:], fnv64a(m[:56]))
	}
	ne.PutUint64(b[2*size:], 2)
	ne.PutUint16(b[2*size+8:], flagLeaf)
	return b
}
