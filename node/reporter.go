package node

import (
	"context"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	maxReports     = 500                    // in one call
	takenPause     = 100 * time.Millisecond // a start that takes no longer than this is reported as one
	inventoryEvery = time.Minute
	lookEvery      = 5 * time.Second // whether the inventory has changed
)

// reporter reports progress, cleaned slots and the inventory to the cluster.
type reporter struct {
	*core
	contact *contact
	units   *units
	space   *space

	accounts *accounts
	clean    map[model.Cleaned]uint64 // verified as clean; the index of a state that has it, 0 while none is known
	busy     bool                     // a report is under way
	retry    time.Time
	list     inventory
	tails    chan struct{} // one for each tail under way
}

// inventory is the last reported inventory of the GPUs.
type inventory struct {
	devices []model.Device
	trouble string    // of the node's trouble
	missing []string  // users whose account the host lacks
	at      time.Time // when it was reported
	look    time.Time // when to look again
	busy    bool
	reg     fence.Registration
}

func newReporter(c *core, k *contact, b *units) *reporter {
	return &reporter{core: c, contact: k, units: b, clean: map[model.Cleaned]uint64{}, tails: make(chan struct{}, maxTails)}
}

// addClean queues the report that a slot is clean.
func (t *reporter) addClean(c model.Cleaned) { t.clean[c] = 0 }

// hasClean reports whether a slot's cleanness is queued or reported.
func (t *reporter) hasClean(c model.Cleaned) bool {
	_, is := t.clean[c]
	return is
}

// forget drops what a set of that index contains already.
func (t *reporter) forget(index uint64) {
	for c, at := range t.clean {
		if at > 0 && at <= index {
			delete(t.clean, c)
		}
	}
}

// report reports changes until the cluster has confirmed them. Changes while a report is under way go with
// the next one.
func (t *reporter) report() {
	reg, ok := t.contact.lease.Registration()
	if t.busy || !ok || !due(t.retry) {
		return
	}
	body := &agentwire.Report{Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch}
	told := t.fill(body)
	if len(body.Reports)+len(body.Cleaned) == 0 {
		return
	}
	t.busy = true
	t.background(func() func() {
		ctx, cancel := context.WithTimeout(t.ctx, 3*patience)
		defer cancel()
		answer, err := t.Cluster.Report(ctx, body)
		return func() {
			t.busy = false
			switch {
			case err != nil:
				t.retry = later(againSoon)
				t.Log.Debug("report failed", "err", err)
			case answer.Code != model.CodeOK:
				t.refused(reg, answer)
			default:
				t.confirm(body.Cleaned, answer.Index)
				t.units.confirm(told, answer.Index)
			}
		}
	})
}

// fill collects the changes to report, and returns the progress of units that the report contains.
func (t *reporter) fill(body *agentwire.Report) map[*unit]model.Progress {
	told := map[*unit]model.Progress{}
	for _, u := range t.units.byName {
		p, ok := u.progress(hostOf(t.Self.Address))
		if !ok || !u.confirmed.differs(&p) || len(body.Reports) == maxReports ||
			p.Phase == model.RankTaken && time.Since(u.since) < takenPause {
			continue
		}
		t.note(u, &p)
		told[u] = p
		body.Reports = append(body.Reports, p)
	}
	slices.SortFunc(body.Reports, func(a, b model.Progress) int { return a.Rank.Compare(b.Rank) })
	for c, at := range t.clean {
		if at == 0 && len(body.Cleaned) < maxReports {
			body.Cleaned = append(body.Cleaned, c)
		}
	}
	return told
}

// note logs why a rank did not start, and remembers the user whose account the host lacks.
func (t *reporter) note(u *unit, p *model.Progress) {
	if u.status.Note == "" || p.Phase != model.RankNever && !p.Exit.Refused || u.logged == p.Detail {
		return
	}
	u.logged = p.Detail
	t.Log.Warn("rank returned to the queue", "rank", p.Rank, "why", p.Detail)
	if u.status.NoAccount {
		t.accounts.lacks(u.record.Job.Spec.User)
	}
}

func (t *reporter) confirm(words []model.Cleaned, index uint64) {
	for _, c := range words {
		t.clean[c] = max(index, 1)
	}
}

func (t *reporter) refused(reg fence.Registration, answer *agentwire.Reported) {
	t.contact.refuse(reg, answer.Code)
	if !outdated(answer.Code) {
		t.retry = later(againLater)
		t.Log.Error("report refused", "code", answer.Code, "detail", answer.Detail)
	}
}

// changed makes the inventory be checked soon.
func (t *reporter) changed() { t.list.look = time.Time{} }

// inventory reports the inventory of the GPUs on each change, and every minute.
func (t *reporter) inventory() {
	reg, ok := t.contact.lease.Registration()
	if !ok || t.list.busy || !due(t.list.look) {
		return
	}
	t.list.look = later(lookEvery)
	if t.list.reg != reg { // the registration had it
		t.list.reg, t.list.devices, t.list.missing, t.list.at = reg, nil, nil, time.Now()
	}
	t.list.busy = true
	held, trouble := t.held(), model.Clip(t.space.trouble)
	missing := t.accounts.list()
	told, old := t.list.devices, time.Since(t.list.at) > inventoryEvery || trouble != t.list.trouble || !slices.Equal(missing, t.list.missing)
	t.background(func() func() {
		devices := t.GPUs.Inventory()
		for i := range devices {
			devices[i].Idle = devices[i].Idle || held[devices[i].ID]
		}
		if slices.Equal(devices, told) && !old {
			return func() { t.list.busy = false }
		}
		ctx, cancel := context.WithTimeout(t.ctx, 3*patience)
		defer cancel()
		body := &agentwire.Inventory{
			Node: reg.Node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Devices: devices, Trouble: trouble,
			Missing: missing,
		}
		answer, err := t.Cluster.Inventory(ctx, body)
		return func() {
			t.list.busy = false
			switch {
			case err != nil:
				t.Log.Debug("inventory report failed", "err", err)
			case answer.Code != model.CodeOK:
				t.refused(reg, answer)
			default:
				t.list.devices, t.list.trouble, t.list.missing, t.list.at = devices, trouble, missing, time.Now()
			}
		}
	})
}

// held returns the GPUs that ranks of this node hold or have just left. The cluster may free such a GPU while
// the inventory is on its way, and must not take the rank for a foreign process then.
func (t *reporter) held() map[model.GPUID]bool {
	out := map[model.GPUID]bool{}
	for _, u := range t.units.byName {
		for _, g := range u.record.GPUs {
			out[g.ID] = true
		}
	}
	return out
}
