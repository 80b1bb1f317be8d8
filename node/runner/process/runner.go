package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner"
)

// Options are what a Runner works with.
type Options struct {
	Run     runner.RunFolder
	Program []string // of a supervisor, before the folder; empty: this program's "supervise"
}

// Runner is a runner.Runner of processes.
type Runner struct {
	o      Options
	pipe   *os.File
	events chan runner.Event
	quit   chan struct{}
	work   sync.WaitGroup

	mu      sync.Mutex
	watched map[string]*handle // living supervisors, by their rank's nonce
}

var _ runner.Runner = (*Runner)(nil)

// New makes a Runner; there may be one for each run folder.
func New(o Options) (*Runner, error) {
	if len(o.Program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("this program does not know where it is: %w", err)
		}
		o.Program = []string{self, "supervise"}
	}
	pipe, err := openEvents(o.Run.Events())
	if err != nil {
		return nil, err
	}
	r := &Runner{o: o, pipe: pipe, events: make(chan runner.Event, 256), quit: make(chan struct{}), watched: map[string]*handle{}}
	r.work.Go(func() { readEvents(pipe, r.pass) })
	return r, nil
}

// Close stops watching. Supervisors go on.
func (r *Runner) Close() {
	close(r.quit)
	_ = r.pipe.Close()
	r.mu.Lock()
	for _, h := range r.watched {
		h.close()
	}
	r.mu.Unlock()
	r.work.Wait()
}

// Events are news of supervisors.
func (r *Runner) Events() <-chan runner.Event { return r.events }

func (r *Runner) pass(e runner.Event) {
	select {
	case r.events <- e:
	case <-r.quit:
	}
}

// Start starts a supervisor for the rank of a folder. The supervisor has nothing of
// this process but a few variables: neither its terminal nor its pipes. It is small
// and does not live long in most cases, so it runs on one processor without
// collecting garbage until it has 64 MiB.
func (r *Runner) Start(f *runner.Folder, rec *runner.Record) error {
	env := []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=64MiB"}
	for _, name := range []string{"HOME", "PATH", "USER", "LANG", "TZ"} {
		if v, set := os.LookupEnv(name); set {
			env = append(env, name+"="+v)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	argv := append(append([]string(nil), r.o.Program...), f.Path())
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	h, err := openHandle(p.Pid)
	if err != nil {
		return errors.Join(err, p.Kill())
	}
	r.watch(f.Name(), rec.Nonce, h, func() { _, _ = p.Wait() })
	return nil
}

// watch reports the end of a supervisor.
func (r *Runner) watch(name, nonce string, h *handle, reap func()) {
	r.mu.Lock()
	r.watched[nonce] = h
	r.mu.Unlock()
	r.work.Go(func() {
		ended := h.wait()
		r.mu.Lock()
		delete(r.watched, nonce)
		r.mu.Unlock()
		h.close()
		if ended {
			reap()
			r.pass(runner.Event{Name: name, Gone: true})
		}
	})
}

// Adopt finds the living supervisor of a rank, by boot, process id, start time and
// nonce, and watches it from now on unless it does so already.
func (r *Runner) Adopt(f *runner.Folder, rec *runner.Record) (runner.Status, bool) {
	s, err := runner.RunFolder{Path: rec.Run, Boot: r.o.Run.Boot}.Status(f.Name())
	if err != nil || s.Nonce != rec.Nonce || rec.Boot != r.o.Run.Boot {
		return runner.Status{}, false
	}
	r.mu.Lock()
	_, known := r.watched[rec.Nonce]
	r.mu.Unlock()
	if known {
		return s, true
	}
	h, err := openHandle(s.PID)
	if err != nil {
		return s, false
	}
	if e, ok := look(s.PID); !ok || e.gone() || e.born != s.Born { // what the handle holds cannot change any more
		h.close()
		return s, false
	}
	r.watch(f.Name(), rec.Nonce, h, func() {})
	return s, true
}

// Wake lets a rank's supervisor look at its orders.
func (r *Runner) Wake(rec *runner.Record) error {
	r.mu.Lock()
	h := r.watched[rec.Nonce]
	r.mu.Unlock()
	if h == nil {
		return fs.ErrNotExist
	}
	return h.signal(wakeSignal)
}

// Bury kills what a rank has left whose supervisor is gone.
func (r *Runner) Bury(rec *runner.Record, s runner.Status) bool {
	left := remains(rec.Nonce, s)
	for _, e := range left {
		_ = unix.Kill(e.pid, unix.SIGKILL)
	}
	return len(left) == 0
}

// remains lists the living processes of a rank that has no supervisor: those of the
// job's session, those that carry the nonce, and what descends from them.
func remains(nonce string, s runner.Status) []entry {
	list := all()
	session := s.Session
	for _, e := range list {
		if e.pid == session && e.born != s.Begun {
			session = 0 // the number belongs to somebody else now
		}
	}
	roots := map[int]bool{}
	var out []entry
	for _, e := range list {
		if session != 0 && e.session == session || marked(e.pid, nonce) {
			roots[e.pid] = true
			out = append(out, e)
		}
	}
	return append(out, below(list, roots)...)
}
