package fence

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Reconcile returns the actions that bring a node to its desired set, given all folders on its disk. The set
// must have passed [Sets.Accept]. The result is sorted, and empty when nothing is left to do; after some or
// all of the actions are done, Reconcile is called again.
//
//   - A rank starts at most once, ever: only one whose name no folder carries is prepared or started, and only
//     if the state does not have it as taken. A folder is evidence of a start that may have got anywhere; a rank
//     that was taken and has no folder has lost it.
//   - A folder that the set does not name is ended if it was itself desired under the set's incarnation, and
//     the set is not older than its placement. A folder unknown to this incarnation was placed by the cluster
//     before a restore; it runs on until the set requests its end by a cleaning with Kill.
//   - A slot counts as clean only after every folder of its owner has ended. An owner without a folder gets a
//     tombstone first: its assignment may still be on its way.
//
// Names of attempts can come again after a restore, for other jobs. A folder of an earlier incarnation is
// taken for the rank that the set names only if it was placed by the same log entry; otherwise that rank is
// refused, and the cluster goes on to its next attempt.
func Reconcile(d *model.Desired, local []Local) []Action {
	p := plan{desired: d, folders: map[model.RankKey][]Local{}, named: map[model.RankKey]model.Incarnation{}}
	local = slices.SortedFunc(slices.Values(local), Local.compare)
	for _, l := range local {
		p.folders[l.Rank] = append(p.folders[l.Rank], l)
	}
	for i := range d.Ranks {
		p.assign(&d.Ranks[i])
	}
	for _, c := range d.Clean {
		p.clean(c)
	}
	for _, l := range local {
		p.absent(l)
	}
	slices.SortFunc(p.actions, Action.compare)
	return slices.Compact(p.actions)
}

type plan struct {
	desired *model.Desired
	folders map[model.RankKey][]Local
	named   map[model.RankKey]model.Incarnation // ranks that the set names: the incarnation of their folder
	actions []Action
}

func (p *plan) do(a Action) { p.actions = append(p.actions, a) }

// assign plans for a rank that the set names.
func (p *plan) assign(a *model.Assignment) {
	if _, again := p.named[a.Rank]; again {
		return
	}
	own, found := p.folder(a)
	step := Action{Rank: a.Rank, Incarnation: p.desired.Incarnation}
	if found {
		step.Incarnation = own.Incarnation
	}
	p.named[a.Rank] = step.Incarnation

	switch {
	case found && own.Incarnation != p.desired.Incarnation:
		step.Do = DoAdopt
	case found:
		step.Do = next(a, own)
	case a.Stop != model.ReasonNone || a.Phase > model.RankAssigned || len(p.folders[a.Rank]) > 0:
		step.Do = DoRefuse
	case a.Run:
		step.Do = DoStart
	default:
		step.Do = DoPrepare
	}
	if step.Do == DoStop {
		step.Reason = a.Stop
	}
	if step.Do != 0 {
		p.do(step)
	}
}

// folder finds the rank's own folder: that of the set's incarnation, or otherwise one of an earlier
// incarnation that the same log entry placed.
func (p *plan) folder(a *model.Assignment) (own Local, found bool) {
	for _, l := range p.folders[a.Rank] {
		if l.Incarnation == p.desired.Incarnation {
			return l, true
		}
		if l.Placed == a.Placed && !found {
			own, found = l, true
		}
	}
	return own, found
}

// next returns the step for a rank that the set names and that has its folder; 0: none.
func next(a *model.Assignment, l Local) Do {
	stop := a.Stop != model.ReasonNone
	switch {
	case l.ended():
		return DoReport
	case l.Phase == model.RankRunning && a.Stop.Outranks(l.Stop):
		return DoStop
	case l.Phase == model.RankRunning:
		return 0
	case stop || l.Phase != model.RankTaken && l.Phase != model.RankReady:
		return DoRefuse
	case a.Run && l.Phase == model.RankReady:
		return DoRun
	}
	return 0
}

// clean plans for a slot that has to be verified as clean.
func (p *plan) clean(c model.Cleaning) {
	folders := p.folders[c.Rank]
	_, named := p.named[c.Rank]
	clean := true
	if c.Rank != (model.RankKey{}) && len(folders) == 0 {
		clean = false
		if !named {
			p.do(Action{Do: DoRefuse, Rank: c.Rank, Incarnation: p.desired.Incarnation})
		}
	}
	for _, l := range folders {
		if l.ended() {
			continue
		}
		clean = false
		if c.Kill && !p.wants(l) {
			p.do(l.end())
		}
	}
	if clean {
		p.do(Action{Do: DoClean, Rank: c.Rank, Slot: c.Slot, Allocation: c.Allocation})
	}
}

// absent plans for a folder that the set does not name.
func (p *plan) absent(l Local) {
	known := l.Incarnation == p.desired.Incarnation && p.desired.Index >= l.Placed
	if known && !l.ended() && !p.wants(l) {
		p.do(l.end())
	}
}

// wants reports whether the folder is that of a rank which the set names.
func (p *plan) wants(l Local) bool {
	incarnation, named := p.named[l.Rank]
	return named && incarnation == l.Incarnation
}
