package raftstore

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

// A page of the mapped log that cannot be read is an error of the call and the end of the peer, in one line, and not a stack trace.
func TestAPageThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s, err := Open(Options{Dir: dir, PeerID: "p1", MinFree: 1, Ballast: -1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if err := s.Stable().SetUint64([]byte("CurrentTerm"), 1); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.Logs().StoreLog(&raft.Log{Index: uint64(i) + 1, Term: 1, Data: bytes.Repeat([]byte("x"), 4096)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	dog := NewWatchdog("p1", Limits{})
	logs := dog.Logs(s.bolt)
	path := filepath.Join(dir, boltName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil { // pages behind the end of a mapped file cannot be read
		t.Fatal(err)
	}
	err = logs.GetLog(50, &raft.Log{})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	fault, is := errors.AsType[*Fault](err)
	if !is || !errors.Is(err, ErrUnusable) || !errors.Is(err, errMapped) || !strings.Contains(fault.Error(), "dmesg") {
		t.Errorf("%v", err)
	}
	if v := dog.Verdict(false); v.Action != Exit || strings.Contains(v.Reason, "\n") || !strings.Contains(v.Reason, "cannot read the file") {
		t.Errorf("%+v", v)
	}
	// The store stays open: bbolt's locks are held, and the process would end here.
}

// Another panic stays one.
func TestOtherPanicsStay(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("the panic is gone")
		}
	}()
	var none []int
	_ = mapped("x", func() error { none[len(none)] = 1; return nil })
}

// faulty is a file of which the disk cannot read some bytes.
type faulty struct {
	io.ReaderAt

	from, to int64
}

func (f *faulty) ReadAt(b []byte, at int64) (int, error) {
	if at < f.to && at+int64(len(b)) > f.from {
		return 0, &os.PathError{Op: "read", Path: "raft.db", Err: syscall.EIO}
	}
	return f.ReaderAt.ReadAt(b, at)
}

// What the disk cannot read is not called damaged, whichever page it is: the advice for damage is to throw the file away.
func TestUnreadableIsNotDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir, PeerID: "p1", MinFree: 1, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := s.Logs().StoreLog(&raft.Log{Index: uint64(i) + 1, Term: 1, Data: bytes.Repeat([]byte("x"), 4096)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, boltName))
	if err != nil {
		t.Fatal(err)
	}
	size, seen := int64(len(whole)), 0
	for at := int64(0); at < size; at += 4096 {
		err := judgeTree("raft.db", &faulty{bytes.NewReader(whole), at, at + 4096}, size)
		if err == nil {
			continue // a page that is not in use
		}
		seen++
		if !errors.Is(err, ErrUnusable) || errors.Is(err, ErrCorrupt) || !errors.Is(err, syscall.EIO) {
			t.Errorf("page at %d: %v", at, err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d pages were read", seen)
	}
	if err := judgeTree("raft.db", &faulty{bytes.NewReader(whole), 0, size}, size); !errors.Is(err, ErrUnusable) {
		t.Errorf("no page can be read: %v", err)
	}
	if err := judgeTree("raft.db", bytes.NewReader(make([]byte, size)), size); !errors.Is(err, ErrCorrupt) {
		t.Errorf("zeros: %v", err)
	}
}
