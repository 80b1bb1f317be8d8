package raftstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

func TestJitteredThreshold(t *testing.T) {
	const base = 10000
	seen := map[uint64]bool{}
	low, high := uint64(base), uint64(base)
	for i := range 1000 {
		v := JitteredThreshold(fmt.Sprintf("peer-%d", i), base)
		low, high, seen[v] = min(low, v), max(high, v), true
	}
	if low < 7500 || high > 12500 || low > 7700 || high < 12300 || len(seen) < 500 {
		t.Errorf("from %d to %d, %d different of 1000", low, high, len(seen))
	}
	if got := JitteredThreshold("peer-1", base); got != 11932 {
		t.Errorf("peer-1 has %d in this process, and 11932 in every other", got)
	}
	if got := JitteredThreshold("a", 1); got != 1 {
		t.Errorf("threshold %d of base 1", got)
	}
}

// sinkRecorder is a snapshot store whose one sink notes what reaches it.
type sinkRecorder struct {
	raft.SnapshotStore
	largest, total, syncs int
}

func (s *sinkRecorder) Create(raft.SnapshotVersion, uint64, uint64, raft.Configuration, uint64, raft.Transport) (raft.SnapshotSink, error) {
	return s, nil
}

func (s *sinkRecorder) Write(b []byte) (int, error) {
	s.largest, s.total = max(s.largest, len(b)), s.total+len(b)
	return len(b), nil
}
func (s *sinkRecorder) Sync() error   { s.syncs++; return nil }
func (s *sinkRecorder) Close() error  { return nil }
func (s *sinkRecorder) Cancel() error { return nil }
func (s *sinkRecorder) ID() string    { return "rec" }

func TestPaceWritesAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &sinkRecorder{}
		dog := NewWatchdog("x", Limits{})
		sink, err := Pace(t.Context(), dog.Snapshots(rec), 16<<20).Create(1, 1, 1, raft.Configuration{}, 0, nil)
		check(t, err)
		time.Sleep(time.Minute) // encoding the state takes a while, and earns no burst
		start := time.Now()
		n, err := sink.Write(bytes.Repeat([]byte("s"), 64<<20))
		check(t, err)
		check(t, sink.Close())
		if took := time.Since(start); n != 64<<20 || rec.total != n || took < 3900*time.Millisecond || took > 4*time.Second {
			t.Errorf("%d bytes took %v, want 64 MiB in 4 s", n, took)
		}
		if rec.largest > paceChunk || rec.syncs != 8 {
			t.Errorf("largest piece %d, %d syncs", rec.largest, rec.syncs)
		}
		if dog.Verdict(true).Action != Calm {
			t.Error("the pauses were counted as store calls")
		}
	})
}

func TestPaceStopsWithThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sink, err := Pace(ctx, &sinkRecorder{}, 1<<20).Create(1, 1, 1, raft.Configuration{}, 0, nil)
		check(t, err)
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := sink.Write(make([]byte, 1<<30)); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("the write ended after %v with %v", time.Since(start), err)
		}
	})
}

func TestPaceOfNothing(t *testing.T) {
	rec := &sinkRecorder{}
	if Pace(t.Context(), rec, 0) != raft.SnapshotStore(rec) {
		t.Error("an unlimited store was wrapped")
	}
}

// TestPacedFileSnapshot runs the real sink through both wrappers.
func TestPacedFileSnapshot(t *testing.T) {
	s := open(t, small(t.TempDir()))
	defer func() { check(t, s.Close()) }()
	dog := NewWatchdog("x", Limits{})
	store := Pace(t.Context(), dog.Snapshots(s.Snapshots()), 1<<40)
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // two syncs
	id := snapshot(t, store, 3, 4, string(body))
	meta, r, err := store.Open(id)
	check(t, err)
	got, err := io.ReadAll(r)
	check(t, err)
	check(t, r.Close())
	if meta.Index != 4 || meta.Term != 3 || !bytes.Equal(got, body) {
		t.Errorf("read back %d bytes of %+v", len(got), meta)
	}
	check(t, dog.Err())
}
