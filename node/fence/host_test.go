package fence_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// host does what plans say to the folders of a node, and to the state above it.
type host struct {
	desired *model.Desired
	folders []fence.Local
	born    map[fence.Local]bool // folders there at the beginning, by name
}

func name(r model.RankKey, i model.Incarnation) fence.Local {
	return fence.Local{Rank: r, Incarnation: i}
}

func (h *host) find(a fence.Action) *fence.Local {
	for i, l := range h.folders {
		if l.Rank == a.Rank && l.Incarnation == a.Incarnation {
			return &h.folders[i]
		}
	}
	return nil
}

// begin makes a rank's folder, as an agent does: it must not be there.
func (h *host) begin(t *rapid.T, a fence.Action, phase model.RankPhase) {
	if slices.ContainsFunc(h.folders, func(l fence.Local) bool { return l.Rank == a.Rank }) {
		t.Fatalf("%v of %v, of which there is a folder", a.Do, a.Rank)
	}
	var placed uint64
	for _, r := range h.desired.Ranks {
		if r.Rank == a.Rank {
			placed = r.Placed
		}
	}
	h.folders = append(h.folders, fence.Local{Rank: a.Rank, Incarnation: a.Incarnation, Placed: placed, Phase: phase})
}

func (h *host) act(t *rapid.T, a fence.Action) {
	l := h.find(a)
	switch a.Do {
	case fence.DoStart:
		h.begin(t, a, running)
	case fence.DoPrepare:
		h.begin(t, a, ready)
	case fence.DoRun:
		if l.Phase != ready {
			t.Fatalf("run from %v", l.Phase)
		}
		l.Phase = running
	case fence.DoRefuse:
		h.refuse(t, a, l)
	case fence.DoStop:
		if l.Phase != running || l.Stop == a.Reason {
			t.Fatalf("stop of %+v for %v", *l, a.Reason)
		}
		l.Stop = a.Reason
	case fence.DoKill:
		h.kill(t, l)
	case fence.DoAdopt:
		l.Incarnation = h.desired.Incarnation
	case fence.DoReport:
		if l.Phase != exited && l.Phase != never {
			t.Fatalf("report of %v", l.Phase)
		}
		h.desired.Ranks = slices.DeleteFunc(h.desired.Ranks, func(r model.Assignment) bool { return r.Rank == a.Rank })
	case fence.DoClean:
		h.clean(t, a)
	}
}

func (h *host) refuse(t *rapid.T, a fence.Action, l *fence.Local) {
	if l == nil {
		h.folders = append(h.folders, fence.Local{Rank: a.Rank, Incarnation: a.Incarnation, Phase: never})
		return
	}
	if l.Phase == running || l.Phase == exited || l.Phase == never {
		t.Fatalf("refuse what is %v", l.Phase)
	}
	l.Phase = never
}

// kill checks the absence rule: an end that the set does not ask for by name
// comes only to what this incarnation desired and the set is new enough to miss.
func (h *host) kill(t *rapid.T, l *fence.Local) {
	told := slices.ContainsFunc(h.desired.Clean, func(c model.Cleaning) bool { return c.Kill && c.Rank == l.Rank })
	absent := l.Incarnation == h.desired.Incarnation && h.desired.Index >= l.Placed
	named := slices.ContainsFunc(h.desired.Ranks, func(r model.Assignment) bool {
		return r.Rank == l.Rank && l.Incarnation == h.desired.Incarnation
	})
	if l.Phase != running || named || !told && !absent {
		t.Fatalf("kill of %+v under %+v", *l, *h.desired)
	}
	l.Phase = exited
}

func (h *host) clean(t *rapid.T, a fence.Action) {
	found := a.Allocation != ""
	for _, l := range h.folders {
		if l.Rank == a.Rank {
			found = true
			if l.Phase != exited && l.Phase != never {
				t.Fatalf("clean while %+v is there", l)
			}
		}
	}
	if !found {
		t.Fatalf("%v is clean and could still be started", a.Rank)
	}
	h.desired.Clean = slices.DeleteFunc(h.desired.Clean, func(c model.Cleaning) bool {
		return c.Slot == a.Slot && c.Rank == a.Rank && c.Allocation == a.Allocation
	})
}

func drawHost(t *rapid.T) *host {
	h := &host{desired: &model.Desired{Incarnation: incarnation(1), Index: 100}, born: map[fence.Local]bool{}}
	key := rapid.Custom(func(t *rapid.T) model.RankKey {
		return rank(rapid.IntRange(1, 4).Draw(t, "job"), rapid.IntRange(0, 1).Draw(t, "rank"))
	})
	placed := rapid.SampledFrom([]uint64{50, 60, 100, 101})
	for range rapid.IntRange(0, 6).Draw(t, "folders") {
		l := fence.Local{
			Rank: key.Draw(t, "rank"), Incarnation: incarnation(rapid.ByteRange(1, 3).Draw(t, "incarnation")),
			Placed: placed.Draw(t, "placed"), Phase: model.RankPhase(rapid.ByteRange(0, 8).Draw(t, "phase")),
			Stop: model.Reason(rapid.ByteRange(0, 7).Draw(t, "stop")),
		}
		if !h.born[name(l.Rank, l.Incarnation)] {
			h.born[name(l.Rank, l.Incarnation)] = true
			h.folders = append(h.folders, l)
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "ranks") {
		h.desired.Ranks = append(h.desired.Ranks, model.Assignment{
			Rank: key.Draw(t, "rank"), Placed: placed.Draw(t, "placed"), Run: rapid.Bool().Draw(t, "run"),
			Stop: model.Reason(rapid.ByteRange(0, 7).Draw(t, "stop")),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "cleanings") {
		c := model.Cleaning{Slot: slot(rapid.StringMatching("g[1-4]").Draw(t, "gpu")), Kill: rapid.Bool().Draw(t, "kill")}
		if c.Rank = key.Draw(t, "rank"); rapid.IntRange(0, 4).Draw(t, "allocation") == 0 {
			c.Rank, c.Allocation = model.RankKey{}, "a1"
		}
		h.desired.Clean = append(h.desired.Clean, c)
	}
	return h
}

// Whatever is on the disk and whatever is desired, plans start no rank that has
// a folder, end nothing that they may not, clean nothing that lives, depend on
// no order, and lead in a few rounds to where nothing is left to do. Any step of
// a plan may fail: it comes again.
func TestReconcileConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHost(t)
		for range rapid.IntRange(0, 3).Draw(t, "bad rounds") {
			for _, a := range fence.Reconcile(h.desired, h.folders) {
				if rapid.Bool().Draw(t, "works") {
					h.act(t, a)
				}
			}
		}
		const rounds = 4 // adopt; stop or refuse; report; clean
		for range rounds {
			for _, a := range fence.Reconcile(h.desired, h.folders) {
				h.act(t, a)
			}
		}
		if left := fence.Reconcile(h.desired, h.folders); len(left) > 0 {
			t.Fatalf("after %d rounds there is still %+v", rounds, left)
		}
	})
}

func TestReconcileIsAFunctionOfWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHost(t)
		first := fence.Reconcile(h.desired, h.folders)
		shuffled := rapid.Permutation(h.folders).Draw(t, "order")
		if diff := cmp.Diff(first, fence.Reconcile(h.desired, shuffled)); diff != "" {
			t.Fatal(diff)
		}
	})
}
