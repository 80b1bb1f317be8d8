package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// fitSlots returns how many slots of a GPU are fit for work; a nil has none.
func fitSlots(t *Tx, g *model.GPU) int64 {
	if g == nil || !g.Usable() {
		return 0
	}
	if n, found := t.Nodes.Get(g.Node); !found || !n.Schedulable() {
		return 0
	}
	return int64(g.Slots)
}

// onNode adds or subtracts a node's GPUs.
func onNode(t *Tx, old, next *model.Node) {
	announceNode(t, old, next)
	reindex(&t.private, old, next, func(n *model.Node) (state.PrivateKey, bool) {
		return state.PrivateOf(n)
	})
	none := &model.Node{}
	if old == nil {
		old = none
	}
	if next == nil {
		next = none
	}
	relack(t, old, next)
	if old.Schedulable() == next.Schedulable() {
		return
	}
	by := int64(1)
	if old.Schedulable() {
		by = -1
	}
	for _, id := range GpusOf(t, max(old.ID, next.ID)) {
		if g := t.GPUs.Must(id); g.Usable() {
			t.fit += by * int64(g.Slots)
		}
	}
	bookNode(t, old, next)
}

// relack moves the index of the users whose account a node lacks.
func relack(t *Tx, old, next *model.Node) {
	if old.ID == next.ID && old.Missing == next.Missing && old.Accounts == next.Accounts {
		return
	}
	for k := range state.LackingOf(old) {
		t.lacking.fork().Delete(k)
	}
	for k := range state.LackingOf(next) {
		t.lacking.fork().Put(k, state.None{})
	}
}

func onNodeUse(t *Tx, old, next *model.NodeUse) {
	reindex(&t.byFree, old, next, func(u *model.NodeUse) (state.FreeKey, bool) {
		return state.FreeKey{Free: u.Free, Whole: u.Owned+u.Claimed == 0, Node: u.Node}, u.Free > 0
	})
}
