package fsm

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// feeder makes log entries for an FSM.
type feeder struct {
	t     *testing.T
	f     *FSM
	index uint64
}

func start(t *testing.T, cfg Config) *feeder {
	t.Helper()
	if cfg.Halt == nil {
		cfg.Halt = func(err error) { t.Errorf("the FSM halted: %v", err) }
	}
	d := &feeder{t: t, f: New(cfg)}
	t.Cleanup(d.f.Close)
	d.apply(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: 1, Running: true, Policy: "fcfs",
		Retention: model.Retention{Age: model.MaxDuration},
	})
	return d
}

func (d *feeder) apply(bodies ...command.Body) any {
	d.t.Helper()
	list := make([]command.Command, len(bodies))
	for i, b := range bodies {
		c, err := command.New("user:ann", b)
		if err != nil {
			d.t.Fatal(err)
		}
		list[i] = c
	}
	data, err := command.Encode(1, "p1", list)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.bytes(data)
}

func (d *feeder) bytes(data []byte) any {
	d.index++
	return d.f.Apply(&raft.Log{Index: d.index, Term: 1, Type: raft.LogCommand, Data: data})
}

func (d *feeder) snapshot() []byte {
	d.t.Helper()
	var b bytes.Buffer
	s := d.f.State()
	if err := snapshot.Write(&s, &b); err != nil {
		d.t.Fatal(err)
	}
	return b.Bytes()
}

func reader(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// Each command of an entry gets its own result, and readers see the new state.
func TestApplyAnswersEachCommand(t *testing.T) {
	d := start(t, Config{})
	out, is := d.apply(statetest.Job(1), &command.Hold{Job: 9, Task: model.AllTasks}, statetest.Job(2)).(Outcome)
	if !is || out.Index != 2 || len(out.Results) != 3 || out.Results[0].Job != 1 ||
		out.Results[1].Code != model.CodeNotFound || out.Results[2].Job != 2 {
		t.Fatalf("the outcome is %+v", out)
	}
	if s := d.f.State(); s.Jobs.Len() != 2 || s.Index != 2 || d.f.Floor() != 2 {
		t.Fatalf("the state has %d jobs at %d", s.Jobs.Len(), s.Index)
	}
}

// An entry of a newer program halts the peer; nothing is applied after it, since
// that would be a guess.
func TestAnUnknownEntryHalts(t *testing.T) {
	var reason error
	d := start(t, Config{Halt: func(err error) { reason = err }})
	unknown := []byte{0xa4, 1, 1, 2, 1, 3, 0x60, 4, 0x81, 0xa2, 1, 0x19, 0x0f, 0xff, 4, 0xa0} // kind 4095
	if out, is := d.bytes(unknown).(error); !is || !errors.Is(out, ErrHalted) {
		t.Errorf("the entry gave %v", out)
	}
	if _, is := errors.AsType[*command.UnknownError](reason); !is {
		t.Errorf("halted for %v", reason)
	}
	if out, is := d.apply(statetest.Job(1)).(error); !is || !errors.Is(out, ErrHalted) || d.f.State().Index != 1 {
		t.Errorf("after it came %v, at %d", out, d.f.State().Index)
	}
}

// Bytes that are no entry are skipped, alike on every peer.
func TestNoEntryIsSkipped(t *testing.T) {
	a, b := start(t, Config{}), start(t, Config{})
	for _, d := range []*feeder{a, b} {
		d.bytes([]byte("nonsense"))
		d.apply(statetest.Job(1))
	}
	x, y := a.f.State(), b.f.State()
	if x.Digest() != y.Digest() || x.Jobs.Len() != 1 || x.Index != 3 {
		t.Fatalf("the states differ or lack the job: %d and %d jobs", x.Jobs.Len(), y.Jobs.Len())
	}
}

// Raft goes on after a failed restore, with the FSM as it was (rqlite/rqlite#2759):
// later entries then fall on a state that is not theirs. So the peer halts.
func TestAFailedRestoreKeepsTheStateAndHalts(t *testing.T) {
	leader := start(t, Config{})
	leader.apply(statetest.Job(1))
	leader.apply(statetest.Job(2))
	good := leader.snapshot()
	bad := slices.Clone(good)
	bad[len(bad)-1] ^= 1 // of its checksum
	for _, guarded := range []bool{true, false} {
		halts := 0
		d := start(t, Config{GoOn: !guarded, Halt: func(error) { halts++ }})
		before := d.f.State()
		if err := d.f.Restore(reader(bad)); !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("restoring gave %v", err)
		}
		if now := d.f.State(); now.Digest() != before.Digest() {
			t.Error("the state changed")
		}
		d.index = leader.f.State().Index
		d.apply(statetest.Job(3))
		wrong := d.f.State().Index > before.Index
		if guarded && (halts != 1 || wrong || !d.f.Halted()) {
			t.Errorf("guarded: halted %d times, applied an entry after it: %v", halts, wrong)
		}
		if !guarded && !wrong {
			t.Error("unguarded: no entry was applied to the wrong state; the hazard is gone")
		}
	}
}

