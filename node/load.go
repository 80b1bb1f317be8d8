package node

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/smallfile"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// maxEnded bounds how many ended ranks are told to a restored cluster: all that the
// journal keeps.
const maxEnded = 10_000

var errNoFolder = errors.New("the rank's folder is gone")

// open takes the ranks whose end the cluster has not confirmed: those that have a
// folder, whatever is left in it, and those of which a supervisor lives, with or without
// a folder. So no rank is left out that could still have a process.
func (b *book) open() error {
	paths, err := b.Journal.Open()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var mark fence.Mark
	if err := b.Journal.Get(markFile, &mark); smallfile.IsDamaged(err) {
		b.Log.Warn("the mark of the lease is damaged and counts as missing", "err", err)
	}
	living := map[string]*runner.Survivor{}
	for _, s := range b.Runner.Survivors() {
		living[s.Name] = &s
	}
	for _, path := range paths {
		b.put(b.load(path, living[filepath.Base(path)], mark))
	}
	for name, s := range living {
		if b.units[name] == nil {
			b.rescue(s)
		}
	}
	return nil
}

// rescue takes a rank that has lost its folder and has a supervisor, and makes the
// folder again.
func (b *book) rescue(s *runner.Survivor) {
	b.Log.Warn("a rank without a folder still runs and is taken over", "rank", s.Record.Rank, "folder", s.Name, "pid", s.Status.PID)
	_, err := b.Journal.Create(s.Name, func(dir string) error { return refill(dir, s) })
	if err != nil {
		b.Log.Warn("a rank's folder cannot be made again", "folder", s.Name, "err", err) // its end comes by the run folder
	}
	u := &unit{name: s.Name, record: s.Record, desk: orders{Orders: s.Record.Orders}}
	u.status, u.life.alive = b.Runner.Adopt(u.name, u.record)
	u.phase = max(s.Status.Phase, model.RankTaken)
	b.settle(u, model.Exit{})
	b.put(u)
}

// refill writes into a folder what was in it when its supervisor had got as far as it
// has.
func refill(dir string, s *runner.Survivor) error {
	if err := runner.Fill(dir, s.Record, runner.Content{}); err != nil || s.Status.Phase < model.RankRunning {
		return err
	}
	f, err := runner.Open(dir)
	if err != nil {
		return err
	}
	_, _, err = f.Latch(runner.LatchStarted)
	return errors.Join(err, f.Close())
}

// load reads a unit from its folder, and finds out what watches it. What the folder does
// not say is taken from the rank's supervisor, if one lives. Without one the rank counts
// as far as it may have got: nothing is told of it before its processes are shown to be
// gone.
func (b *book) load(path string, living *runner.Survivor, mark fence.Mark) *unit {
	name := filepath.Base(path)
	r, phase, exit, err := readFolder(path)
	switch {
	case living != nil && (r == nil || r.Nonce != living.Record.Nonce):
		r = living.Record
		b.Log.Warn("a rank's record is damaged; the rank still runs and is taken over", "folder", path, "pid", living.Status.PID, "err", err)
		if err := setRecord(path, r); err != nil {
			b.Log.Warn("a rank's record cannot be written again", "folder", path, "err", err)
		}
	case r == nil:
		return b.unreadable(name, phase, exit, mark, err)
	}
	u := &unit{name: name, record: r, desk: orders{Orders: r.Orders}, phase: phase}
	if o, err := b.Run.Orders(name); err == nil && r.Boot == b.Self.Boot {
		u.desk.Orders = o
	}
	u.status, u.life.alive = b.Runner.Adopt(name, r)
	if _, u.phase, exit, err = readFolder(path); err != nil { // again: what ends from now on is news
		b.Log.Warn("a rank's folder cannot be read", "folder", path, "err", err)
	}
	b.settle(u, exit)
	if !u.life.alive && !u.phase.Ended() && u.phase != model.RankRunning {
		u.why = "the agent ended while it prepared the rank"
	}
	return u
}

// reload is load for a folder that appeared while the agent runs.
func (b *book) reload(path string) *unit {
	var living *runner.Survivor
	for _, s := range b.Runner.Survivors() {
		if s.Name == filepath.Base(path) {
			living = &s
		}
	}
	var mark fence.Mark
	_ = b.Journal.Get(markFile, &mark) // without it less is known
	return b.load(path, living, mark)
}

