package sim

import (
	"slices"
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
)

// truth is what really happened on the hosts, whatever any program believes.
// Its lock is that of all hosts, so that one look sees all of them at once.
type truth struct {
	w *World

	mu     sync.Mutex
	starts map[model.RankKey]int
	exits  map[model.RankKey]model.Exit
	vague  map[model.RankKey]bool // no witness saw its end
}

func newTruth(w *World) *truth {
	return &truth{w: w, starts: map[model.RankKey]int{}, exits: map[model.RankKey]model.Exit{}, vague: map[model.RankKey]bool{}}
}

// started notes that a rank's process has started. The lock is held.
func (t *truth) started(r model.RankKey, where string) {
	t.w.trace.Note("%s starts %s", where, r)
	if t.starts[r]++; t.starts[r] > 1 {
		t.w.trace.Break(BreachStartedTwice, "%s starts %s again", where, r)
	}
	t.look()
}

// ended notes how a rank ended. The lock is held.
func (t *truth) ended(r model.RankKey, exit model.Exit) {
	t.w.trace.Note("%s ended: %+v", r, exit)
	t.exits[r] = exit
}

// unsure notes that the witness of a rank's end is gone. The lock is held.
func (t *truth) unsure(r model.RankKey) { t.vague[r] = true }

// look checks that no two attempts of a task run user code, on whichever hosts, and that no GPU has processes of two ranks. The lock is
// held.
func (t *truth) look() {
	type seen struct {
		attempt model.AttemptKey
		where   string
	}
	live := map[model.TaskKey]seen{}
	running := crowd{}
	for _, h := range t.w.hosts {
		users := map[model.GPUID]model.RankKey{}
		for _, p := range h.kernel.executing() {
			a := p.rank.Attempt()
			running.add(p)
			if s, found := live[a.TaskKey()]; found && s.attempt != a {
				t.w.trace.Break(BreachTwoAttempts, "%s runs on %s and %s on %s", s.attempt, s.where, a, h.name)
			}
			live[a.TaskKey()] = seen{a, h.name}
		}
		for _, p := range h.kernel.procs {
			for _, g := range p.gpus {
				if r, found := users[g]; found && r != p.rank {
					t.w.trace.Break(BreachTwoOnGPU, "%s and %s are on %s", r, p.rank, g)
				}
				users[g] = p.rank
			}
		}
	}
	t.w.rules.look(running)
}

// checkExit compares the exit in a rank's row with the true one. The lock is held.
func (t *truth) checkExit(k model.RankKey, r *model.Rank) {
	exit, known := t.exits[k]
	told := r.Phase == model.RankExited || r.Late
	if told && !t.vague[k] && (!known || exit != r.Exit) {
		t.w.trace.Break(BreachExit, "%s ended with %+v, recorded is %+v", k, exit, r.Exit)
	}
}

// busy lists the ranks that have a process anywhere.
func (t *truth) busy() (out []model.RankKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.w.hosts {
		h.kernel.settle()
		for _, p := range h.kernel.procs {
			out = append(out, p.rank)
		}
	}
	slices.SortFunc(out, model.RankKey.Compare)
	return out
}
