package node

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// units holds a node's units: all whose end the cluster has not confirmed and, while they are reported to a
// restored cluster, those that ended before.
type units struct {
	*core
	byName  map[string]*unit // by the folder's name
	byKey   map[key]*unit
	loading bool // ended ranks are being read: no rank may begin
	ended   func(*unit)
	next    time.Time // when to read the supervisors' files
}

// lookAgain is the interval at which the agent reads the supervisors' files for events that it missed: a full
// pipe of events drops them.
const lookAgain = 5 * time.Second

func newUnits(c *core) *units {
	return &units{core: c, byName: map[string]*unit{}, byKey: map[key]*unit{}, ended: func(*unit) {}, next: later(lookAgain)}
}

// refresh reads what living supervisors have written.
func (b *units) refresh() {
	if !due(b.next) {
		return
	}
	b.next = later(lookAgain)
	for _, u := range b.byName {
		if !u.life.alive || u.life.busy {
			continue
		}
		record := u.record
		b.background(func() func() {
			s, err := runner.RunFolder{Path: record.Run, Boot: b.Run.Boot}.Status(u.name)
			return func() {
				if err == nil && u.life.alive {
					b.update(runner.Event{Name: u.name, Status: s})
				}
			}
		})
	}
}

func (b *units) put(u *unit) {
	b.byName[u.name] = u
	b.byKey[u.key()] = u
}

func (b *units) drop(u *unit) {
	delete(b.byName, u.name)
	if b.byKey[u.key()] == u {
		delete(b.byKey, u.key())
	}
}

// sorted returns the units in order of rank, those that have not ended first.
func (b *units) sorted() []*unit {
	out := make([]*unit, 0, len(b.byName))
	for _, u := range b.byName {
		out = append(out, u)
	}
	slices.SortFunc(out, func(x, y *unit) int {
		if x.phase.Ended() != y.phase.Ended() {
			if y.phase.Ended() {
				return -1
			}
			return 1
		}
		return x.record.Rank.Compare(y.record.Rank)
	})
	return out
}

func (b *units) locals() []fence.Local {
	out := make([]fence.Local, 0, len(b.byName))
	for _, u := range b.byName {
		out = append(out, u.local())
	}
	return out
}

// leases returns the nonces of the ranks that have not ended, by the run folder in which their supervisors
// read the lease.
func (b *units) leases() map[string][]string {
	out := map[string][]string{b.Run.Path: nil}
	for _, u := range b.byName {
		if !u.phase.Ended() && u.record.Nonce != "" {
			out[u.record.Run] = append(out[u.record.Run], u.record.Nonce)
		}
	}
	return out
}

// frozen reports whether a rank is frozen.
func (b *units) frozen() bool {
	for _, u := range b.byName {
		if !u.phase.Ended() && (u.status.Frozen != 0 || u.orders.Freeze > u.orders.Thaw) {
			return true
		}
	}
	return false
}

// shortest returns the shortest T of the ranks that have not ended, 0 without any.
func (b *units) shortest() (t time.Duration) {
	for _, u := range b.byName {
		if f := u.record.Frozen.T; !u.phase.Ended() && f > 0 && (t == 0 || f < t) {
			t = f
		}
	}
	return t
}

// confirm notes the progress that the cluster has confirmed.
func (b *units) confirm(told map[*unit]model.Progress, index uint64) {
	for u, p := range told {
		if p.Saved > u.confirmed.saved {
			u.confirmed.saved, u.confirmed.again = p.Saved, later(savedPause)
		}
		u.confirmed.phase = max(u.confirmed.phase, p.Phase)
		u.confirmed.index = max(u.confirmed.index, index)
	}
}

// savedPause is the shortest interval between two reported checkpoints of a rank.
const savedPause = 10 * time.Second

// update handles an event of a supervisor.
func (b *units) update(e runner.Event) {
	u := b.byName[e.Name]
	switch {
	case u == nil:
	case e.Gone:
		u.life.alive = false
		b.reread(u)
	case e.Status.Nonce != u.record.Nonce:
	default:
		u.status = e.Status
		switch exit := e.Status.Exit; {
		case e.Status.Phase == model.RankExited && exit != nil && explained(*exit):
			b.learn(u, model.RankExited, *exit)
		case e.Status.Phase == model.RankExited:
			b.reread(u)
		case !u.phase.Ended():
			if u.phase < model.RankRunning && e.Status.Phase == model.RankRunning {
				u.life.ran = time.Now()
				b.after(startPause)
			}
			u.phase = max(u.phase, e.Status.Phase)
		}
	}
}

// reread reads a unit's progress from the disk.
func (b *units) reread(u *unit) {
	if u.phase.Ended() {
		return
	}
	u.life.reads++
	name, record := u.name, u.record
	b.background(func() func() {
		status, statusErr := runner.RunFolder{Path: record.Run, Boot: b.Run.Boot}.Status(name)
		phase, exit, err := b.phase(name, record, &status)
		return func() {
			u.life.reads--
			if err != nil { // its processes can do anything to the folder
				u.logOnce(b.Log, "cannot read a rank's folder", err)
			}
			if statusErr == nil && status.Nonce == u.record.Nonce {
				u.status = status
			}
			b.learn(u, phase, exit)
		}
	})
}

// learn applies a unit's progress as read from the disk.
func (b *units) learn(u *unit, phase model.RankPhase, exit model.Exit) {
	if u.phase.Ended() || !phase.Ended() && u.life.alive {
		return
	}
	u.phase, u.exit = phase, exit
	if phase == model.RankExited {
		u.use.onto(&u.exit)
		b.ended(u)
	}
}

// phase returns a rank's phase from its folder, and classifies its end. If the folder has no end or cannot be
// read, the end may be in the status. The phase of an unreadable folder is running: the rest of the rank must
// be ended first.
func (b *units) phase(name string, r *runner.Record, s *runner.Status) (model.RankPhase, model.Exit, error) {
	var phase model.RankPhase
	var exit model.Exit
	err := b.folder(name, func(f *runner.Folder) (err error) {
		phase, exit, err = f.Phase()
		return err
	})
	if err != nil {
		phase = model.RankRunning
	}
	if !phase.Ended() && s.Exit != nil && s.Nonce == r.Nonce {
		phase, exit = model.RankExited, *s.Exit
	}
	if phase == model.RankExited {
		exit.GPUFault = b.faulty(r, exit)
	}
	return phase, exit, err
}

// explained reports whether the rank's end has a cause that is no fault of a GPU.
func explained(e model.Exit) bool {
	return e.Clean() || e.OOM || e.Fenced || e.Delivered != model.ReasonNone
}

// faulty reports whether one of a rank's GPUs may have caused the rank's end. A driver reports a fault before
// the process on the GPU dies of the fault.
func (b *units) faulty(r *runner.Record, e model.Exit) bool {
	if explained(e) {
		return false
	}
	for _, v := range b.GPUs.Check(r.IDs()) {
		if !v.Known || v.Health == model.HealthQuarantined {
			return true
		}
	}
	return false
}

// folder opens a unit's folder for the duration of use.
func (b *units) folder(name string, use func(*runner.Folder) error) error {
	path, ok := b.Journal.Path(name)
	if !ok {
		return errNoFolder
	}
	f, err := runner.Open(path)
	if err != nil {
		return err
	}
	err = use(f)
	_ = f.Close() // opened to find files, not to write
	return err
}