// settle judges how far a unit has got, by what its folder, its supervisor and the life
// of the kernel say.
func (b *book) settle(u *unit, exit model.Exit) {
	if e := u.status.Exit; e != nil && !u.phase.Ended() {
		u.phase, exit = model.RankExited, *e
	}
	switch {
	case u.phase == model.RankExited:
		u.exit = exit
		u.exit.GPUFault = b.faulty(u.record, exit)
	case u.life.alive && !u.phase.Ended():
		u.phase = max(u.phase, u.status.Phase)
		if u.phase == model.RankExited {
			u.phase = model.RankRunning // it is about to be written
		}
	case u.phase == model.RankRunning && u.record.Boot != b.Self.Boot:
		u.phase, u.life.past = model.RankExited, true // the kernel that ran it is gone: nothing is known of its end
	}
}

// readFolder reads what a rank's folder says. Without a record that can be trusted r is
// nil. A phase that cannot be read is running: the rank may have started.
func readFolder(path string) (r *runner.Record, phase model.RankPhase, exit model.Exit, err error) {
	f, err := runner.Open(path)
	if err != nil {
		return nil, model.RankRunning, exit, err
	}
	defer func() { _ = f.Close() }() // it was open to read
	rank, _, _ := journal.RankOf(filepath.Base(path))
	r, err = f.Record()
	if err == nil && r.Rank != rank {
		err = fmt.Errorf("%s: its record is that of rank %s", path, r.Rank)
	}
	if err != nil {
		r = nil
	}
	phase, exit, phaseErr := f.Phase()
	if phaseErr != nil {
		phase = model.RankRunning
	}
	return r, phase, exit, errors.Join(err, phaseErr)
}

func setRecord(path string, r *runner.Record) error {
	f, err := runner.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.SetRecord(r), f.Close())
}

// unreadable makes a unit of a folder whose record is lost and that no supervisor has.
// The folder's name tells its rank, and the run folder may tell how its processes are
// known. If nothing shows that it is of this life of the kernel a power cut may have
// damaged it: then nothing is told of it, and the cluster judges by the boot or by the
// lease.
func (b *book) unreadable(name string, phase model.RankPhase, exit model.Exit, mark fence.Mark, why error) *unit {
	rank, incarnation, _ := journal.RankOf(name)
	if seen := mark.Registration.Incarnation; strings.HasPrefix(name, hex.EncodeToString(seen[:4])+"-") {
		incarnation = seen
	}
	r := &runner.Record{Rank: rank, Incarnation: runner.Incarnation(incarnation), Boot: b.Self.Boot, Run: b.Run.Path}
	status, err := b.Run.Status(name)
	if err == nil {
		r.Nonce = status.Nonce
	}
	u := &unit{name: name, record: r, phase: phase, exit: exit, status: status, nameless: true}
	if err != nil && mark.BootID != b.Self.Boot && !phase.Ended() {
		u.phase, u.life.past = model.RankExited, true
	}
	b.Log.Error("a rank's record is damaged and no supervisor has it: what is left of the rank is ended", "folder", name, "rank", rank, "err", why)
	b.settle(u, exit)
	return u
}

// identify gives units whose record is lost the incarnation that the cluster has now, if
// their folders' names begin like it.
func (b *book) identify(i model.Incarnation) {
	for _, u := range b.units {
		if u.nameless && u.key().incarnation != i && strings.HasPrefix(u.name, hex.EncodeToString(i[:4])+"-") {
			b.drop(u)
			r := *u.record
			r.Incarnation = runner.Incarnation(i)
			u.record = &r
			b.put(u)
		}
	}
}

// recall reads the ranks that ended before, for a cluster that may have forgotten
// them; nothing begins until that is done.
func (b *book) recall() {
	b.loading = true
	b.beside(func() func() {
		var units []*unit
		for _, path := range b.Journal.Ended(maxEnded) {
			if r, phase, exit, err := readFolder(path); err == nil {
				u := &unit{name: filepath.Base(path), record: r, phase: phase, desk: orders{Orders: r.Orders}}
				b.settle(u, exit)
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
