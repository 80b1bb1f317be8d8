package fsm

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
)

// Outcome is raft's response to the proposer of an entry.
type Outcome struct {
	Index   uint64 // of the entry
	Results []command.Result
}

// ErrHalted means that this peer no longer applies entries.
var ErrHalted = errors.New("this peer has halted")

// Config is the configuration of an FSM.
type Config struct {
	// Halt is called at most once, with the reason, when the peer must not go on: an entry or a snapshot of a
	// newer program, or a snapshot that cannot be read. It should end the process; if it returns, the FSM
	// keeps its state and refuses everything from then on.
	Halt   func(error)
	Logger *slog.Logger // nil: nothing is logged
	// Applied is called for each entry, in the log's order, before its state is published, with the state
	// before it and its changes. It must not block. nil: not called.
	Applied func(before state.State, changes state.Changes)
	Told    Told // receives the notices of entries; nil: not called

	// Level is the greatest feature level that the program knows; 0: [command.Level]. Another one is for tests of upgrades.
	Level uint32

	// Apply replaces apply.Apply, and GoOn continues after a failed restore. Both are for tests that show the
	// purpose of the comparison of digests and of the halt.
	Apply func(state.State, state.Meta, []command.Command) (state.State, []command.Result, state.Changes)
	GoOn  bool

	// Check returns the invariants that a restored state breaks; nil: check.State.
	Check func(*state.State) error
}

// Told receives the notices of entries, in the order of the log, from the goroutine that applies them: it
// must not block.
type Told interface {
	Put(list []model.Notice)
	// Reset reports that the state came from a snapshot as of an index: notices up to there are skipped.
	Reset(index uint64)
}

// FSM is raft.FSM over state.State. Raft calls it from one goroutine; readers may call State, Changed and the
// rest from any.
type FSM struct {
	cfg    Config
	log    *slog.Logger
	halted atomic.Bool
	now    atomic.Pointer[state.State]
	floor  atomic.Uint64 // greatest index ever published
	marks  marks
	wakes  *wakes
	panics atomic.Uint64

	broken atomic.Uint64
	checks sync.WaitGroup // of restored states
}

// New returns an FSM with an empty state.
func New(cfg Config) *FSM {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Apply == nil {
		cfg.Apply = apply.Apply
	}
	if cfg.Check == nil {
		cfg.Check = check.State
	}
	cfg.Level = cmp.Or(cfg.Level, command.Level)
	f := &FSM{cfg: cfg, log: cfg.Logger, wakes: newWakes()}
	f.now.Store(&state.State{})
	return f
}

// Close ends the goroutine that wakes waiting readers; raft must be shut down.
//
// Close returns once the check of the last restored state has ended, too.
func (f *FSM) Close() {
	f.wakes.close()
	f.checks.Wait()
}

// State returns the newest state that this peer has applied.
func (f *FSM) State() state.State { return *f.now.Load() }

// Floor returns the greatest index that this peer has ever published. After raft has installed a snapshot
// from before that index, the state is older than what readers have seen, and must not be served until it has
// caught up.
func (f *FSM) Floor() uint64 { return f.floor.Load() }

// Changed returns a channel that is closed once one of the topics has changed
// after the given index, or the state was replaced by a snapshot.
func (f *FSM) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return f.wakes.wait(topics, after, func() model.Topics {
		s := f.now.Load().Settings()
		return s.Topics
	})
}

// Reached returns a channel that is closed once the state has reached the index.
func (f *FSM) Reached(index uint64) <-chan struct{} {
	return f.wakes.reach(index, func() uint64 { return f.now.Load().Index })
}

// Halted reports whether the FSM no longer applies entries.
func (f *FSM) Halted() bool { return f.halted.Load() }

// Panics returns the number of commands that a defect made panic, and that were skipped.
func (f *FSM) Panics() uint64 { return f.panics.Load() }

// Broken returns how many restored states broke an invariant.
func (f *FSM) Broken() uint64 { return f.broken.Load() }