// A restore replaces the state and wakes all waiters.
func TestRestoreReplacesAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := start(t, Config{})
		leader.apply(statetest.Job(1))
		d := start(t, Config{})
		woken := d.f.Changed(model.TopicSet(0).With(model.TopicJob), 100)
		if err := d.f.Restore(reader(leader.snapshot())); err != nil {
			t.Fatal(err)
		}
		<-woken
		if got, want := d.f.State(), leader.f.State(); got.Digest() != want.Digest() {
			t.Error("the restored state differs")
		}
	})
}

// A restored state is checked: one that breaks an invariant is counted, and served all the same.
func TestARestoredStateIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := start(t, Config{})
		leader.apply(statetest.Job(1))
		var checked []uint64
		d := start(t, Config{Check: func(s *state.State) error {
			checked = append(checked, s.Index)
			return errors.New("whole gang: rank 1 is missing")
		}})
		for range 2 {
			if err := d.f.Restore(reader(leader.snapshot())); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		index := leader.f.State().Index
		if !slices.Equal(checked, []uint64{index, index}) || d.f.Broken() != 2 || d.f.State().Index != index {
			t.Errorf("checked at %v, %d broken, at index %d of %d", checked, d.f.Broken(), d.f.State().Index, index)
		}
		sound := start(t, Config{})
		if err := sound.f.Restore(reader(leader.snapshot())); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if sound.f.Broken() != 0 {
			t.Errorf("%d sound states are counted as broken", sound.f.Broken())
		}
	})
}

// Waiting for a topic ends with its change and with no other; waiting for an
// index ends when the state has reached it.
func TestWaitingEndsWithTheChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, Config{})
		jobs := d.f.Changed(model.TopicSet(0).With(model.TopicJob), 1)
		settings := d.f.Changed(model.TopicSet(0).With(model.TopicSettings), 1)
		reached := d.f.Reached(3)
		d.apply(statetest.Job(1))
		synctest.Wait()
		if !closed(jobs) || closed(settings) || closed(reached) {
			t.Errorf("after a job: jobs %v, settings %v, index 3 %v", closed(jobs), closed(settings), closed(reached))
		}
		d.apply(&command.SetRunning{})
		synctest.Wait()
		if !closed(settings) || !closed(reached) || !closed(d.f.Reached(3)) ||
			!closed(d.f.Changed(model.TopicSet(0).With(model.TopicJob), 1)) {
			t.Error("a change that has come does not end the wait")
		}
	})
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Marks name the state at multiples of MarkEvery, whether or not an entry of
// ours lies just there.
func TestMarksAreOfTheLastEntryBefore(t *testing.T) {
	d := start(t, Config{})
	d.index = MarkEvery - 2
	d.apply(statetest.Job(1)) // at 999
	at999 := d.f.State()
	d.index += 3 // raft's own entries: 1000 to 1002
	d.apply(statetest.Job(1))
	want := []Mark{{MarkEvery, at999.Digest()}}
	if got := d.f.Marks(); !slices.Equal(got, want) {
		t.Fatalf("the marks are %v, want %v", got, want)
	}
	d.index = 2*MarkEvery - 1
	d.apply(statetest.Job(1)) // at 2000 itself
	at2000 := d.f.State()
	d.apply(statetest.Job(1))
	if got := d.f.Marks(); len(got) != 2 || got[1] != (Mark{2 * MarkEvery, at2000.Digest()}) {
		t.Fatalf("the marks are %v, want the state at 2000 second", got)
	}
}

// A snapshot that cannot be written leaves nothing behind.
func TestASnapshotIsPersistedOrCanceled(t *testing.T) {
	d := start(t, Config{})
	snap, err := d.f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var good sink
	if err := snap.Persist(&good); err != nil || !good.closed || good.canceled || !bytes.Equal(good.Bytes(), d.snapshot()) {
		t.Errorf("persisting gave %v, closed %v, canceled %v", err, good.closed, good.canceled)
	}
	full := sink{fail: errors.New("full")}
	if err := snap.Persist(&full); !errors.Is(err, full.fail) || full.closed || !full.canceled {
		t.Errorf("persisting to a full disk gave %v, closed %v, canceled %v", err, full.closed, full.canceled)
	}
}

type sink struct {
	bytes.Buffer
	fail             error
	closed, canceled bool
}

func (s *sink) Write(b []byte) (int, error) {
	if s.fail != nil {
		return 0, s.fail
	}
	return s.Buffer.Write(b)
}
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }
func (s *sink) ID() string    { return "1" }
