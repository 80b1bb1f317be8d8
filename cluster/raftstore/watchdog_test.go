package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// flakyStore is an in-memory store that hangs or fails on demand.
type flakyStore struct {
	*raft.InmemStore
	mu     sync.Mutex
	hung   chan struct{} // while not nil, log writes wait for it to be closed
	fail   error         // what the next log write answers
	stored int           // log writes that succeeded
	term   error         // what every write of a number answers
	sent   atomic.Uint64 // log reads by raft's replication
}

func (f *flakyStore) GetLog(index uint64, log *raft.Log) error {
	if replicates() {
		f.sent.Add(1)
	}
	return f.InmemStore.GetLog(index, log)
}

func (f *flakyStore) failTerm(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.term = err
}

func (f *flakyStore) SetUint64(key []byte, val uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.term != nil {
		return f.term
	}
	return f.InmemStore.SetUint64(key, val)
}

func newFlaky() *flakyStore { return &flakyStore{InmemStore: raft.NewInmemStore()} }

// hang makes log writes wait until release.
func (f *flakyStore) hang() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hung = make(chan struct{})
}

func (f *flakyStore) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hung != nil {
		close(f.hung)
	}
}

func (f *flakyStore) failOnce(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

func (f *flakyStore) stores() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored
}

// next returns what the next log write is to do.
func (f *flakyStore) next() (hung chan struct{}, fail error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fail, f.fail = f.fail, nil
	if f.hung == nil && fail == nil {
		f.stored++
	}
	return f.hung, fail
}

func (f *flakyStore) StoreLogs(logs []*raft.Log) error {
	hung, fail := f.next()
	if hung != nil {
		<-hung
		return errors.New("the test is over")
	}
	if fail != nil {
		return fail
	}
	return f.InmemStore.StoreLogs(logs)
}

func always(b bool) func() bool { return func() bool { return b } }

// TestVerdictsByAge hangs a call and checks when each role gets which action.
func TestVerdictsByAge(t *testing.T) {
	for _, tc := range []struct {
		leader bool
		want   string
	}{
		{true, "hand over at 2s, exit at 10s"},
		{false, "exit at 10s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			dog := NewWatchdog("/data", Limits{})
			store := newFlaky()
			store.hang()
			ctx, cancel := context.WithCancel(t.Context())
			var got []string
			start := time.Now()
			go dog.Watch(ctx, 100*time.Millisecond, always(tc.leader), func(v Verdict) {
				got = append(got, fmt.Sprintf("%v at %v", v.Action, time.Since(start)))
				if !strings.Contains(v.Reason, "/data: StoreLogs has been running for") {
					t.Errorf("reason %q", v.Reason)
				}
			})
			logs := dog.Logs(store)
			go func() { _ = logs.StoreLogs(nil) }()
			time.Sleep(time.Hour)
			cancel()
			store.release()
			synctest.Wait()
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("leader %v: %s, want %s", tc.leader, s, tc.want)
			}
		})
	}
}

// TestHandOverEnds: a stall shorter than Exit lets the peer come back.
func TestHandOverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dog := NewWatchdog("/data", Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		var got []Action
		go dog.Watch(ctx, 100*time.Millisecond, always(true), func(v Verdict) { got = append(got, v.Action) })
		check(t, dog.do("StoreLogs", false, func() error { time.Sleep(5 * time.Second); return nil }))
		check(t, dog.do("snapshot Close", true, func() error { time.Sleep(30 * time.Second); return nil }))
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if fmt.Sprint(got) != "[hand over calm]" {
			t.Errorf("verdicts %v", got)
		}
	})
}

// TestSnapshotsHaveTheirOwnLimit: they are slow on healthy disks.
func TestSnapshotsHaveTheirOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dog := NewWatchdog("/data", Limits{})
		done := make(chan struct{})
		go func() { _ = dog.do("snapshot Open", true, func() error { <-done; return nil }) }()
		time.Sleep(59 * time.Second)
		if v := dog.Verdict(true); v.Action != Calm || v.Age != 59*time.Second {
			t.Errorf("after 59 s: %+v", v)
		}
		time.Sleep(time.Second)
		if v := dog.Verdict(false); v.Action != Exit {
			t.Errorf("after 60 s: %+v", v)
		}
		close(done)
	})
}

// TestStoppedProcessIsNoHangingDisk: a tick that comes late by a minute means
// that the process stood still, and so did its calls.
func TestStoppedProcessIsNoHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dog := NewWatchdog("/data", Limits{})
		done := make(chan struct{})
		go func() { _ = dog.do("StoreLogs", false, func() error { <-done; return nil }) }()
		time.Sleep(time.Minute)
		dog.calls.forgive(time.Minute, 100*time.Millisecond)
		if v := dog.Verdict(true); v.Action != Calm || v.Age != 100*time.Millisecond {
			t.Errorf("after a stop of a minute: %+v", v)
		}
		time.Sleep(10 * time.Second)
		if v := dog.Verdict(true); v.Action != Exit {
			t.Errorf("10 s later: %+v", v)
		}
		close(done)
	})
}

