package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

var errNotClean = errors.New("a GPU of it is in use or gone")

// startError is the error of a rank whose folder was made and whose supervisor was not started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// waitsAfter is how long a rank may wait at its node before the reason is logged and shown.
const waitsAfter = 10 * time.Second

// waiting is a rank of the desired set that may not start yet.
type waiting struct {
	gpu    model.GPUID // its first; empty: it has none
	why    string
	since  time.Time
	logged string // the reason that was logged
}

// waits notes why a rank may not start yet. Once it has waited for a while, the reason is logged, and shown as a warning of its first
// GPU: warnings go with the renewals, and are in no log entry.
func (h *executor) waits(w *model.Assignment, why string) {
	u := h.waiting[w.Rank]
	if u == nil {
		u = &waiting{since: time.Now()}
		h.waiting[w.Rank] = u
	}
	if len(w.GPUs) > 0 {
		u.gpu = w.GPUs[0]
	}
	if u.why = cmp.Or(why, u.why); time.Since(u.since) >= waitsAfter && u.logged != u.why {
		u.logged = u.why
		h.Log.Warn("rank_waits", "rank", w.Rank, "why", u.why)
	}
}

// forgetWaits drops the reasons of ranks that wait no longer: they are not wanted any more, have started, or never will.
func (h *executor) forgetWaits(wanted map[model.RankKey]*model.Assignment, i model.Incarnation) {
	maps.DeleteFunc(h.waiting, func(r model.RankKey, _ *waiting) bool {
		u := h.units.byKey[key{r, i}]
		return wanted[r] == nil || u != nil && u.phase >= model.RankRunning
	})
}

// warnings returns why ranks have waited for a while, by their first GPU.
func (h *executor) warnings() map[model.GPUID]string {
	out := map[model.GPUID]string{}
	for rank, u := range h.waiting {
		if u.gpu != "" && time.Since(u.since) >= waitsAfter {
			out[u.gpu] = model.Clip("rank " + rank.String() + " has not started: " + u.why)
		}
	}
	return out
}

// begin makes a rank's folder and starts its supervisor, as soon as the script and the environment are
// available.
func (h *executor) begin(w *model.Assignment, start fence.Boot) {
	if t, waits := h.later[w.Rank]; waits && !due(t) {
		h.waits(w, "")
		return
	}
	script, hasScript := h.blobs.get(w.Script)
	env, hasEnv := h.blobs.get(w.Env)
	shell, hasShell := h.blobs.get(w.SubmitEnv)
	stdin, hasStdin := "", true
	if w.Rank.Rank == 0 {
		stdin, hasStdin = h.blobs.get(w.Stdin)
	}
	if !hasScript || !hasEnv || !hasShell || !hasStdin {
		h.waits(w, "no peer has given this node its script, input or environment yet")
		return
	}
	input, err := model.Stdin(stdin)
	if err != nil {
		h.waits(w, "its standard input cannot be read: "+err.Error())
		h.Log.Error("cannot read a rank's standard input", "rank", w.Rank, "err", err)
		return
	}
	r := h.record(w.Rank, h.puller.set.Incarnation)
	r.Placed, r.Frozen, r.Start = w.Placed, w.Frozen, time.Duration(start)
	r.Job = runner.Job{
		Spec: w.Spec, Script: !w.Script.IsZero(), Stdin: stdin != "", Environ: env+shell != "", Node: h.Self.Node, Address: hostOf(h.Self.Address),
		Preempted: w.Preempted,
	}
	r.Orders = runner.Orders{Run: w.Run, Gang: w.Gang, Secret: secretOf(w)}
	for _, id := range w.GPUs {
		r.GPUs = append(r.GPUs, runner.GPU{ID: id})
	}
	u := &unit{
		name: journal.Name(h.puller.set.Incarnation, w.Rank), record: r, phase: model.RankTaken,
		life: life{alive: true, busy: true}, orders: orders{Orders: r.Orders}, since: time.Now(),
	}
	h.units.put(u)
	h.background(func() func() {
		placed, err := h.start(u.name, r, runner.Content{Script: script, Stdin: input},
			&runner.Environment{Job: []byte(env), Submit: []byte(shell)})
		return func() { h.begun(u, placed, err) }
	})
}

