package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

const (
	watchEvery  = 200 * time.Millisecond // how often a supervisor looks at its rank and its clocks
	lastLook    = time.Millisecond       // from the end of a job's first process until others count as left behind
	drainLimit  = 5 * time.Second        // for output that a process outside the rank still holds
	trimEvery   = time.Minute            // for as long as it stays
	settleAfter = time.Second            // when a job seems to be one that stays
	retellEvery = 2 * time.Second        // how often a supervisor sees whether its status is still there

	shutdownSpan = time.Second // in which a shutdown of the host sends its signal to all processes
)

// jobUmask is the umask of jobs that run under the agent's own account and of hooks, whatever started the
// agent.
const jobUmask = 0o022

// wakeSignal makes a supervisor read its orders. Processes that are not ready for the signal ignore it.
const wakeSignal = unix.SIGWINCH

// supervisor prepares, starts, watches and ends one rank.
type supervisor struct {
	place

	card      card
	status    runner.Status
	untold    bool      // the status could not be written down
	check     time.Time // when to see whether it is still there
	orders    runner.Orders
	guard     fence.Guard
	alarm     *alarm
	before    fence.Reading
	heard     chan os.Signal
	port      *runner.Port // reserved for the gang; nil: none
	setup     setup
	ending    ending
	processes processes

	starting starting // the first process, until it is the job

	scratch scratch
	output  sync.WaitGroup
}

// place is what a supervisor reads once: its rank and where that is.
type place struct {
	folder *runner.Folder
	record *runner.Record
	run    runner.RunFolder
	rules  laid
}

func openPlace(path string) (p place, err error) {
	if p.folder, err = runner.Open(path); err != nil {
		return p, err
	}
	if p.record, err = p.folder.Record(); err != nil {
		return p, err
	}
	p.run = runner.RunFolder{Path: p.record.Run, Boot: p.record.Boot}
	p.rules, err = readRules(p.run)
	return p, err
}

// Supervise runs the rank of a folder in this process, which must have been started for that and nothing
// else, and after it the ranks that the agent hands on while it lives. It returns when nothing is left to do:
// each rank has ended, and that is on disk, or will not start.
func Supervise(path string) error {
	runtime.LockOSThread() // the job dies with this thread
	isolate.CloseReceived()
	unix.Umask(jobUmask)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	Spare()
	noCores()
	link := openLink(os.Stdin)
	shown := newCard()
	for {
		s, err := newSupervisor(path, shown)
		if err == nil {
			err = s.live()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !s.ending.clean || s.ending.cut || link == nil || s.leave() != nil {
			return nil
		}
		if path = link.next(); path == "" {
			_ = unix.Rmdir(s.rules.Groups) // as long as another rank has its group there, it stays
			return nil
		}
	}
}

// noCores disables core files of jobs, which can be as large as their memory, unless a job enables them. If
// the limit cannot be set it stays as it is.
func noCores() {
	var has unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &has) == nil {
		has.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &has)
	}
}

// live runs a rank from its beginning to its end.
func (s *supervisor) live() error {
	if err := s.tell(model.RankTaken); err != nil { // names the group before there is one
		return err
	}
	group, err := s.rules.group(s.folder.Name(), s.record)
	if err != nil {
		return err
	}
	s.processes.group = group
	defer s.processes.leave()
	s.alarm = newAlarm()
	defer s.alarm.close()
	s.setup.fetch(&s.place)
	defer s.setup.drop()
	defer func() { s.port.Close() }()
	if !s.prepare() {
		return s.refuse()
	}
	if began, err := s.start(); !began {
		return errors.Join(err, s.refuse())
	}
	return s.finish(s.watch())
}

// refuse records the end of a rank that does not start. If the node is the cause, the status says why, and no
// other supervisor starts the rank.
func (s *supervisor) refuse() error {
	s.setup.drop()
	s.undo(model.Exit{})
	s.setup.store.forget(len(s.orders.Gang) <= 1)
	if s.setup.err == nil || errors.Is(s.setup.err, context.Canceled) {
		return nil
	}
	if word, _, err := s.folder.Latch(runner.LatchNever); err != nil || word != runner.LatchNever {
		return err
	}
	s.status.Note = model.Clip(s.setup.err.Error())
	_, s.status.NoAccount = errors.AsType[*accountError](s.setup.err)
	return s.tell(model.RankNever)
}

// leave releases a rank of which nothing is left, so that this process can take another.
func (s *supervisor) leave() error {
	signal.Stop(s.heard)
	s.card.clear()
	s.status.PID = 0
	return errors.Join(s.run.SetStatus(s.folder.Name(), s.status), s.folder.Close())
}