// TestFirstErrorIsLatched: whatever the store would answer later.
func TestFirstErrorIsLatched(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		dog := NewWatchdog("/data", Limits{})
		store := newFlaky()
		logs, stable := dog.Logs(store), dog.Stable(store)
		snaps := dog.Snapshots(raft.NewInmemSnapshotStore())
		check(t, logs.StoreLogs([]*raft.Log{{Index: 1}}))
		store.failOnce(cause)
		first := logs.StoreLogs([]*raft.Log{{Index: 2}})
		if !errors.Is(first, cause) {
			t.Fatalf("the error was not passed on: %v", first)
		}
		_, errFirst := logs.FirstIndex()
		_, errLast := logs.LastIndex()
		_, errGet := stable.Get([]byte("k"))
		_, errGet64 := stable.GetUint64([]byte("k"))
		_, errList := snaps.List()
		_, errCreate := snaps.Create(1, 1, 1, raft.Configuration{}, 0, nil)
		_, _, errOpen := snaps.Open("x")
		for i, err := range []error{
			logs.StoreLog(&raft.Log{Index: 2}), logs.StoreLogs(nil), logs.DeleteRange(1, 1), logs.GetLog(1, &raft.Log{}),
			stable.Set([]byte("k"), nil), stable.SetUint64([]byte("k"), 1),
			errFirst, errLast, errGet, errGet64, errList, errCreate, errOpen, dog.Err(),
		} {
			if !errors.Is(err, cause) {
				t.Errorf("call %d after %v: %v", i, cause, err)
			}
		}
		if store.stores() != 1 {
			t.Errorf("%d writes reached the store, want 1", store.stores())
		}
		if v := dog.Verdict(false); v.Action != Exit || !errors.Is(v.Err, cause) || !strings.Contains(v.Reason, "check the disk") {
			t.Errorf("verdict %+v", v)
		}
	}
}

// TestNotFoundIsNoFault: raft reads missing values in normal operation.
func TestNotFoundIsNoFault(t *testing.T) {
	dog := NewWatchdog("/data", Limits{})
	s := open(t, small(t.TempDir()))
	defer func() { check(t, s.Close()) }()
	for _, store := range []struct {
		logs   raft.LogStore
		stable raft.StableStore
	}{{raft.NewInmemStore(), raft.NewInmemStore()}, {s.Logs(), s.Stable()}} {
		if err := dog.Logs(store.logs).GetLog(5, &raft.Log{}); err != raft.ErrLogNotFound { //nolint:errorlint // raft compares so
			t.Errorf("GetLog: %v", err)
		}
		if _, err := dog.Stable(store.stable).Get([]byte("k")); err == nil || err.Error() != "not found" {
			t.Errorf("Get: %v", err)
		}
	}
	if _, _, err := dog.Snapshots(s.Snapshots()).Open("1-1-1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	check(t, dog.Err())
}

// TestCallersThatWouldPanicAreHeld: raft panics when a term cannot be written.
func TestCallersThatWouldPanicAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dog := NewWatchdog("/data", Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		var exits int
		go dog.Watch(ctx, time.Hour, always(false), func(Verdict) { exits++ })
		synctest.Wait()
		store := newFlaky()
		store.failTerm(syscall.EIO)
		stable := dog.Stable(store)
		returned, ended := false, false
		go func() {
			defer func() { ended = true }()
			_ = stable.SetUint64([]byte("CurrentTerm"), 2)
			returned = true
		}()
		synctest.Wait()
		if exits != 1 || ended {
			t.Errorf("before the peer ends: %d exits reported, caller ended %v", exits, ended)
		}
		cancel()
		synctest.Wait()
		if returned || !ended {
			t.Errorf("after the peer has ended: caller returned %v, ended %v", returned, ended)
		}
	})
}

// TestOptionalMethodsSurvive: raft asks its log store one optional question.
func TestOptionalMethodsSurvive(t *testing.T) {
	dog := NewWatchdog("/data", Limits{})
	for _, tc := range []struct {
		inner raft.LogStore
		want  bool
	}{{raft.NewInmemStore(), false}, {monotonic{raft.NewInmemStore(), true}, true}, {monotonic{raft.NewInmemStore(), false}, false}} {
		m, ok := dog.Logs(tc.inner).(raft.MonotonicLogStore)
		if !ok || m.IsMonotonic() != tc.want {
			t.Errorf("%T: implemented %v, want answer %v", tc.inner, ok, tc.want)
		}
	}
}

type monotonic struct {
	*raft.InmemStore
	is bool
}

func (m monotonic) IsMonotonic() bool { return m.is }

func TestActionNames(t *testing.T) {
	if s := fmt.Sprint(Calm, HandOver, Exit, Action(9)); s != "calm hand over exit action 9" {
		t.Error(s)
	}
}