// secretOf returns the secret of an attempt on several nodes; nil: it has none.
func secretOf(w *model.Assignment) []byte {
	if w.Secret.IsZero() {
		return nil
	}
	return w.Secret[:]
}

// record returns a new folder's record, as far as all ranks share it.
func (h *executor) record(r model.RankKey, i model.Incarnation) *runner.Record {
	return &runner.Record{
		Rank: r, Incarnation: runner.Incarnation(i), Boot: h.Self.Boot, Nonce: runner.NoncePrefix(h.Journal.Dir()) + journal.Random(),
		Run: h.Run.Path,
	}
}

// start carries out what begin has decided, and returns the record with the GPUs' places.
func (h *executor) start(name string, r *runner.Record, content runner.Content, env *runner.Environment) (*runner.Record, error) {
	placed := *r // the agent reads r meanwhile
	placed.GPUs = nil
	for _, v := range h.GPUs.Check(r.IDs()) {
		if !v.Clean() {
			return r, fmt.Errorf("%w: %s", errNotClean, v.GPU)
		}
		placed.GPUs = append(placed.GPUs, runner.GPU{ID: v.GPU, Index: v.Index})
	}
	if err := h.Run.SetEnvironment(name, env); err != nil {
		return r, err
	}
	path, err := h.Journal.Create(name, func(dir string) error { return runner.Fill(dir, &placed, content) })
	if err != nil {
		h.Run.Forget(name)
		return r, err
	}
	f, err := runner.Open(path)
	if err == nil {
		err = h.Runner.Start(f, &placed)
		_ = f.Close() // nothing was written through it
	}
	if err != nil {
		return &placed, &startError{err}
	}
	return &placed, nil
}

func (h *executor) begun(u *unit, placed *runner.Record, err error) {
	u.life.busy, u.record = false, placed
	_, made := errors.AsType[*startError](err)
	switch {
	case err == nil:
		delete(h.later, u.record.Rank)
		delete(h.waiting, u.record.Rank)
	case made:
		u.phase, u.life.alive, u.why = model.RankAssigned, false, err.Error()
		h.space.unready(err)
		h.Log.Error("cannot start a rank's supervisor", "rank", u.record.Rank, "err", err)
	default:
		h.unmade(u, err)
	}
}

// giveBack marks a rank as never started because this node's disk keeps it from starting, even if the disk
// does not accept that mark either. It is enough that this agent remembers the rank until the cluster knows:
// an agent that starts in its place registers, and ignores sets of desired ranks from before its
// registration.
func (h *executor) giveBack(u *unit, err error) {
	u.phase, u.life.alive, u.life.held, u.why, u.excuse = model.RankNever, false, true, h.space.why(err), false
	h.Log.Warn("rank returned to the queue", "rank", u.record.Rank, "why", u.why)
}

// unmade drops a unit whose folder could not be made.
func (h *executor) unmade(u *unit, err error) {
	if h.space.failed(err) {
		h.giveBack(u, err)
		return
	}
	h.units.drop(u)
	_, again := h.later[u.record.Rank]
	h.later[u.record.Rank] = later(againSoon)
	if waits := h.waiting[u.record.Rank]; waits != nil {
		waits.why = cause(err)
	} else {
		h.waiting[u.record.Rank] = &waiting{why: cause(err), since: time.Now()}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		h.recover(u.name)
	case again: // logged before
	case errors.Is(err, errNotClean):
		h.Log.Warn("rank waits for its GPUs", "rank", u.record.Rank, "why", err)
	default:
		h.Log.Error("cannot make a rank's folder", "rank", u.record.Rank, "err", err)
	}
}

