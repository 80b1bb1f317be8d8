package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// Options are the settings of a Runner.
type Options struct {
	Run     runner.RunFolder
	Program []string // of a supervisor, up to the folder of its rank
	Rules   Rules
	Home    Home   // the agent's data folder
	Kernel  string // folder below which the kernel shows itself; empty: "/"
	Devices Guard  // keeps ranks' groups from GPUs of others; nil: nothing does
}

// Bounds for supervisors that wait for another rank.
const (
	maxIdle = 16
	idleFor = 30 * time.Second
)

// Runner is a runner.Runner of processes.
type Runner struct {
	o      Options
	rules  laid
	host   runner.Host
	groups string // cgroup folder for the ranks' groups; empty: they have none
	leaf   string // cgroup folder for supervisors to start in; empty: that of this process
	pipe   *os.File
	events chan runner.Event
	quit   chan struct{}
	since  uint64 // start time of the oldest process that this Runner may have started
	work   sync.WaitGroup

	mu      sync.Mutex
	watched map[string]*worker // those with a rank, by its nonce
	idle    []*worker
	closed  bool
}

// worker is the process of a supervisor.
type worker struct {
	handle *handle
	link   *link  // nil: it takes no further rank
	name   string // of its rank's folder
	nonce  string
	since  time.Time // when it became idle
}

// New returns a Runner; there may be one for each run folder.
func New(o Options) (*Runner, error) {
	if err := o.Rules.prepare(); err != nil {
		return nil, err
	}
	tree, host := claim(&o)
	reaper, err := 0, error(nil)
	if tree.Path == "" {
		if reaper, err = adoptOrphans(); err != nil {
			return nil, fmt.Errorf("taking in what killed supervisors leave: %w", err)
		}
	}
	rules := laid{Rules: o.Rules, Groups: tree.Path, Reaper: reaper, Guarded: o.Devices != nil}
	if err := lay(o.Run, &rules); err != nil {
		return nil, fmt.Errorf("writing this node's rules down: %w", err)
	}
	pipe, err := openEvents(o.Run.Events())
	if err != nil {
		return nil, err
	}
	r := &Runner{
		o: o, rules: rules, host: host, groups: tree.Path, leaf: tree.Supervisors, pipe: pipe,
		events: make(chan runner.Event, 256), quit: make(chan struct{}), since: tickNow(), watched: map[string]*worker{},
	}
	r.work.Go(func() { readEvents(pipe, r.pass) })
	r.work.Go(r.tend)
	return r, nil
}

// Close stops watching. Supervisors that have a rank go on.
func (r *Runner) Close() {
	close(r.quit)
	_ = r.pipe.Close()
	r.mu.Lock()
	r.closed = true
	for _, w := range r.watched {
		w.close()
	}
	for _, w := range r.idle {
		_ = w.handle.signal(unix.SIGCONT)
		w.close()
	}
	r.mu.Unlock()
	r.work.Wait()
	if r.groups != "" {
		_ = unix.Rmdir(r.groups) // as long as ranks are in it, it stays
	}
}

func (w *worker) close() {
	w.handle.close()
	if w.link != nil {
		w.link.close()
	}
}

// Host returns the isolation that this host allows.
func (r *Runner) Host() runner.Host { return r.host }

// Events returns the events of supervisors.
func (r *Runner) Events() <-chan runner.Event { return r.events }

func (r *Runner) pass(e runner.Event) {
	select {
	case r.events <- e:
	case <-r.quit:
	}
}

// Start gives the rank of a folder to a supervisor: one that waits for another rank, or a new one. A
// supervisor has nothing of this process but a few variables: neither its terminal nor its output. It runs on
// one processor.
func (r *Runner) Start(f *runner.Folder, rec *runner.Record) error {
	if err := r.mend(); err != nil {
		return err
	}
	if err := r.confine(f.Name(), rec); err != nil {
		return err
	}
	for w := r.takeIdle(f.Name(), rec.Nonce); w != nil; w = r.takeIdle(f.Name(), rec.Nonce) {
		if w.link.give(f.Path()) == nil {
			return nil
		}
		r.drop(rec.Nonce) // the supervisor has died, and its watcher is done with it
	}
	mine, theirs, err := newLink()
	if err != nil {
		return err
	}
	p, err := supervisors.start(func() (*os.Process, error) { return r.spawn(f.Path(), theirs) })
	if err = errors.Join(err, theirs.Close()); err != nil {
		mine.close()
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	h, err := openHandle(p.Pid)
	if err != nil {
		mine.close()
		return errors.Join(err, p.Kill())
	}
	w := &worker{handle: h, link: mine, name: f.Name(), nonce: rec.Nonce}
	r.watch(w)
	r.work.Go(func() {
		for w.link.done() {
			r.rest(w)
		}
		r.follow(w, func() { supervisors.collect(p) })
	})
	return nil
}

func (r *Runner) spawn(path string, in *os.File) (*os.Process, error) {
	env := []string{"GOMAXPROCS=1", r.o.Home.variable()}
	for _, name := range kept() {
		if v, set := os.LookupEnv(name); set {
			env = append(env, name+"="+v)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	sys := &syscall.SysProcAttr{Setsid: true}
	if r.leaf != "" {
		group, err := r.supervisorGroup()
		if err != nil {
			return nil, err
		}
		defer func() { _ = group.Close() }()
		sys.UseCgroupFD, sys.CgroupFD = true, int(group.Fd())
	}
	argv := append(append([]string(nil), r.o.Program...), path)
	return os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: "/", Env: env, Files: []*os.File{in, null, null}, Sys: sys})
}

// supervisorGroup opens the group for supervisors to start in. If the unit that holds it was started again since, the
// groups are made again. While the unit is being stopped, or is stopped, none starts: it would be killed with the unit.
func (r *Runner) supervisorGroup() (*os.File, error) {
	layout, err := cgroup.Look(cmp.Or(r.o.Kernel, "/"))
	if err != nil {
		return nil, err
	}
	tree, err := layout.Claim(filepath.Base(r.groups))
	if tree.Supervisors != r.leaf {
		return nil, &runner.NotReadyError{Why: cmp.Or(err, fmt.Errorf("%s does not run: start that unit", cgroup.JobsUnit))}
	}
	return os.Open(r.leaf)
}

// Ready returns why no rank can start on this host for now; nil: ranks can.
func (r *Runner) Ready() error {
	if r.leaf == "" {
		return nil
	}
	group, err := r.supervisorGroup()
	if err != nil {
		return err
	}
	return group.Close()
}

// Account returns why this host has no account for jobs of a user; nil: it has, or jobs run under no other accounts.
func (r *Runner) Account(user string) error {
	if !r.rules.Isolate.On {
		return nil
	}
	_, err := r.rules.Isolate.Account(user)
	return err
}

func (r *Runner) watch(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched[w.nonce] = w
}

// takeIdle gives a rank to a supervisor that waits for one; nil: there is none.
func (r *Runner) takeIdle(name, nonce string) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.idle)
	if n == 0 {
		return nil
	}
	w := r.idle[n-1]
	r.idle = r.idle[:n-1]
	w.name, w.nonce = name, nonce
	r.watched[nonce] = w
	return w
}

