package node

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// unit is a rank as the agent sees it: its folder and its supervisor.
type unit struct {
	name      string // of the folder
	record    *runner.Record
	phase     model.RankPhase
	exit      model.Exit // with phase exited
	why       string     // with phase never
	excuse    bool       // why is no reason of the node's
	status    runner.Status
	life      life
	orders    orders
	confirmed confirmed
	since     time.Time // when the agent took it
	retry     time.Time // when what failed is tried again
	use       use

	logged   string // the newest error about its files that was logged
	nameless bool   // its record is lost: only its name and its processes are known
}

// life is the part of a unit's state that changes when it ends.
type life struct {
	alive bool // its supervisor
	busy  bool // something is being done to its folder
	past  bool // of an earlier boot: its end is not reported
	held  bool // in memory only: the disk did not take that it never starts
	reads int  // looks at its folder that are under way

	ran     time.Time // when the agent learned that its job runs
	checked time.Time // when the check of its GPUs began that comes with its end; zero: none is under way
}

// How long reports wait, so that one says what two or three would.
const (
	startPause = 10 * time.Millisecond  // that a job runs, in case it ends soon
	cleanPause = 100 * time.Millisecond // that it has ended, for the check of its GPUs
)

// orders are the agent's orders for a supervisor.
type orders struct {
	runner.Orders

	version, sent int
	sending       bool
}

// confirmed is what the cluster has confirmed, and the index of a state that contains it.
type confirmed struct {
	phase model.RankPhase
	saved time.Duration // the checkpoint
	index uint64
	again time.Time // when a further checkpoint may be reported
}

// logOnce logs an error about the unit's files, but each error only once: the same error would come back on
// every look.
func (u *unit) logOnce(log *slog.Logger, what string, err error) {
	if text := what + ": " + err.Error(); u.logged != text {
		u.logged = text
		log.Error(what, "rank", u.record.Rank, "folder", u.name, "err", err)
	}
}

// differs reports whether a report contains something that the cluster has not confirmed.
func (t *confirmed) differs(p *model.Progress) bool {
	return p.Phase > t.phase || p.Phase == t.phase && p.Saved > t.saved && due(t.again)
}

// key identifies a folder among those of the node.
type key struct {
	rank        model.RankKey
	incarnation model.Incarnation
}

func (u *unit) key() key { return key{u.record.Rank, model.Incarnation(u.record.Incarnation)} }

// local returns the unit as plans see it.
func (u *unit) local() fence.Local {
	l := fence.Local{
		Rank: u.record.Rank, Incarnation: model.Incarnation(u.record.Incarnation), Placed: u.record.Placed,
		Stop: u.orders.Stop, Exit: u.exit, Phase: u.phase,
	}
	if !u.life.alive && u.life.reads == 0 && !u.phase.Ended() && u.phase != model.RankRunning {
		l.Phase = model.RankAssigned // the start broke off
	}
	return l
}

// order changes the orders for the unit's supervisor.
func (u *unit) order(change func(*runner.Orders)) {
	before := u.orders.Orders
	change(&u.orders.Orders)
	after := u.orders.Orders
	if before.Run != after.Run || before.Stop != after.Stop || before.Kill != after.Kill || before.Refuse != after.Refuse ||
		before.Freeze != after.Freeze || before.Thaw != after.Thaw || before.TimeLimit != after.TimeLimit {
		u.orders.version++
	}
}

// excused notes why the rank never starts, which is no reason of the node's.
func (u *unit) excused(why string) { u.why, u.excuse = model.Clip(why), true }

// progress returns the report of the unit's phase; false: there is none to make.
func (u *unit) progress(host string) (model.Progress, bool) {
	p := u.local().Progress()
	if u.life.past || p.Phase < model.RankTaken || p.Phase == model.RankTaken && u.life.busy { // its folder may not be there yet
		return p, false
	}
	switch p.Phase {
	case model.RankReady:
		p.Address, p.Port = host, u.status.Port
	case model.RankNever:
		p.Detail, p.Excused = model.Clip(cmp.Or(u.status.Note, u.why)), u.status.NoAccount || u.status.Note == "" && u.excuse
	case model.RankRunning:
		if time.Since(u.life.ran) < startPause {
			return p, false
		}
		p.Saved = u.status.Saved
	case model.RankExited:
		if time.Since(u.life.checked) < cleanPause {
			return p, false
		}
		if u.exit.Refused {
			p.Detail = model.Clip(u.status.Note)
		}
	case model.RankAssigned, model.RankTaken, model.RankLost:
	}
	return p, true
}
