package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// A rank is reported as taken only once it has its folder: an agent that dies before leaves nothing by which the next one could
// know of the rank.
func TestARankIsTakenOnceItHasAFolder(t *testing.T) {
	u := &unit{record: &runner.Record{}, phase: model.RankTaken, life: life{alive: true, busy: true}}
	if p, reports := u.progress(""); reports {
		t.Errorf("a rank without a folder is reported: %+v", p)
	}
	u.life.busy = false
	if p, reports := u.progress(""); !reports || p.Phase != model.RankTaken {
		t.Errorf("a rank with a folder is not reported: %+v, %t", p, reports)
	}
}

// A rank that its agent may not start yet tells why after a while: in the log once, and with its first GPU for as long as it waits.
func TestARankThatWaitsTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := &executor{core: &core{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}, waiting: map[model.RankKey]*waiting{}}
		w := &model.Assignment{Rank: model.RankKey{Job: 7, N: 1}, GPUs: []model.GPUID{"GPU-1", "GPU-2"}}
		h.waits(w, "a process is on GPU-2")
		if got := h.warnings(); len(got) > 0 || log.Len() > 0 {
			t.Errorf("told at once: %v %s", got, log.String())
		}
		time.Sleep(waitsAfter)
		for range 3 {
			h.waits(w, "")
		}
		if got := h.warnings(); len(got) != 1 || !strings.Contains(got["GPU-1"], "has not started: a process is on GPU-2") {
			t.Errorf("the warnings are %v", got)
		}
		if n := strings.Count(log.String(), "rank_waits"); n != 1 {
			t.Errorf("logged %d times: %s", n, log.String())
		}
	})
}

// A rank tells why it waits until it starts, ends or is given back: a gang's rank that may start now does so once it is told.
func TestARankThatStartsWaitsNoLonger(t *testing.T) {
	for phase, waits := range map[model.RankPhase]bool{
		model.RankTaken: true, model.RankReady: true, model.RankRunning: false, model.RankExited: false, model.RankNever: false,
	} {
		c := &core{}
		h := &executor{core: c, units: newUnits(c), waiting: map[model.RankKey]*waiting{}}
		w := &model.Assignment{Rank: model.RankKey{Job: 7, N: 1}, GPUs: []model.GPUID{"GPU-1"}}
		h.units.put(&unit{name: "7", record: &runner.Record{Rank: w.Rank}, phase: phase})
		h.waits(w, "no peer has renewed the lease of this node lately")
		wanted := map[model.RankKey]*model.Assignment{w.Rank: w}
		if h.forgetWaits(wanted, model.Incarnation{}); (h.waiting[w.Rank] != nil) != waits {
			t.Errorf("%s: it waits: %t", phase, !waits)
		}
		if phase == model.RankReady {
			h.advance(fence.Action{Do: fence.DoRun, Rank: w.Rank}, w, 0)
			if u := h.units.byKey[key{w.Rank, model.Incarnation{}}]; h.waiting[w.Rank] != nil || !u.orders.Run {
				t.Errorf("after the order to run it waits: %t; the orders are %+v", h.waiting[w.Rank] != nil, u.orders.Orders)
			}
		}
		h.waits(w, "a process is on its GPU")
		if h.forgetWaits(nil, model.Incarnation{}); len(h.waiting) > 0 {
			t.Errorf("%s: it waits and is not wanted", phase)
		}
	}
}

// An agent says of a rank that never starts whether that is for a reason of the node's: what a supervisor or the disk says is,
// an agent that ended meanwhile and a user without an account are not.
func TestWhatIsNoFaultOfTheNode(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		change func(*unit)
		want   bool
	}{
		"the prolog fails":            {func(u *unit) { u.status.Note = "the node's prolog failed" }, false},
		"no account":                  {func(u *unit) { u.status.Note, u.status.NoAccount = "no account", true }, true},
		"the disk is full":            {func(u *unit) { u.why = "no space left" }, false},
		"the agent ended":             {func(u *unit) { u.excused("the agent ended while it prepared the rank") }, true},
		"it ended after the prolog":   {func(u *unit) { u.status.Note = "the prolog failed"; u.excused("the agent ended") }, false},
		"it is not wanted any more":   {func(u *unit) { refusedAs(u, true) }, true},
		"its supervisor was killed":   {func(u *unit) { u.life.alive = false; refusedAs(u, false) }, false},
		"it is not wanted any longer": {func(u *unit) { refusedAs(u, false) }, true},
	} {
		u := &unit{record: &runner.Record{}, phase: model.RankTaken, life: life{alive: true}}
		v.change(u)
		u.phase = model.RankNever
		if p, reports := u.progress(""); !reports || p.Excused != v.want || p.Detail == "" {
			t.Errorf("%s: the report is %+v", name, p)
		}
	}
}

// refusedAs has a unit carry the tombstone of a rank that was refused, with a fresh folder or one that was there.
func refusedAs(u *unit, fresh bool) {
	h := &executor{core: &core{Config: Config{Log: slog.New(slog.DiscardHandler)}}, space: &space{}}
	h.refused(u, runner.LatchNever, false, nil, fresh)
}

// A rank whose supervisor has ended is no broken start while its folder is still being read: how it ended is there.
func TestAStartIsBrokenOnceItsFolderIsRead(t *testing.T) {
	t.Parallel()
	u := &unit{record: &runner.Record{}, phase: model.RankTaken, life: life{reads: 1}}
	if l := u.local(); l.Phase != model.RankTaken {
		t.Errorf("while its folder is read a rank counts as %s", l.Phase)
	}
	u.life.reads = 0
	if l := u.local(); l.Phase != model.RankAssigned {
		t.Errorf("without an end in its folder a rank counts as %s", l.Phase)
	}
}

// An end that needs no look at the GPUs is taken from the supervisor's word: the folder need not be read.
func TestAnEndIsTakenFromTheStatus(t *testing.T) {
	t.Parallel()
	b := newUnits(&core{})
	ended := 0
	b.ended = func(*unit) { ended++ }
	u := &unit{name: "7", record: &runner.Record{Nonce: "a"}, phase: model.RankRunning, life: life{alive: true}}
	b.put(u)
	b.update(runner.Event{Name: "7", Status: runner.Status{Nonce: "b", Phase: model.RankExited, Exit: &model.Exit{Code: 0}}})
	if u.phase.Ended() {
		t.Error("the status of another supervisor ends the rank")
	}
	b.update(runner.Event{Name: "7", Status: runner.Status{Nonce: "a", Phase: model.RankExited, Exit: &model.Exit{Code: 0}}})
	if u.phase != model.RankExited || !u.exit.Clean() || ended != 1 {
		t.Errorf("the rank is %s, ended %d times with %+v", u.phase, ended, u.exit)
	}
}
