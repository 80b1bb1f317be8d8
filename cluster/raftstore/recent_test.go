package raftstore

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// countedLogs is a store in memory that counts its reads and fails on demand.
type countedLogs struct {
	*raft.InmemStore
	reads  int
	failed error
	during func()
}

func (c *countedLogs) GetLog(index uint64, log *raft.Log) error {
	c.reads++
	return c.InmemStore.GetLog(index, log)
}

func (c *countedLogs) StoreLogs(logs []*raft.Log) error {
	if c.during != nil {
		c.during()
	}
	return errors.Join(c.InmemStore.StoreLogs(logs), c.failed)
}

func run(first, last uint64, data string) (logs []*raft.Log) {
	for i := first; i <= last; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 1, Data: []byte(data)})
	}
	return logs
}

func TestRecentEntriesAreReadFromMemory(t *testing.T) {
	t.Parallel()
	inner := &countedLogs{InmemStore: raft.NewInmemStore()}
	logs := withRecent(inner)
	read := func(index uint64, want string, reads int) {
		t.Helper()
		var log raft.Log
		err := logs.GetLog(index, &log)
		if string(log.Data) != want || (want == "") != errors.Is(err, raft.ErrLogNotFound) || inner.reads != reads {
			t.Errorf("entry %d: %q, %v with %d reads of the inner store, want %q with %d",
				index, log.Data, err, inner.reads, want, reads)
		}
	}
	if err := logs.StoreLogs(run(1, 40, "a")); err != nil {
		t.Fatal(err)
	}
	read(40, "a", 0)
	read(9, "a", 0)
	read(8, "a", 1)
	read(0, "", 2)
	if err := logs.StoreLogs(run(40, 40, "b")); err != nil { // an overwritten suffix
		t.Fatal(err)
	}
	read(40, "b", 2)

	inner.failed = &Fault{}
	var fault *Fault
	if err := logs.StoreLogs(run(39, 39, "c")); !errors.As(err, &fault) {
		t.Errorf("the fault of the inner store is returned as %v", err)
	}
	read(39, "c", 3) // what a failed write left is the inner store's to answer
	inner.failed = nil

	if err := logs.DeleteRange(38, 40); err != nil {
		t.Fatal(err)
	}
	read(40, "", 4)
	read(37, "a", 5)
	if err := logs.StoreLogs(run(38, 38, "d")); err != nil {
		t.Fatal(err)
	}
	read(38, "d", 5)
}

// TestEntriesDeletedDuringAStore checks that a deletion which runs while entries are stored leaves none of
// them in memory.
func TestEntriesDeletedDuringAStore(t *testing.T) {
	t.Parallel()
	inner := &countedLogs{InmemStore: raft.NewInmemStore()}
	logs := withRecent(inner)
	inner.during = func() {
		if err := logs.DeleteRange(1, 1); err != nil {
			t.Error(err)
		}
	}
	if err := logs.StoreLogs(run(1, 2, "a")); err != nil {
		t.Fatal(err)
	}
	var log raft.Log
	if err := logs.GetLog(2, &log); err != nil || inner.reads != 1 {
		t.Errorf("entry 2: %v with %d reads of the inner store, want 1", err, inner.reads)
	}
}
