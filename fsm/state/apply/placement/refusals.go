package placement

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// CountRefusal counts that a node did not start a rank, for a reason of the node's own. After a few in a row the node
// rests: it gets no work for a while, then one job at a time, until one starts.
func CountRefusal(t *tx.Tx, r *model.Rank, why string) {
	n, found := t.Nodes.Get(r.Node)
	a := t.Attempts.Must(r.Key.Attempt())
	if !found || n.Refuses() && (n.Rests == 0 || a.Placed < n.Rests.Add(-n.Pause())) {
		return // of the latter the rank was placed before the node began to rest
	}
	n.Refusals, n.Refusal = n.Refusals+1, model.Clip(why)
	if n.Refuses() {
		n.Rests = t.Clock.Add(n.Pause())
	}
	t.Nodes.Put(n)
}

// ForgetRefusals ends what follows from starts that a node refused: it has started a rank, or an operator has opened it.
func ForgetRefusals(t *tx.Tx, id model.NodeID) {
	if n, found := t.Nodes.Get(id); found && n.Refusals > 0 {
		n.Refusals, n.Refusal, n.Rests = 0, "", 0
		t.Nodes.Put(n)
	}
}

// testNode has a node that refuses starts get no further work before it is known what becomes of the rank that it is
// given now.
func testNode(t *tx.Tx, id model.NodeID) {
	if n := t.Nodes.Must(id); n.Refuses() {
		n.Rests = t.Clock.Add(n.Pause())
		t.Nodes.Put(n)
	}
}

// blame notes which rank keeps an attempt from starting in time: the first that is not ready, or has not started.
func blame(t *tx.Tx, a *model.Attempt) {
	ranks := tx.RanksOf(t, a.Key)
	late := model.RankRunning
	for i := range ranks {
		if ranks[i].Phase < model.RankReady {
			late = model.RankReady
		}
	}
	for i := range ranks {
		if r := &ranks[i]; r.Phase < late && a.FirstRank == 0 {
			a.FirstRank, a.Cause = r.Key.Rank+1, model.ReasonStartDeadline
			CountRefusal(t, r, "a job did not start in time")
		}
	}
	t.Attempts.Put(*a)
}