// recover loads an existing folder, whatever the units are: a rank never starts in such a folder.
func (h *executor) recover(name string) {
	h.background(func() func() {
		path, found := h.Journal.Path(name)
		if !found { // just removed, or not readable
			return func() {}
		}
		u := h.units.reload(path)
		return func() {
			if h.units.byName[name] == nil {
				h.units.put(u)
			}
		}
	})
}

// refuse ensures that a rank never starts here.
func (h *executor) refuse(step fence.Action, u *unit) {
	fresh := u == nil
	if fresh {
		if t, waits := h.later[step.Rank]; waits && !due(t) {
			return
		}
		u = &unit{name: journal.Name(step.Incarnation, step.Rank), record: h.record(step.Rank, step.Incarnation), phase: model.RankAssigned}
		h.units.put(u)
	}
	if u.life.busy || !due(u.retry) {
		return
	}
	u.life.busy = true
	record, status, alone := u.record, u.status, !fresh && !u.life.alive
	h.background(func() func() {
		latch, alive, err := h.tombstone(u.name, record, fresh)
		if alone && (err == nil && latch == runner.LatchNever || disk.Fault(err)) {
			if left := h.Runner.Bury(record, status); left != nil { // without a latch the rank may have started after all
				err = left
			}
		}
		return func() { h.refused(u, latch, alive, err, fresh) }
	})
}

// turnAway refuses a rank of a user whose jobs do not run on this node. The scheduler places none, but an
// earlier placement may follow from what a previous agent had registered.
func (h *executor) turnAway(step fence.Action, user string) {
	h.refuse(step, nil)
	if u := h.units.byKey[key{step.Rank, step.Incarnation}]; u != nil && u.why == "" {
		u.excused(fmt.Sprintf("this node runs jobs under the account of its agent, %s, and none of user %s", h.Self.Account, user))
		h.Log.Warn("rank returned to the queue", "rank", step.Rank, "why", u.why)
	}
}

// tombstone writes "never" into a rank's latch, unless the latch is set already.
func (h *executor) tombstone(name string, r *runner.Record, fresh bool) (latch string, alive bool, err error) {
	if fresh {
		if err := h.Journal.Insist(func() error {
			_, err := h.Journal.Create(name, func(dir string) error { return runner.Fill(dir, r, runner.Content{}) })
			return err
		}); err != nil {
			return "", false, err
		}
	}
	err = h.Journal.Insist(func() error {
		return h.units.folder(name, func(f *runner.Folder) error {
			if latch, _, err = f.Latch(runner.LatchNever); err == nil && latch != runner.LatchNever {
				_, alive = h.Runner.Adopt(name, r) // an unknown supervisor may be at work
			}
			return err
		})
	})
	return latch, alive, err
}

func (h *executor) refused(u *unit, latch string, alive bool, err error, fresh bool) {
	u.life.busy, u.retry = false, later(againSoon)
	if err != nil && fresh {
		h.unmade(u, err)
		return
	}
	if err != nil && h.space.failed(err) && !u.life.alive && !u.phase.Ended() && u.phase != model.RankRunning {
		h.giveBack(u, err)
		return
	}
	if err != nil {
		u.logOnce(h.Log, "cannot refuse a rank", err)
		return
	}
	u.order(func(o *runner.Orders) { o.Refuse = true })
	switch {
	case u.phase.Ended():
	case latch == runner.LatchNever:
		u.phase = model.RankNever
		switch {
		case u.why != "":
		case h.space.trouble != "":
			u.why = "this node cannot start jobs: " + h.space.trouble
		case !fresh && !u.life.alive:
			u.why = "its supervisor ended before it had started"
		default:
			u.excused("it was no longer wanted before it had started")
		}
	case alive:
		u.life.alive = true
		u.phase = model.RankRunning
	case !u.life.alive:
		h.units.reread(u) // it was started and has no watcher, or has even ended
	}
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
