package sim

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// folder is the content of a rank's folder on disk.
type folder struct {
	Rank        model.RankKey
	Incarnation model.Incarnation
	Placed      uint64
	Boot        string // of the kernel under which it was made
	Frozen      model.Frozen
	GPUs        []model.GPUID
	Command     string
}

// A rank's files. The latch is made once and for ever, by the first of two: the supervisor that starts the rank, or an agent that refuses
// it.
const (
	folderPrefix = "attempts/"
	latchSuffix  = ".latch"
	exitSuffix   = ".exit"
	markFile     = "mark"
	lineageFile  = "lineage"

	latchStarted = "started"
	latchNever   = "never"
)

func folderName(r model.RankKey) string {
	return folderPrefix + strings.NewReplacer("/", "-", "#", "-").Replace(r.String())
}

// unit is a rank on a host: its folder, and the messages between its supervisor and the agent as long as the
// kernel lives. The host's lock guards it.
type unit struct {
	folder
	phase  model.RankPhase
	exit   model.Exit
	proc   *process
	guard  fence.Guard
	orders orders
	alive  bool       // its supervisor
	end    func()     // kills its supervisor
	frozen fence.Boot // since then; 0: it is not

	told told // the agent's memory
	past bool // of an earlier boot: its end is not reported
}

// roster is units in the order of their ranks.
type roster []*unit

func (r roster) find(k model.RankKey) (at int, found bool) {
	return slices.BinarySearchFunc(r, k, func(u *unit, k model.RankKey) int { return u.Rank.Compare(k) })
}

// get returns the unit of a rank, or nil.
func (r roster) get(k model.RankKey) *unit {
	if at, found := r.find(k); found {
		return r[at]
	}
	return nil
}

// put takes a unit in, in place of one of the same rank.
func (r *roster) put(u *unit) {
	if at, found := r.find(u.Rank); found {
		(*r)[at] = u
	} else {
		*r = slices.Insert(*r, at, u)
	}
}

// told is the newest phase that the cluster has confirmed, and the index of a state that contains it.
type told struct {
	phase model.RankPhase
	index uint64
}

// orders are the agent's orders for a supervisor.
type orders struct {
	run    bool
	stop   model.Reason
	kill   bool
	refuse bool
}

// unwatched reports whether the unit runs, as far as is known, and its supervisor is gone.
func (u *unit) unwatched() bool { return u.phase == model.RankRunning && !u.alive && !u.past }

// local returns the unit as plans see it.
func (u *unit) local() fence.Local {
	l := fence.Local{Rank: u.Rank, Incarnation: u.Incarnation, Placed: u.Placed, Stop: u.orders.stop, Exit: u.exit, Phase: u.phase}
	if !u.alive && !u.phase.Ended() && u.phase != model.RankRunning {
		l.Phase = model.RankAssigned // the start broke off
	}
	return l
}

// store is a host's small files as one life of its data folder has them.
type store struct {
	files simdisk.Files
	run   *runFile
}

// runFile is the start of the lease, for supervisors. It is a file in memory (tmpfs): a supervisor that had
// to read it from a disk that hangs would miss its own fence. It goes with the kernel, and it is the file of
// one data folder: an agent that starts with an empty folder must not extend ranks that it does not know.
type runFile struct {
	mu    sync.Mutex
	start fence.Boot
	away  fence.Boot // a later instant without a leader; it begins nothing new
}

func (r *runFile) get() fence.Boot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.start
}

func (r *runFile) set(start fence.Boot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = max(r.start, start)
}

// extent returns the instant from which running ranks have their time.
func (r *runFile) extent() fence.Boot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.start, r.away)
}

func (r *runFile) setAway(at fence.Boot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = max(r.away, at)
}

func newStore(d *simdisk.Disk) store { return store{files: d.Open().Files(), run: new(runFile)} }

func (s store) put(name string, v any) error {
	data, err := cbor.Marshal(v)
	if err != nil {
		return err
	}
	return s.files.Write(name, data)
}

func (s store) get(name string, v any) error {
	data, err := s.files.Read(name)
	if err != nil {
		return err
	}
	return cbor.Unmarshal(data, v)
}

// create makes a rank's folder; it fails if there is one.
func (s store) create(f folder) error {
	data, err := cbor.Marshal(f)
	if err != nil {
		return err
	}
	return s.files.Create(folderName(f.Rank), data)
}

// latch decides for ever whether a rank starts, and reports what was decided.
func (s store) latch(r model.RankKey, want string) (string, error) {
	name := folderName(r) + latchSuffix
	err := s.files.Create(name, []byte(want))
	if !errors.Is(err, fs.ErrExist) {
		return want, err
	}
	had, err := s.files.Read(name)
	return string(had), err
}

// load reads every rank's folder on the disk.
func (s store) load() (out []*unit, err error) {
	names, err := s.files.List(folderPrefix)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, latchSuffix) || strings.HasSuffix(name, exitSuffix) {
			continue
		}
		u := new(unit)
		if err := s.get(name, &u.folder); err != nil {
			return nil, err
		}
		if err := s.loadPhase(u); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// loadPhase returns the progress of a rank without a supervisor: running means that it was started and has left no end.
func (s store) loadPhase(u *unit) error {
	name := folderName(u.Rank)
	u.phase = model.RankAssigned
	switch latch, err := s.files.Read(name + latchSuffix); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case string(latch) == latchNever:
		u.phase = model.RankNever
		return nil
	}
	u.phase = model.RankRunning
	switch err := s.get(name+exitSuffix, &u.exit); {
	case err == nil:
		u.phase = model.RankExited
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