func newSupervisor(path string, shown card) (*supervisor, error) {
	p, err := openPlace(path)
	if err != nil {
		return nil, err
	}
	self, ok := proc.Look(os.Getpid())
	if !ok {
		return nil, fmt.Errorf("/proc does not show this process")
	}
	r := p.record
	s := &supervisor{
		place: p, card: shown, orders: r.Orders, guard: fence.NewGuard(fence.Boot(r.Start), r.Frozen), before: Now(),
		heard: make(chan os.Signal, 8), processes: processes{self: os.Getpid(), ends: make(chan reaped, 1)},
	}
	s.status = runner.Status{Boot: r.Boot, PID: os.Getpid(), Born: self.Born, Nonce: r.Nonce, Group: p.rules.groupPath(p.folder.Name())}
	if s.status.Group == "" {
		agent, _ := proc.Look(self.Parent) // one that has ended meanwhile takes in nothing
		s.status.Agent = runner.Started{PID: agent.PID, Born: agent.Born, Reaper: p.rules.Reaper}
		s.status.Place = placeOf(s.status.PID)
	}
	signal.Notify(s.heard, wakeSignal, unix.SIGTERM)
	// Received and ignored. If one of these were set to ignore, as in a program that nohup has started, the
	// job would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	return s, nil
}

// tell writes the supervisor's status, and wakes the agent.
func (s *supervisor) tell(phase model.RankPhase) error {
	s.status.Phase = phase
	s.card.show(runner.Survivor{Name: s.folder.Name(), Record: s.record, Status: s.status})
	err := s.run.SetStatus(s.folder.Name(), s.status)
	if s.untold = err != nil; s.untold {
		return err
	}
	wakeAgent(s.run.Events(), runner.Event{Name: s.folder.Name(), Status: s.status})
	return nil
}

// retell writes the status again if that failed before, or if the file is lost or damaged: agents look for
// it.
func (s *supervisor) retell() {
	if now := time.Now(); now.After(s.check) {
		s.check = now.Add(retellEvery)
		had, err := s.run.Status(s.folder.Name())
		s.untold = s.untold || err != nil || !reflect.DeepEqual(had, s.status)
	}
	if s.untold {
		_ = s.tell(s.status.Phase) // if that fails the next look tries again
	}
}

// listen reads the newest orders.
func (s *supervisor) listen() {
	if o, err := s.run.Orders(s.folder.Name()); err == nil {
		s.orders = o
	}
}

// pause waits for the next look.
func (s *supervisor) pause() {
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	select {
	case sig := <-s.heard:
		s.hear(sig)
	case err := <-s.setup.ready:
		s.setup.took(err)
	case <-timer.C:
	}
}

// hear handles a signal: the agent's, for new orders, or a request to end by the host's or the cluster's
// shutdown. The latter is treated as the end of the lease: the rank is cut off, and may run elsewhere.
func (s *supervisor) hear(sig os.Signal) {
	if sig == unix.SIGTERM {
		s.ending.cut = true
	}
	s.listen()
}

// prepare prepares the rank and waits for the order to run; false: there will be none.
func (s *supervisor) prepare() bool {
	for {
		s.listen()
		now := s.look()
		s.guard.Extend(now.Boot, fence.Boot(s.run.LeaseOf(s.record.Nonce)))
		s.retell()
		switch {
		case s.orders.Refuse || s.ending.cut || s.guard.Verdict(now.Boot) != fence.Run:
			return false
		case s.setup.err != nil && !s.setup.fitted:
			return false
		case !s.setup.fitted:
		case s.orders.Run && s.status.Frozen == 0 && fence.MayStart(now.Boot, s.guard.Start, s.record.Frozen):
			return true
		case s.status.Phase < model.RankReady && !s.orders.Run:
			if s.record.Rank.Rank == 0 {
				s.reservePort()
			}
			_ = s.tell(model.RankReady) // if that fails the agent looks again
		}
		s.pause()
	}
}

// reservePort reserves a port for the gang, unless there is one.
func (s *supervisor) reservePort() {
	if s.port != nil {
		return
	}
	if s.port = runner.ReservePort(); s.port != nil {
		s.status.Port = s.port.Number
	}
}

// look reads the clocks, and freezes the rank after a clock gap.
func (s *supervisor) look() fence.Reading {
	now := Now()
	since := time.Duration(0)
	if fence.MustFreeze(s.before, now, s.record.Frozen.T) {
		since = time.Duration(now.Boot)
	}
	s.before = now
	s.freeze(max(since, s.orders.Freeze), now.Boot)
	return now
}
