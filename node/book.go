package node

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// book holds a node's units: all whose end the cluster has not confirmed, and while
// a restored cluster is being told, those that have ended before.
type book struct {
	*core
	units   map[string]*unit // by the folder's name
	index   map[key]*unit
	loading bool // ended ranks are being read: nothing may begin
	ended   func(*unit)
	next    time.Time // when to look at what supervisors have written
}

// lookAgain is how often the agent looks for news that did not reach it: the pipe
// of events takes no more when it is full.
const lookAgain = 5 * time.Second

func newBook(c *core) *book {
	return &book{core: c, units: map[string]*unit{}, index: map[key]*unit{}, ended: func(*unit) {}, next: later(lookAgain)}
}

// refresh looks at what living supervisors have written.
func (b *book) refresh() {
	if !due(b.next) {
		return
	}
	b.next = later(lookAgain)
	for _, u := range b.units {
		if !u.life.alive || u.life.busy {
			continue
		}
		record := u.record
		b.beside(func() func() {
			s, err := runner.RunFolder{Path: record.Run, Boot: b.Run.Boot}.Status(u.name)
			return func() {
				if err == nil && u.life.alive {
					b.news(runner.Event{Name: u.name, Status: s})
				}
			}
		})
	}
}

func (b *book) put(u *unit) {
	b.units[u.name] = u
	b.index[u.key()] = u
}

func (b *book) drop(u *unit) {
	delete(b.units, u.name)
	if b.index[u.key()] == u {
		delete(b.index, u.key())
	}
}

// sorted lists the units: those that have not ended first, then in order of rank.
func (b *book) sorted() []*unit {
	out := make([]*unit, 0, len(b.units))
	for _, u := range b.units {
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

func (b *book) locals() []fence.Local {
	out := make([]fence.Local, 0, len(b.units))
	for _, u := range b.units {
		out = append(out, u.local())
	}
	return out
}

// leases lists the nonces of the ranks that have not ended, for each run folder in which
// one of their supervisors reads its lease.
func (b *book) leases() map[string][]string {
	out := map[string][]string{b.Run.Path: nil}
	for _, u := range b.units {
		if !u.phase.Ended() && u.record.Nonce != "" {
			out[u.record.Run] = append(out[u.record.Run], u.record.Nonce)
		}
	}
	return out
}

// frozen says that a rank stands still.
func (b *book) frozen() bool {
	for _, u := range b.units {
		if !u.phase.Ended() && (u.status.Frozen != 0 || u.desk.Freeze > u.desk.Thaw) {
			return true
		}
	}
	return false
}

// shortest is the shortest T of the ranks that have not ended; 0: there is none.
func (b *book) shortest() (t time.Duration) {
	for _, u := range b.units {
		if f := u.record.Frozen.T; !u.phase.Ended() && f > 0 && (t == 0 || f < t) {
			t = f
		}
	}
	return t
}

// confirm notes what the cluster has been told.
func (b *book) confirm(told map[*unit]model.Progress, index uint64) {
	for u, p := range told {
		if p.Saved > u.told.saved {
			u.told.saved, u.told.again = p.Saved, later(savedPause)
		}
		u.told.phase = max(u.told.phase, p.Phase)
		u.told.index = max(u.told.index, index)
	}
}

// savedPause is the least between two checkpoints of a rank that are told.
const savedPause = 10 * time.Second

// news takes what a supervisor has to say.
func (b *book) news(e runner.Event) {
	u := b.units[e.Name]
	switch {
	case u == nil:
	case e.Gone:
		u.life.alive = false
		b.reread(u)
	case e.Status.Nonce != u.record.Nonce:
	default:
		u.status = e.Status
		if e.Status.Phase == model.RankExited {
			b.reread(u)
		} else if !u.phase.Ended() {
			u.phase = max(u.phase, e.Status.Phase)
		}
	}
}

// reread looks on the disk how far a unit has got.
func (b *book) reread(u *unit) {
	if u.phase.Ended() {
		return
	}
	u.life.reads++
	name, record := u.name, u.record
	b.beside(func() func() {
		status, statusErr := runner.RunFolder{Path: record.Run, Boot: b.Run.Boot}.Status(name)
		phase, exit, err := b.phase(name, record, &status)
		return func() {
			u.life.reads--
			if err != nil { // its processes can do anything to it
				u.complain(b.Log, "a rank's folder cannot be read", err)
			}
			if statusErr == nil && status.Nonce == u.record.Nonce {
				u.status = status
			}
			b.found(u, phase, exit)
		}
	})
}

// found takes what the disk says of a unit.
func (b *book) found(u *unit, phase model.RankPhase, exit model.Exit) {
	if u.phase.Ended() || !phase.Ended() && u.life.alive {
		return
	}
	u.phase, u.exit = phase, exit
	if phase == model.RankExited {
		u.use.onto(&u.exit)
		b.ended(u)
	}
}

// phase reads a rank's phase from its folder, and judges its end. An end that is not
// there, or in a folder that cannot be read, may be in the status. Of a folder that
// cannot be read the phase is running: what the rank has left must be ended first.
func (b *book) phase(name string, r *runner.Record, s *runner.Status) (model.RankPhase, model.Exit, error) {
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

// faulty says whether one of a rank's GPUs may be to blame for its end. A driver
// tells of a fault before the process that was on the GPU has died of it.
func (b *book) faulty(r *runner.Record, e model.Exit) bool {
	if e.Clean() || e.OOM || e.Fenced || e.Delivered != model.ReasonNone {
		return false
	}
	for _, v := range b.GPUs.Check(r.IDs()) {
		if !v.Known || v.Health == model.HealthQuarantined {
			return true
		}
	}
	return false
}

// folder opens a unit's folder for as long as use lasts.
func (b *book) folder(name string, use func(*runner.Folder) error) error {
	path, ok := b.Journal.Path(name)
	if !ok {
		return errNoFolder
	}
	f, err := runner.Open(path)
	if err != nil {
		return err
	}
	err = use(f)
	_ = f.Close() // it was open to find files, not to write
	return err
}
