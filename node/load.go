package node

import (
	"errors"
	"path/filepath"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// maxEnded bounds how many ended ranks are told to a restored cluster: all that the
// journal keeps.
const maxEnded = 10_000

var errNoFolder = errors.New("the rank's folder is gone")

// open reads the ranks whose end the cluster has not confirmed, and adopts what
// still lives.
func (b *book) open() error {
	paths, err := b.Journal.Open()
	if err != nil {
		return err
	}
	for _, path := range paths {
		u, err := b.load(path)
		if err != nil {
			if err := b.shelve(path, err); err != nil {
				return err
			}
			continue
		}
		b.put(u)
	}
	return nil
}

// shelve puts away a folder that does not say what it was for, as a power cut may
// leave it: the cluster gives up what ran before the cut. Its name stays taken.
func (b *book) shelve(path string, why error) error {
	b.Log.Warn("a rank's folder is damaged and put away", "folder", path, "err", why)
	return b.Journal.Confirm(filepath.Base(path))
}

// load reads a unit from its folder, and finds out who watches it.
func (b *book) load(path string) (*unit, error) {
	f, err := runner.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, err := f.Record()
	if err != nil {
		return nil, err
	}
	u := &unit{name: filepath.Base(path), record: r, desk: orders{Orders: r.Orders}}
	if o, err := b.Run.Orders(u.name); err == nil && r.Boot == b.Self.Boot {
		u.desk.Orders = o
	}
	u.status, u.life.alive = b.Runner.Adopt(f, r) // before the phase is read: what ends in between is news
	if u.phase, u.exit, err = f.Phase(); err != nil {
		return nil, err
	}
	if u.phase == model.RankExited {
		u.exit.GPUFault = b.faulty(r, u.exit)
	}
	switch {
	case u.life.alive && !u.phase.Ended():
		u.phase = max(u.phase, u.status.Phase)
		if u.phase == model.RankExited {
			u.phase = model.RankRunning // it is about to be written
		}
	case u.phase == model.RankRunning && r.Boot != b.Self.Boot:
		u.phase, u.life.past = model.RankExited, true // the kernel that ran it is gone: nothing is known of its end
	}
	return u, nil
}

// recall reads the ranks that ended before, for a cluster that may have forgotten
// them; nothing begins until that is done.
func (b *book) recall() {
	b.loading = true
	b.beside(func() func() {
		var units []*unit
		for _, path := range b.Journal.Ended(maxEnded) {
			if u, err := b.load(path); err == nil {
				units = append(units, u)
			}
		}
		return func() {
			for _, u := range units {
				if b.units[u.name] == nil {
					b.put(u)
				}
			}
			b.loading = false
		}
	})
}