// check looks for broken invariants of a restored state. The peer does not wait for the result: a
// check takes about as long as the restore, and peers that applied the same log share the state.
func (f *FSM) check(s state.State) {
	f.checks.Go(func() {
		if err := f.cfg.Check(&s); err != nil {
			f.broken.Add(1)
			f.log.Error("the restored state breaks invariants: report this defect", "index", s.Index, "err", err)
		}
	})
}

func (f *FSM) stop(err error) {
	if f.halted.CompareAndSwap(false, true) {
		f.log.Error("this peer halts", "reason", err)
		f.cfg.Halt(err)
	}
}

// Apply applies one committed entry; raft calls it in log order. It returns an
// Outcome, or an error if the peer has halted.
func (f *FSM) Apply(entry *raft.Log) any {
	if f.halted.Load() {
		return ErrHalted
	}
	old := f.State()
	f.marks.before(entry.Index, &old)
	e, err := command.Decode(entry.Data)
	if err == nil {
		err = f.known(e.Commands)
	}
	if unknown, is := errors.AsType[*command.UnknownError](err); is {
		f.stop(fmt.Errorf("log entry %d: %w", entry.Index, unknown))
		return ErrHalted
	}
	if err != nil { // no entry at all: all peers skip it alike
		f.log.Error("a log entry is no entry and was skipped", "index", entry.Index, "err", err)
		e = command.Entry{Hash: sha256.Sum256(entry.Data)}
	}
	meta := state.Meta{Index: entry.Index, Term: entry.Term, At: e.At, By: e.By, Hash: e.Hash}
	next, results, changes := f.cfg.Apply(old, meta, e.Commands)
	for _, i := range changes.Panics {
		f.panics.Add(1)
		f.log.Error("a command panicked and was skipped on every peer: report this defect", "index", entry.Index,
			"kind", e.Commands[i].Kind())
	}
	if f.cfg.Applied != nil {
		f.cfg.Applied(old, changes)
	}
	f.warn(changes.Notices)
	f.publish(&next, false)
	if f.cfg.Told != nil {
		f.cfg.Told.Put(changes.Notices)
	}
	return Outcome{Index: entry.Index, Results: results}
}

// known returns a *[command.UnknownError] if a command raises the cluster to a feature level that this program does not know.
func (f *FSM) known(list []command.Command) error {
	for i := range list {
		if raise, is := list[i].Body.(*command.RaiseLevel); is && raise.Level > f.cfg.Level {
			return &command.UnknownError{What: fmt.Sprintf("feature level %d of the cluster", raise.Level)}
		}
	}
	return nil
}

// warn logs resources that are nearly full.
func (f *FSM) warn(notices []model.Notice) {
	for i := range notices {
		if n := &notices[i]; n.Kind == model.NoticeNearlyFull {
			f.log.Warn("nearly full", "what", n.Detail, "actor", n.Actor, "index", n.Index)
		}
	}
}

func (f *FSM) publish(s *state.State, replaced bool) {
	f.now.Store(s)
	if s.Index > f.floor.Load() {
		f.floor.Store(s.Index)
	}
	f.wakes.changed(replaced)
}

// Snapshot captures the state; writing it is left to raft's own goroutine.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.halted.Load() {
		return nil, ErrHalted
	}
	s := f.State()
	return &capture{s}, nil
}

// Restore replaces the state by a snapshot's. The new state is built separately and checked first. If it
// cannot be read the old one stays and the peer halts: raft would go on with the old one as if it were the
// new one.
func (f *FSM) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }()
	if f.halted.Load() {
		return ErrHalted
	}
	s, err := snapshot.Read(r)
	if err != nil && f.cfg.GoOn {
		return err
	}
	if err != nil {
		f.stop(fmt.Errorf("a snapshot cannot be restored: %w", err))
		return err
	}
	f.log.Info("state restored from a snapshot", "index", s.Index, "had", f.State().Index)
	f.publish(&s, true)
	f.check(s)
	if f.cfg.Told != nil {
		f.cfg.Told.Reset(s.Index)
	}
	return nil
}

// capture is a state to be written to disk.
type capture struct{ state state.State }

// Persist writes the state to raft's sink.
func (s *capture) Persist(sink raft.SnapshotSink) error {
	if err := snapshot.Write(&s.state, sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release does nothing: the state is a value.
func (*capture) Release() {}
