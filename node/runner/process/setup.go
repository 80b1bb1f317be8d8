package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// setup is what a rank needs in addition to its GPUs. It is prepared while its supervisor goes on handling
// orders: an account may have to be looked up on another machine, and a folder may be on a file system that
// hangs.
type setup struct {
	account *isolate.Account // nil: the job runs as the user of this process
	peers   []isolate.Folder // of peers on this host, which a job under its user's account does not see
	images  string           // folder of the account for images; empty: none
	store   *store           // nil: it has no place for checkpoints
	undo    bool             // the prolog has succeeded: the epilog is due
	note    string           // what is not as it could be
	limit   time.Duration    // for a folder that users can change

	fitted bool       // all is there
	err    error      // why it is not, and will not be
	ready  chan error // yields the one or the other
	cancel context.CancelFunc
}

// fetch begins to prepare the setup. Until ready delivers, only fetch's goroutine may use it.
func (g *setup) fetch(p *place) {
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.ready, g.limit = make(chan error, 1), answerLimit
	go func() { g.ready <- g.get(ctx, p) }()
}

func (g *setup) get(ctx context.Context, p *place) (err error) {
	if p.rules.Isolate.On {
		if err = g.lookUp(ctx, p); err != nil {
			return err
		}
	}
	if err = g.furnish(p); err != nil {
		return err
	}
	if p.record.Job.Spec.Slurm != "" {
		if err = g.openImages(ctx, p.rules.Images); err != nil {
			return err
		}
	}
	if g.store, err = g.openStore(ctx, p); err != nil {
		return err
	}
	if p.rules.Hooks.Prolog != "" {
		_ = g.own(p.ownFolder(), 0o700) // it is named to the prolog; what is wrong is seen when the job starts
	}
	if err = p.hook(ctx, prologFile, p.rules.Hooks.Prolog, (&begin{place: p, setup: g}).hookEnvironment()); err != nil {
		return err
	}
	g.undo = true
	return nil
}

// lookUp finds the account of the job's user, and what its job must not see. Processes and sockets of users are looked at, so
// either may hang.
func (g *setup) lookUp(ctx context.Context, p *place) (err error) {
	rules := &p.rules.Isolate
	user := p.record.Job.Spec.User
	g.account, err = answered(ctx, accountLimit, "the account of "+user, func() (*isolate.Account, error) { return rules.Account(user) })
	if err == nil {
		g.peers = rules.Peers.Covers()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &accountError{err}
	}
	return nil
}

// furnish makes the files and folders that the job needs to start, while the rank may still be returned to
// the queue uncharged. Only errors that are the fault of a disk count: others are reported when the job is
// started.
func (g *setup) furnish(p *place) error {
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
	switch {
	case !disk.Fault(err):
		return nil
	case !ofNode(err, g.account, false):
		return &deniedError{err}
	}
	return fmt.Errorf("the disk of this node: %w", err)
}

// took applies the result from ready.
func (g *setup) took(err error) {
	_, denied := errors.AsType[*deniedError](err)
	g.fitted, g.err, g.ready = err == nil || denied, err, nil
}

// drop cancels the preparation, or releases the setup. What hangs is left behind.
func (g *setup) drop() {
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
func (g *setup) own(dir string, mode os.FileMode) error {
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
func (g *setup) owns(dir string) error {
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

// openImages makes the account's folder for images, if the node has a place for them.
func (g *setup) openImages(ctx context.Context, place string) error {
	if place == "" {
		return nil
	}
	uid := os.Getuid()
	if g.account != nil {
		uid = int(g.account.UID)
	}
	path := filepath.Join(place, strconv.Itoa(uid))
	if err := answers(ctx, g.limit, path, func() error { return g.own(path, 0o700) }); err != nil {
		return ofPlace(ctx, g.limit, place, err)
	}
	g.images = path
	return nil
}

// openStore makes the place for the rank's checkpoints.
func (g *setup) openStore(ctx context.Context, p *place) (*store, error) {
	s := &store{n: p.record.Rank.N, base: p.record.Job.Spec.CheckpointDir}
	if s.own = s.base == ""; s.own {
		if p.rules.Checkpoints == "" {
			return nil, nil
		}
		s.base = filepath.Join(p.rules.Checkpoints, p.record.Rank.Attempt().TaskKey().String())
	}
	err := error(nil)
	if s.own {
		s.root, err = answered(ctx, g.limit, s.base, func() (*os.Root, error) {
			if err := g.own(s.base, 0o700); err != nil {
				return nil, err
			}
			return os.OpenRoot(s.base)
		})
	}
	if err == nil {
		err = s.open(ctx, g.account, g.limit)
	}
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	err = fmt.Errorf("its checkpoints' folder: %w", err)
	if s.own {
		return nil, ofPlace(ctx, g.limit, p.rules.Checkpoints, err)
	}
	return nil, &deniedError{err}
}
