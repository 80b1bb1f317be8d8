package node

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// maxEnded bounds how many ended ranks are reported to a restored cluster: all that the journal keeps.
const maxEnded = 10_000

var errNoFolder = errors.New("the rank's folder is gone")

// open loads the ranks whose end the cluster has not confirmed: those with a folder, whatever is left in the
// folder, and those with a living supervisor, with or without a folder. So each rank that could still have a
// process is loaded.
func (b *units) open() error {
	paths, err := b.Journal.Open()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var mark fence.Mark
	if err := b.Journal.Get(markFile, &mark); smallfile.IsDamaged(err) {
		b.Log.Warn("lease mark damaged: treated as missing", "err", err)
	}
	living := map[string]*runner.Survivor{}
	for _, s := range b.Runner.Survivors() {
		living[s.Name] = &s
	}
	for _, path := range paths {
		b.put(b.load(path, living[filepath.Base(path)], mark))
	}
	for name, s := range living {
		if b.byName[name] == nil {
			b.rescue(s)
		}
	}
	return nil
}

// rescue loads a rank that has a supervisor and has lost its folder, and makes the folder again.
func (b *units) rescue(s *runner.Survivor) {
	b.Log.Warn("adopted a rank without a folder", "rank", s.Record.Rank, "folder", s.Name, "pid", s.Status.PID)
	_, err := b.Journal.Create(s.Name, func(dir string) error { return refill(dir, s) })
	if err != nil {
		b.Log.Warn("cannot restore a rank's folder", "folder", s.Name, "err", err) // its end comes through the run folder
	}
	u := &unit{name: s.Name, record: s.Record, orders: orders{Orders: s.Record.Orders}}
	u.status, u.life.alive = b.Runner.Adopt(u.name, u.record)
	u.phase = max(s.Status.Phase, model.RankTaken)
	b.settle(u, model.Exit{})
	b.put(u)
}

// refill writes a folder's former files again, as of the supervisor's progress.
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

// load reads a unit from its folder, and finds its supervisor. What the folder does not contain comes from
// the rank's supervisor, if one is alive. Without one, the rank counts as far as it may have got: its end is
// not reported before all of its processes are proven to be gone.
func (b *units) load(path string, living *runner.Survivor, mark fence.Mark) *unit {
	name := filepath.Base(path)
	r, phase, exit, err := readFolder(path)
	switch {
	case living != nil && (r == nil || r.Nonce != living.Record.Nonce):
		r = living.Record
		b.Log.Warn("adopted a rank with a damaged record", "folder", path, "pid", living.Status.PID, "err", err)
		if err := setRecord(path, r); err != nil {
			b.Log.Warn("cannot rewrite a rank's record", "folder", path, "err", err)
		}
	case r == nil:
		return b.unreadable(name, phase, exit, mark, err)
	}
	u := &unit{name: name, record: r, orders: orders{Orders: r.Orders}, phase: phase}
	if o, err := b.Run.Orders(name); err == nil && r.Boot == b.Self.Boot {
		u.orders.Orders = o
	}
	u.status, u.life.alive = b.Runner.Adopt(name, r)
	if _, u.phase, exit, err = readFolder(path); err != nil { // again: what ends from now on comes as an event
		b.Log.Warn("cannot read a rank's folder", "folder", path, "err", err)
	}
	b.settle(u, exit)
	if !u.life.alive && !u.phase.Ended() && u.phase != model.RankRunning {
		u.excused("the agent ended while it prepared the rank")
	}
	return u
}

// reload is load for a folder that appeared while the agent runs.
func (b *units) reload(path string) *unit {
	var living *runner.Survivor
	for _, s := range b.Runner.Survivors() {
		if s.Name == filepath.Base(path) {
			living = &s
		}
	}
	var mark fence.Mark
	_ = b.Journal.Get(markFile, &mark) // without the mark less is known
	return b.load(path, living, mark)
}

// settle determines a unit's progress from its folder, its supervisor and the boot.
func (b *units) settle(u *unit, exit model.Exit) {
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
			u.phase = model.RankRunning // about to be written
		}
	case u.phase == model.RankRunning && u.record.Boot != b.Self.Boot:
		u.phase, u.life.past = model.RankExited, true // the kernel that ran it is gone: its end is not known
	}
}

// readFolder reads a rank's folder. r is nil without a trustworthy record. A phase that cannot be read is
// running: the rank may have started.
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

// unreadable makes a unit of a folder whose record is lost and that has no supervisor. The folder's name
// gives the rank, and the run folder may have what identifies the rank's processes. If nothing proves that
// the folder is from this boot, a power cut may have damaged it: the rank's end is then not reported, and the
// cluster judges by the boot or by the lease.
func (b *units) unreadable(name string, phase model.RankPhase, exit model.Exit, mark fence.Mark, why error) *unit {
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
	b.Log.Error("rank record damaged and no supervisor alive: ending the rank", "folder", name, "rank", rank, "err", why)
	b.settle(u, exit)
	return u
}

// identify gives units with a lost record the cluster's current incarnation, if their folders' names begin
// like that incarnation.
func (b *units) identify(i model.Incarnation) {
	for _, u := range b.byName {
		if u.nameless && u.key().incarnation != i && strings.HasPrefix(u.name, hex.EncodeToString(i[:4])+"-") {
			b.drop(u)
			r := *u.record
			r.Incarnation = runner.Incarnation(i)
			u.record = &r
			b.put(u)
		}
	}
}

// recall loads the ranks that ended before, for a cluster that may have forgotten them; no rank begins until
// recall is done.
func (b *units) recall() {
	b.loading = true
	b.background(func() func() {
		var units []*unit
		for _, path := range b.Journal.Ended(maxEnded) {
			if r, phase, exit, err := readFolder(path); err == nil {
				u := &unit{name: filepath.Base(path), record: r, phase: phase, orders: orders{Orders: r.Orders}}
				b.settle(u, exit)
				units = append(units, u)
			}
		}
		return func() {
			for _, u := range units {
				if b.byName[u.name] == nil {
					b.put(u)
				}
			}
			b.loading = false
		}
	})
}
