package sim

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// behavior is what a job's program does. It travels as the job's command line.
type behavior struct {
	Job       string        // its name, by which its user's wish is found
	Run       time.Duration // until it ends by itself
	Code      int32         // with this exit code
	Failures  uint32        // so many attempts exit 1 instead
	Lead      bool          // only rank 0 ends by itself
	IgnoreSig bool          // of the stop signal
	Fork      time.Duration // a child on the same GPUs outlives it by so much; 0: none
	KillLag   time.Duration // the kernel needs so long to kill it
}

func (b behavior) command() string {
	text, err := json.Marshal(b)
	if err != nil {
		return "{}"
	}
	return string(text)
}

func parseBehavior(command string) (b behavior) {
	if json.Unmarshal([]byte(command), &b) != nil {
		b.Run = time.Second
	}
	return b
}

// process is one process of a rank: a record that is updated when it is read. The kernel's lock guards it.
type process struct {
	rank   model.RankKey
	gpus   []model.GPUID
	does   behavior
	child  bool      // forked by the rank's own
	ends   time.Time // by itself or by a signal
	killed bool      // ends because of SIGKILL
	asked  bool      // ends because of the stop signal
	frozen time.Time // when it was frozen; zero: it runs
	exit   model.Exit
	gone   bool
}

// kernel holds what runs on a host. Its caller holds the host's lock.
type kernel struct {
	procs   []*process
	paused  time.Time // when the machine was stopped; zero: it runs
	resumed time.Time // when it last went on
}

// now returns the time as processes have it: it stops while the machine does.
func (k *kernel) now() time.Time {
	if k.paused.IsZero() {
		return time.Now()
	}
	return k.paused
}

// settle lets what should have ended by now end.
func (k *kernel) settle() {
	if !k.paused.IsZero() {
		return
	}
	now := time.Now()
	for _, p := range k.procs {
		if !p.gone && (p.frozen.IsZero() || p.killed) && !p.ends.After(now) {
			p.gone = true
			p.exit = p.outcome()
			k.fork(p)
		}
	}
	k.procs = slices.DeleteFunc(k.procs, func(p *process) bool { return p.gone })
}

func (p *process) outcome() model.Exit {
	switch {
	case p.killed:
		return model.Exit{Signal: 9}
	case p.asked:
		return model.Exit{Signal: 15}
	case p.rank.N <= p.does.Failures:
		return model.Exit{Code: 1}
	}
	return model.Exit{Code: p.does.Code}
}

// fork leaves a child behind when a process ends by itself.
func (k *kernel) fork(p *process) {
	if p.does.Fork > 0 && !p.child && !p.killed {
		k.procs = append(k.procs, &process{
			rank: p.rank, gpus: p.gpus, does: behavior{Job: p.does.Job, KillLag: p.does.KillLag}, child: true, ends: time.Now().Add(p.does.Fork),
		})
	}
}

// spawn starts a rank's process.
func (k *kernel) spawn(rank model.RankKey, gpus []model.GPUID, does behavior) *process {
	if does.Lead && rank.Rank > 0 {
		does.Run = 1000 * time.Hour
	}
	p := &process{rank: rank, gpus: gpus, does: does, ends: k.now().Add(does.Run)}
	k.procs = append(k.procs, p)
	return p
}

// signal asks a rank's own process to end, which takes it half a second.
func (k *kernel) signal(p *process) {
	if soon := k.now().Add(500 * time.Millisecond); !p.does.IgnoreSig && !p.gone && soon.Before(p.ends) {
		p.ends, p.asked = soon, true
	}
}

// kill kills one process at once, also one that is frozen.
func (k *kernel) kill(p *process) { p.ends, p.killed, p.frozen = k.now(), true, time.Time{} }

// killAll kills all processes of a rank. One that is frozen ends without running again.
func (k *kernel) killAll(rank model.RankKey) {
	for _, p := range k.procs {
		if by := k.now().Add(p.does.KillLag); p.rank == rank && !p.killed && (by.Before(p.ends) || !p.frozen.IsZero()) {
			p.ends, p.killed = by, true
		}
	}
	k.settle()
}

// freeze stops a rank's processes, or lets them go on.
func (k *kernel) freeze(rank model.RankKey, on bool) {
	now := k.now()
	for _, p := range k.procs {
		switch {
		case p.rank != rank || p.killed || on == !p.frozen.IsZero():
		case on:
			p.frozen = now
		default:
			p.ends = p.ends.Add(now.Sub(p.frozen))
			p.frozen = time.Time{}
		}
	}
}

// pause stops the machine, or lets it go on.
func (k *kernel) pause(on bool) (stood time.Duration) {
	now := time.Now()
	if on {
		k.settle()
		k.paused = now
		return 0
	}
	stood = now.Sub(k.paused)
	for _, p := range k.procs {
		if p.frozen.IsZero() {
			p.ends = p.ends.Add(stood)
		}
	}
	k.paused, k.resumed = time.Time{}, now
	return stood
}

// on lists the processes on a GPU.
func (k *kernel) on(gpu model.GPUID) (out []*process) {
	k.settle()
	for _, p := range k.procs {
		if slices.Contains(p.gpus, gpu) {
			out = append(out, p)
		}
	}
	return out
}

// has reports whether a rank has a process left.
func (k *kernel) has(rank model.RankKey) bool {
	k.settle()
	return slices.ContainsFunc(k.procs, func(p *process) bool { return p.rank == rank })
}

// executing returns the processes that run user code. A machine that was stopped may run for a second before
// its supervisors notice that time has passed: the manual describes that for suspended virtual machines.
func (k *kernel) executing() (out []*process) {
	k.settle()
	if !k.paused.IsZero() || time.Since(k.resumed) < time.Second {
		return nil
	}
	for _, p := range k.procs {
		if p.frozen.IsZero() {
			out = append(out, p)
		}
	}
	return out
}
