package placement

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// CountRefusal counts that a node did not start a rank, for a reason of the node's own. After a few in a row the node
// rests: it gets no work for a while, then one job at a time, until one starts. What was placed before the last refusal
// that counts says nothing new: it does not make a rest longer.
func CountRefusal(t *tx.Tx, r *model.Rank, why string) {
	n, found := t.Nodes.Get(r.Node)
	a, user := t.Attempts.Must(r.Key.Attempt()), t.Jobs.Must(r.Key.Job).Spec.User
	if !found || n.Refuses() && a.Placed < n.Refused || !n.Counts(user, waitsAlone(t, user)) {
		return
	}
	n.Refusals, n.Refusal, n.Refuser, n.Refused = n.Refusals+1, model.Clip(why), user, t.Clock
	if n.Refuses() {
		n.Rests = t.Clock.Add(n.Pause())
	}
	t.Nodes.Put(n)
}

// waitsAlone reports whether no tasks wait but those of one user.
func waitsAlone(t *tx.Tx, user string) bool {
	all, _ := t.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	own, _ := t.Usage.Get(model.ScopeKey{Kind: model.ScopeUser, Name: user})
	return all.Queued == own.Queued
}

// Started ends what follows from starts that a node refused if a rank has started there since the last of them.
func Started(t *tx.Tx, id model.NodeID, at model.Time) {
	if n, _ := t.Nodes.Get(id); at >= n.Refused {
		ForgetRefusals(t, id)
	}
}

// ForgetRefusals ends what follows from starts that a node refused, as when an operator has opened it.
func ForgetRefusals(t *tx.Tx, id model.NodeID) {
	if n, found := t.Nodes.Get(id); found && n.Refusals > 0 {
		n.Refusals, n.Refusal, n.Refuser, n.Refused, n.Rests = 0, "", "", 0, 0
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

// Tests reports whether it is not known yet what becomes of a rank that a node was given after its last refusal.
func Tests(t *tx.Tx, n *model.Node) bool {
	for _, r := range tx.LiveRanks(t, n.ID) {
		if a := t.Attempts.Must(r.Key.Attempt()); r.Phase < model.RankRunning && a.Placed >= n.Refused {
			return true
		}
	}
	return false
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
