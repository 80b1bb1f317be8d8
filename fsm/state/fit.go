package state

import "github.com/berth-gpu/berth/fsm/model"

// fitSlots returns how many slots of a GPU are fit for work; a nil has none.
func fitSlots(t *tx, g *model.GPU) int64 {
	if g == nil || !g.Usable() {
		return 0
	}
	if n, found := t.nodes.get(g.Node); !found || !n.Schedulable() {
		return 0
	}
	return int64(g.Slots)
}

// onNode adds or subtracts a node's GPUs.
func onNode(t *tx, old, next *model.Node) {
	announceNode(t, old, next)
	reindex(&t.private, old, next, func(n *model.Node) (PrivateKey, bool) {
		return PrivateKey{n.Account, n.ID}, n.Accounts == model.AccountsOwn
	})
	none := &model.Node{}
	if old == nil {
		old = none
	}
	if next == nil {
		next = none
	}
	if old.Schedulable() == next.Schedulable() {
		return
	}
	by := int64(1)
	if old.Schedulable() {
		by = -1
	}
	for _, id := range gpusOf(t, max(old.ID, next.ID)) {
		if g, _ := t.gpus.get(id); g.Usable() {
			t.fit += by * int64(g.Slots)
		}
	}
	bookNode(t, old, next)
}