func (r *Runner) drop(nonce string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watched, nonce)
}

// tend ends supervisors that have waited for too long, and continues the others.
func (r *Runner) tend() {
	ticker := time.NewTicker(idleFor / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.mu.Lock()
			r.dismiss(func(w *worker) bool { return time.Since(w.since) > idleFor })
			for _, w := range r.watched {
				_ = w.handle.signal(unix.SIGCONT) // a stopped supervisor cannot obey its fence
			}
			r.mu.Unlock()
			if r.groups == "" {
				supervisors.orphans() // which collects those that have ended
			}
		case <-r.quit:
			return
		}
	}
}

// dismiss ends the oldest of the waiting supervisors until enough. The lock is held.
func (r *Runner) dismiss(enough func(oldest *worker) bool) {
	for len(r.idle) > 0 && enough(r.idle[0]) {
		r.idle[0].link.close()
		_ = r.idle[0].handle.signal(unix.SIGCONT) // a stopped one would not see that
		r.idle = r.idle[1:]
	}
}

// rest adds a supervisor that has nothing left to do to the waiting ones.
func (r *Runner) rest(w *worker) {
	r.mu.Lock()
	name := w.name
	delete(r.watched, w.nonce)
	w.since = time.Now()
	r.idle = append(r.idle, w)
	r.dismiss(func(*worker) bool { return r.closed || len(r.idle) > maxIdle })
	r.mu.Unlock()
	r.pass(runner.Event{Name: name, Gone: true})
}

// follow reports the end of a supervisor's process.
func (r *Runner) follow(w *worker, reap func()) {
	ended := w.handle.wait()
	r.mu.Lock()
	busy := r.watched[w.nonce] == w
	if busy {
		delete(r.watched, w.nonce)
	}
	r.idle = slices.DeleteFunc(r.idle, func(o *worker) bool { return o == w })
	name := w.name
	r.mu.Unlock()
	w.close()
	if ended {
		reap()
	}
	if ended && busy {
		r.pass(runner.Event{Name: name, Gone: true})
	}
}

// Adopt finds the living supervisor of a rank, by boot, process id, start time and nonce, and watches it from
// now on unless that is the case already. If the supervisor's status is lost, its process is searched for.
func (r *Runner) Adopt(name string, rec *runner.Record) (runner.Status, bool) {
	if rec.Boot != r.o.Run.Boot {
		return runner.Status{}, false
	}
	s, err := runner.RunFolder{Path: rec.Run, Boot: r.o.Run.Boot}.Status(name)
	if err == nil && s.Nonce == rec.Nonce {
		if alive := r.adopt(name, rec, s); alive {
			return s, true
		}
	} else {
		s = runner.Status{}
	}
	if shown, found := r.survivor(rec.Nonce); found && r.adopt(name, rec, shown) {
		return shown, true
	}
	return s, false
}

// adopt watches the supervisor that a status names; false: it does not live.
func (r *Runner) adopt(name string, rec *runner.Record, s runner.Status) bool {
	r.mu.Lock()
	_, known := r.watched[rec.Nonce]
	r.mu.Unlock()
	if known {
		return true
	}
	h, err := openHandle(s.PID)
	if err != nil {
		return false
	}
	if e, ok := proc.Look(s.PID); !ok || e.Gone() || e.Born != s.Born { // what the handle holds cannot change any more
		h.close()
		return false
	}
	w := &worker{handle: h, name: name, nonce: rec.Nonce}
	r.watch(w)
	r.work.Go(func() { r.follow(w, func() {}) })
	return true
}

// Wake makes a rank's supervisor read its orders.
func (r *Runner) Wake(rec *runner.Record) error {
	r.mu.Lock()
	w := r.watched[rec.Nonce]
	r.mu.Unlock()
	if w == nil {
		return fs.ErrNotExist
	}
	return w.handle.signal(wakeSignal)
}
