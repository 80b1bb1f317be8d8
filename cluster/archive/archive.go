package archive

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// ErrUnavailable means that the archive cannot be read at the moment.
var ErrUnavailable = errors.New("this peer's archive is not available")

// Config is the configuration of an archive.
type Config struct {
	Path string       // of the file
	Log  *slog.Logger // nil: nothing is logged
	// Verify checks a file before it is opened; nil: no check.
	Verify func(path string) error
	// Export is a folder that gets every record as a line of JSON; empty: none.
	Export Rotation
}

// World is an archive's access to its peer and the other peers' archives.
type World struct {
	State func() state.State
	// Mates returns the other members of the cluster, if they are known.
	Mates func() (list []model.PeerID, known bool)
	// Records and Histories query another peer's archive.
	Records   func(ctx context.Context, of model.PeerID, q RecordsWanted) (RecordsGiven, error)
	Histories func(ctx context.Context, of model.PeerID, q HistoriesWanted) (HistoriesGiven, error)
}

// Archive is one peer's archive. Its methods may be called from any goroutine.
type Archive struct {
	cfg    Config
	log    *slog.Logger
	world  atomic.Pointer[World]
	queue  queue
	vault  vault
	export *exporter
	stand  atomic.Pointer[Standing]
	moved  broadcast
	scan   scan // of the goroutine that writes
}

// Standing is the status of an archive.
type Standing struct {
	CompleteTo uint64 // log index up to which it lacks nothing but what is lost; 0: to none
	Seq        uint64 // of the newest record
	Missing    uint64 // records that are to be had from other peers yet
	Lost       uint64 // records that no peer has
	Failure    string // why nothing is written at the moment; empty: it is
}

// New returns an archive that reads and writes nothing before Run.
func New(c Config) *Archive {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &Archive{cfg: c, log: c.Log, queue: queue{wake: make(chan struct{}, 1)}, vault: vault{path: c.Path, verify: c.Verify, log: c.Log}}
	if c.Export.Dir != "" {
		a.export = &exporter{file: newRotating(c.Export, "audit"), log: c.Log}
	}
	a.stand.Store(&Standing{})
	return a
}

// Note adds an entry's records and changes, in the log's order. It does not wait for a disk.
func (a *Archive) Note(before state.State, changes state.Changes) {
	if len(changes.Audit) == 0 && len(changes.Retired) == 0 {
		return
	}
	if lost := a.queue.add(noted{links: changes.Audit, retired: changes.Retired, before: before}); lost {
		a.log.Error("archive queue overflow (disk slow or broken?): records will be fetched from other peers")
	}
}

// Standing returns the archive's status.
func (a *Archive) Standing() Standing { return *a.stand.Load() }

// Intervals of the archive's goroutine.
const (
	gather = 200 * time.Millisecond // records are gathered for so long, so that they share a sync
	again  = 2 * time.Second        // between two looks although nothing was noted, and after a failure
)

// Run writes until the context ends, and closes the file.
func (a *Archive) Run(ctx context.Context, w World) {
	a.world.Store(&w)
	defer end(a)
	for ctx.Err() == nil {
		a.round(ctx)
		pause := time.NewTimer(again)
		select {
		case <-a.queue.wake:
			pause.Reset(gather)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// end writes the last noted records.
func end(a *Archive) {
	if s := a.world.Load().State(); !s.Settings().Incarnation.IsZero() {
		if err := a.write(&s); err != nil {
			a.log.Warn("newest records not archived: the next start replays them", "err", err)
		}
	}
	a.vault.close()
	if a.export != nil {
		a.export.file.close()
	}
}

// round updates the archive to the state, as far as that is possible now.
func (a *Archive) round(ctx context.Context) {
	s := a.world.Load().State() // before the queue is emptied: all that led to it is there
	set := s.Settings()
	if set.Incarnation.IsZero() {
		return
	}
	err := a.write(&s)
	if err == nil {
		err = a.complete(ctx)
	}
	if err == nil {
		err = a.scan.check(a, set.Audit)
	}
	now, was := Standing{}, a.Standing()
	if err == nil {
		now, err = a.vault.standing(s.Index)
	}
	if err != nil && ctx.Err() == nil {
		now = was
		if now.Failure = err.Error(); was.Failure == "" {
			a.log.Error("cannot write the archive: jobs continue, and none leaves the state", "file", a.cfg.Path, "err", err)
		}
	} else if was.Failure != "" {
		a.log.Info("archive is writable again", "file", a.cfg.Path)
	}
	a.stand.Store(&now)
	a.moved.send()
	if now.Failure == "" && a.export != nil {
		a.export.run(&a.vault)
	}
}

// write writes the noted records, and the histories of jobs that have ended in the state. Without news it
// costs no sync.
func (a *Archive) write(s *state.State) error {
	batch := a.queue.take()
	idle := false
	if err := a.vault.view(func(p *page) error { idle = shelf{p}.isUpTo(s); return nil }); err == nil && idle && len(batch) == 0 {
		return nil
	}
	more := false
	err := a.vault.update(func(p *page) (err error) {
		for i := range batch {
			if err := p.note(&batch[i]); err != nil {
				return err
			}
		}
		if err := errors.Join(p.advance(s.Settings().Audit), (shelf{p}).miss(s)); err != nil {
			return err
		}
		more, err = shelf{p}.keepEnded(s)
		return err
	})
	if err != nil {
		a.queue.back(batch)
	}
	for more && err == nil {
		err = a.vault.update(func(p *page) (err error) {
			more, err = shelf{p}.keepEnded(s)
			return err
		})
	}
	return err
}

// Reach waits until the archive is complete to a log index, at most for a while, and reports whether it is.
func (a *Archive) Reach(ctx context.Context, index uint64, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for {
		moved := a.moved.wait()
		if a.Standing().CompleteTo >= index {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}
