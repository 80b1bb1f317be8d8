package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// gear is what a rank needs in addition to its GPUs. It is prepared while its supervisor goes on handling
// orders: an account may have to be looked up on another machine, and a folder may be on a file system that
// hangs.
type gear struct {
	account *isolate.Account // nil: the job runs as the user of this process
	store   *store           // nil: it has no place for checkpoints
	undo    bool             // the prolog has succeeded: the epilog is due
	note    string           // what is not as it could be

	fitted bool       // all is there
	err    error      // why it is not, and will not be
	ready  chan error // yields the one or the other
	cancel context.CancelFunc
}

// fetch begins to prepare the gear. Until ready delivers, only fetch's goroutine may use it.
func (g *gear) fetch(p *place) {
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.ready = make(chan error, 1)
	go func() { g.ready <- g.get(ctx, p) }()
}

func (g *gear) get(ctx context.Context, p *place) (err error) {
	spec := &p.record.Job.Spec
	if p.rules.Isolate.On {
		if g.account, err = p.rules.Isolate.Account(spec.User); err != nil {
			return &accountError{err}
		}
	}
	if err = g.furnish(p); err != nil {
		return err
	}
	if g.store, err = g.openStore(ctx, p); err != nil {
		return err
	}
	if p.rules.Hooks.Prolog != "" {
		_ = g.own(p.ownFolder(), 0o700) // it is named to the prolog; what is wrong is seen when the job starts
	}
	if err = p.hook(ctx, prologFile, p.rules.Hooks.Prolog, (&begin{place: p, gear: g}).hookEnvironment()); err != nil {
		return err
	}
	g.undo = true
	return nil
}

// furnish makes the files and folders that the job needs to start, while the rank may still be returned to
// the queue uncharged. Only errors that are the fault of a disk count: others are reported when the job is
// started.
func (g *gear) furnish(p *place) error {
	err := error(nil)
	if p.record.Job.Spec.WorkDir == "" {
		err = g.own(filepath.Join(p.folder.Path(), runner.WorkFolder), 0o700)
	}
	if g.account != nil {
		err = errors.Join(err, makeTmp(filepath.Join(p.folder.Path(), runner.TmpFolder)))
	}
	for _, name := range []string{runner.StdoutFile, runner.StderrFile} {
		file, createErr := p.folder.Create(name)
		if createErr == nil {
			createErr = file.Close()
		}
		err = errors.Join(err, createErr)
	}
	if disk.Fault(err) {
		return fmt.Errorf("the disk of this node: %w", err)
	}
	return nil
}

// took applies the result from ready.
func (g *gear) took(err error) {
	_, denied := errors.AsType[*deniedError](err)
	g.fitted, g.err, g.ready = err == nil || denied, err, nil
}

// drop cancels the preparation, or releases the gear. What hangs is left behind.
func (g *gear) drop() {
	g.cancel()
	if g.ready != nil {
		select {
		case err := <-g.ready:
			g.took(err)
		case <-time.After(drainLimit):
			return
		}
	}
	if g.store != nil {
		g.store.close()
	}
}

// own makes a folder of the job's, below one that only this process can change.
func (g *gear) own(dir string, mode os.FileMode) error {
	err := os.Mkdir(dir, mode) //nolint:gosec // below a folder of the node's own
	switch {
	case errors.Is(err, os.ErrExist):
		return g.owns(dir)
	case err == nil && g.account != nil:
		return os.Lchown(dir, int(g.account.UID), int(g.account.GID))
	}
	return err
}

// owns returns an error unless an existing folder is the job's.
func (g *gear) owns(dir string) error {
	info, err := os.Lstat(dir) //nolint:gosec // below a folder of the node's own
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || g.account != nil && stat.Uid != g.account.UID {
		return fmt.Errorf("%s is there already and is not the job's own folder", dir)
	}
	return nil
}

// openStore makes the place for the rank's checkpoints.
func (g *gear) openStore(ctx context.Context, p *place) (*store, error) {
	spec := &p.record.Job.Spec
	s := &store{n: p.record.Rank.N, base: spec.CheckpointDir}
	if s.base == "" {
		if p.rules.Checkpoints == "" {
			return nil, nil
		}
		s.own, s.base = true, filepath.Join(p.rules.Checkpoints, p.record.Rank.Attempt().TaskKey().String())
		err := g.own(s.base, 0o700)
		if err == nil {
			s.root, err = os.OpenRoot(s.base)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, g.account); err != nil {
		return nil, err
	}
	return s, nil
}

// accountError is why there is no account for a job on this node. Another node may have it.
type accountError struct{ err error }

func (e *accountError) Error() string { return e.err.Error() }
func (e *accountError) Unwrap() error { return e.err }

// nodeError is an error of what a node needs to start jobs.
type nodeError struct{ err error }

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

// needed returns an error of what a node needs to start jobs as one of that node; nil for nil.
func needed(err error) error {
	if err == nil {
		return nil
	}
	return &nodeError{err}
}

// ofNode reports whether a job was not started for a reason of this node: another node may start it.
func ofNode(err error) bool {
	if _, is := errors.AsType[*deniedError](err); is {
		return false
	}
	if _, is := errors.AsType[*nodeError](err); is {
		return true
	}
	return slices.ContainsFunc(isolate.OfHost(), func(v unix.Errno) bool { return errors.Is(err, v) })
}

// deniedError is why a job may not run here, for its user to read: the rank ends with that.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return e.err.Error() }
func (e *deniedError) Unwrap() error { return e.err }
