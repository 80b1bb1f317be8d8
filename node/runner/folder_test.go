package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
)

func folder(t *testing.T, r *Record) *Folder {
	t.Helper()
	dir := t.TempDir()
	if err := Fill(dir, r, Content{Script: "#!/bin/sh\n"}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A record comes back as it was.
func TestRecord(t *testing.T) {
	r := &Record{
		Rank: model.RankKey{Job: 1 << 63, Task: 2, N: 3, Rank: 4}, Incarnation: Incarnation{0xbe, 15: 1}, Placed: 9, Boot: "b", Nonce: "n",
		Frozen: model.Frozen{T: time.Minute, OnLost: model.OnLostHold}, Start: 5, GPUs: []GPU{{"GPU-a", 3}},
		Job: Job{Spec: model.Spec{Command: "a\x00ü", Argv: true}, Environ: true},
	}
	f := folder(t, r)
	got, err := f.Record()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := json.Marshal(got); err != nil || string(have) != string(want) {
		t.Errorf("read back %s, %v", have, err)
	}
	var i Incarnation
	for _, bad := range []string{"", "be", "zz000000000000000000000000000000", "be00000000000000000000000000000100"} {
		if i.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is read as an incarnation", bad)
		}
	}
}

// The first caller decides; the others get that decision.
func TestLatch(t *testing.T) {
	f := folder(t, &Record{})
	if phase, _, err := f.Phase(); phase != model.RankAssigned || err != nil {
		t.Errorf("without a latch: %s, %v", phase, err)
	}
	if word, now, err := f.Latch(LatchNever); word != LatchNever || !now || err != nil {
		t.Error(word, now, err)
	}
	for _, want := range []string{LatchStarted, LatchNever} {
		if word, now, err := f.Latch(want); word != LatchNever || now || err != nil {
			t.Error(word, now, err)
		}
	}
	if phase, _, err := f.Phase(); phase != model.RankNever || err != nil {
		t.Errorf("with a tombstone: %s, %v", phase, err)
	}
}

// An end that a power cut has torn is no end.
func TestExit(t *testing.T) {
	f := folder(t, &Record{})
	if _, err := f.Exit(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := f.Latch(LatchStarted); err != nil {
		t.Fatal(err)
	}
	for _, torn := range []string{"", "{", `{"Code":`} {
		if err := os.WriteFile(filepath.Join(f.Path(), exitFile), []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if phase, _, err := f.Phase(); phase != model.RankRunning || err != nil {
			t.Errorf("%q: %s, %v", torn, phase, err)
		}
	}
	want := model.Exit{Code: -1, Signal: 9, Delivered: model.ReasonDrain, Ran: time.Hour, Fenced: true}
	if err := errors.Join(f.SetExit(want), f.SyncExit()); err != nil {
		t.Fatal(err)
	}
	if phase, got, err := f.Phase(); phase != model.RankExited || got != want || err != nil {
		t.Errorf("%s %+v, %v", phase, got, err)
	}
}

// A folder that is moved while a process works in it stays the same.
func TestMoved(t *testing.T) {
	f := folder(t, &Record{Nonce: "x"})
	if err := os.Rename(f.Path(), filepath.Join(t.TempDir(), "moved")); err != nil {
		t.Fatal(err)
	}
	if err := f.SetExit(model.Exit{Code: 1}); err != nil {
		t.Error(err)
	}
	if r, err := f.Record(); err != nil || r.Nonce != "x" {
		t.Error(r, err)
	}
}

// What one kernel's supervisors wrote means nothing under the next.
func TestStatus(t *testing.T) {
	run := RunFolder{Path: t.TempDir(), Boot: "one"}
	if err := errors.Join(run.SetStatus("a", Status{PID: 7}), run.SetOrders("a", Orders{Run: true})); err != nil {
		t.Fatal(err)
	}
	if s, err := run.Status("a"); s.PID != 7 || err != nil {
		t.Error(s, err)
	}
	if _, err := (RunFolder{Path: run.Path, Boot: "two"}).Status("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	run.Forget("a")
	if _, err := run.Orders("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The description of a host fits into the node's record.
func TestHost(t *testing.T) {
	h := Host{Cgroup: "v2", Controllers: []string{"cpu", "pids"}, Notes: []string{"no swap"}}
	if got := h.String(); got != "cgroup v2 (cpu pids); no swap" {
		t.Errorf("%q", got)
	}
	for range 300 {
		h.Notes = append(h.Notes, "ü")
	}
	if got := h.String(); len(got) > maxHost || len(got) < maxHost-4 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
