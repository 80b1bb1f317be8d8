package liveness_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

const grace = 100 * time.Second // T of the rank in these tests; LostAfter is 105.4 s

var incarnation = model.Incarnation{1}

// world is a state with one node n1, a rank that runs there, and a book.
type world struct {
	t    rapid.TB
	s    state.State
	book *liveness.Book
}

func newWorld(t rapid.TB, onLost model.OnLost) *world {
	w := &world{t: t, book: liveness.New(liveness.Config{})}
	w.apply(&command.Bootstrap{
		Incarnation: incarnation, Level: 1, Running: true, Policy: "fcfs",
		Retention: model.Retention{Jobs: 10, Age: time.Hour},
	})
	w.register("l1")
	w.apply(&command.Submit{Tasks: 1, Spec: model.Spec{
		User: "alice", Class: model.ClassNormal, Command: "true", GPUs: 1,
		OnLost: onLost, DisconnectGrace: grace,
	}})
	w.apply(&command.Place{Attempt: rank.Attempt(), Ranks: []command.Placement{
		{Node: "n1", Epoch: 1, Slots: []model.SlotKey{{GPU: "g1"}}},
	}})
	w.renew(1, 1)
	return w
}

var rank = model.RankKey{Job: 1, N: 1}

func (w *world) apply(bodies ...command.Body) {
	w.t.Helper()
	for _, b := range bodies {
		c, err := command.New("peer:p1", b)
		if err != nil {
			w.t.Fatalf("%s: %v", b.Kind(), err)
		}
		meta := state.Meta{Index: w.s.Index + 1, Term: 1, At: 1_700_000_000_000_000_000, By: "p1"}
		next, results, _ := apply.Apply(w.s, meta, []command.Command{c})
		if !results[0].OK() {
			w.t.Fatalf("%s was refused: %s", b.Kind(), results[0].Detail)
		}
		w.s = next
	}
}

func (w *world) register(lineage string) {
	w.apply(&command.Register{
		Node: "n1", Machine: "m1", Boot: "b1", Lineage: lineage, Session: "s1",
		Devices: []model.Device{
			{ID: "g1", Model: "H200", Health: model.HealthHealthy, Idle: true},
			{ID: "g2", Model: "H200", Health: model.HealthHealthy, Idle: true},
		},
	})
}

func (w *world) renew(epoch, seq uint64) {
	w.apply(&command.Renew{Renewals: []command.Renewal{{Node: "n1", Incarnation: incarnation, Epoch: epoch, Seq: seq}}})
}

func (w *world) started() {
	w.apply(&command.Report{
		Node: "n1", Incarnation: incarnation, Epoch: 1,
		Reports: []model.Progress{{Rank: rank, Phase: model.RankRunning}},
	})
}

// decide decides and carries out what was decided.
func (w *world) decide(now time.Duration) ([]command.Kind, time.Duration) {
	w.t.Helper()
	bodies, next := w.book.Decide(now, &w.s)
	w.apply(bodies...)
	return kinds(bodies), next
}

func kinds(bodies []command.Body) (out []command.Kind) {
	for _, b := range bodies {
		out = append(out, b.Kind())
	}
	return out
}

// until decides whenever something is due, until a command of that kind or the
// end, and returns when.
func (w *world) until(now, end time.Duration, kind command.Kind) time.Duration {
	w.t.Helper()
	for steps := 0; now < end; steps++ {
		if steps > 1000 {
			w.t.Fatalf("still busy after 1000 decisions, at %s", now)
		}
		did, next := w.decide(now)
		if slices.Contains(did, kind) {
			return now
		}
		if next == liveness.Never {
			return liveness.Never
		}
		now += next
	}
	return liveness.Never
}

func within(t rapid.TB, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s at %s, want %s to %s", what, got, low, high)
	}
}

func TestASilentNodeIsSuspectThenItsRankIsLost(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(time.Hour)
	within(t, "suspect", w.until(time.Hour, 2*time.Hour, command.KindSuspect), time.Hour+10*time.Second, time.Hour+10*time.Second)
	lost := w.until(time.Hour+10*time.Second, 2*time.Hour, command.KindRankLost)
	within(t, "lost", lost, time.Hour+105400*time.Millisecond, time.Hour+105500*time.Millisecond)
}

func TestWhoRenewsIsNeverSuspect(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	for seq := range uint64(200) {
		if did, _ := w.decide(time.Duration(seq) * 2 * time.Second); len(did) > 0 {
			t.Fatalf("decided %v on a node in contact", did)
		}
		w.renew(1, seq+2)
	}
}

// A leader counts none of the silence that an earlier leader has witnessed.
func TestALeaderCountsFromItsElection(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	w.until(0, 60*time.Second, command.KindRankLost)
	w.book = liveness.New(liveness.Config{})
	w.book.Elected(0) // by another clock
	lost := w.until(0, time.Hour, command.KindRankLost)
	within(t, "lost under the second leader", lost, 105400*time.Millisecond, 105500*time.Millisecond)
}

func TestARenewalVoidsTheCount(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	w.until(0, 60*time.Second, command.KindRankLost)
	w.book.Elected(0)
	w.book.Observe(0, &w.s)
	w.renew(1, 2)
	lost := w.until(5*time.Second, time.Hour, command.KindRankLost)
	within(t, "lost", lost, 110400*time.Millisecond, 110500*time.Millisecond)
}

func TestAStallStartsTheCountAnew(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	w.until(0, 90*time.Second, command.KindRankLost)
	w.book.Stalled(100 * time.Second)
	lost := w.until(100*time.Second, time.Hour, command.KindRankLost)
	within(t, "lost", lost, 205400*time.Millisecond, 205500*time.Millisecond)
}

// A rank is lost only once its node has been seen suspect for two renewals, however long it was silent.
func TestASuspectIsSeenForTwoRenewalsFirst(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.book = liveness.New(liveness.Config{Suspect: time.Hour})
	w.started()
	w.book.Elected(0)
	lost := w.until(0, 2*time.Hour, command.KindRankLost)
	within(t, "lost", lost, time.Hour+4*time.Second, time.Hour+5100*time.Millisecond) // the book sees the suspect a second later at most
}

func TestAHeldRankIsNeverLost(t *testing.T) {
	w := newWorld(t, model.OnLostHold)
	w.started()
	w.book.Elected(0)
	if lost := w.until(0, 100*time.Hour, command.KindRankLost); lost != liveness.Never {
		t.Errorf("lost at %s", lost)
	}
}

func TestADeadNodeCostsNothingInTheEnd(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	now, decisions := time.Duration(0), 0
	for ; decisions < 200; decisions++ {
		_, next := w.decide(now)
		if next == liveness.Never {
			break
		}
		now += next
	}
	if decisions == 200 {
		t.Errorf("still something to do after %s", now)
	}
}

func TestAnOrphanIsLostHoweverLivelyItsNode(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	w.decide(0)
	w.register("l2")
	var seq uint64
	for now := 5 * time.Second; now < 200*time.Second; now += time.Second {
		did, _ := w.decide(now)
		if slices.Contains(did, command.KindRankLost) {
			within(t, "lost", now, 110*time.Second, 111*time.Second)
			return
		}
		if len(did) > 0 {
			t.Fatalf("decided %v", did)
		}
		seq++
		w.renew(2, seq)
	}
	t.Error("the orphan was never given up")
}

func TestAnAllocationOnASilentNodeIsLost(t *testing.T) {
	w := newWorld(t, model.OnLostHold)
	w.apply(&command.Allocate{ID: "a1", User: "bob", Class: model.ClassNormal, GPUs: 1},
		&command.Grant{ID: "a1", Placement: command.Placement{Node: "n1", Epoch: 1, Slots: []model.SlotKey{{GPU: "g2"}}}})
	w.started()
	w.book.Elected(0)
	lost := w.until(0, time.Hour, command.KindAllocationLost)
	within(t, "lost", lost, 307200*time.Millisecond, 307300*time.Millisecond) // 300 s, 0.4 %, 6 s
}

func TestAnAttemptThatDoesNotStartIsOverdue(t *testing.T) {
	w := newWorld(t, model.OnLostHold)
	w.book.Elected(0)
	for now := time.Duration(0); now < time.Hour; now += 2 * time.Second {
		did, _ := w.decide(now)
		if slices.Contains(did, command.KindStartOverdue) {
			within(t, "overdue", now, 10*time.Minute, 10*time.Minute+2*time.Second)
			return
		}
		w.renew(1, uint64(now/time.Second)+2)
	}
	t.Error("never overdue")
}

func TestWhatStartsIsNotOverdue(t *testing.T) {
	w := newWorld(t, model.OnLostHold)
	w.book.Elected(0)
	w.decide(0)
	w.started()
	if at := w.until(0, 2*time.Hour, command.KindStartOverdue); at != liveness.Never {
		t.Errorf("overdue at %s", at)
	}
}

func TestWhatCameToNothingIsDecidedAgainLater(t *testing.T) {
	w := newWorld(t, model.OnLostRequeue)
	w.started()
	w.book.Elected(0)
	w.book.Observe(0, &w.s)
	decisions, proposals := 0, 0
	for now := time.Duration(0); now < 70*time.Second; decisions++ {
		bodies, next := w.book.Decide(now, &w.s) // nothing is ever committed
		for _, b := range bodies {
			if b.Kind() == command.KindSuspect {
				proposals++
			}
		}
		now += next
	}
	if proposals < 50 || proposals > 61 || decisions > 300 {
		t.Errorf("proposed %d times in %d decisions over a minute, want about one a second", proposals, decisions)
	}
}

// TestNoRankIsLostEarly plays random leaders over one silence: the sum of what
// they count never exceeds the time that has passed.
func TestNoRankIsLostEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, model.OnLostRequeue)
		w.started()
		after := (&model.Spec{DisconnectGrace: grace}).Freeze()
		now, heard, seq := time.Duration(0), time.Duration(0), uint64(1)
		w.book.Elected(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond
			switch rapid.IntRange(0, 19).Draw(t, "what") {
			case 0:
				seq++
				w.renew(1, seq)
				heard = now
			case 1, 2:
				w.book.Elected(now)
			case 3:
				w.book.Stalled(now)
			default:
				did, next := w.decide(now)
				if next <= 0 {
					t.Fatal("busy without a need")
				}
				if slices.Contains(did, command.KindRankLost) {
					if now-heard < after.LostAfter() {
						t.Fatalf("lost %s after the last renewal", now-heard)
					}
					return
				}
			}
		}
	})
}

// Gossip makes the suspicion of a node sooner whose renewal is late, and nothing else: no node is suspect by gossip alone,
// and no rank is lost earlier.
func TestGossipHurriesTheSuspicion(t *testing.T) {
	t.Parallel()
	silent := false
	w := newWorld(t, model.OnLostRequeue)
	w.book = liveness.New(liveness.Config{Hinted: func(id model.NodeID) bool { return silent && id == "n1" }})
	w.started()
	w.book.Elected(0)
	now := time.Duration(0)
	silent = true
	for seq := range uint64(50) { // renewals come in time
		if did, _ := w.decide(now); len(did) > 0 {
			t.Fatalf("decided %v on a node that renews", did)
		}
		w.renew(1, seq+2)
		now += 2 * time.Second
	}
	began := now // the book sees the last renewal at the next decision
	within(t, "suspect", w.until(now, began+time.Minute, command.KindSuspect), began+3*time.Second, began+3500*time.Millisecond)
	lost := w.until(began+4*time.Second, began+time.Hour, command.KindRankLost)
	within(t, "lost", lost, began+105400*time.Millisecond, began+105500*time.Millisecond)

	silent = false
	w = newWorld(t, model.OnLostRequeue)
	w.book = liveness.New(liveness.Config{Hinted: func(model.NodeID) bool { return silent }})
	w.started()
	w.book.Elected(0)
	within(t, "suspect without a hint", w.until(0, time.Hour, command.KindSuspect), 10*time.Second, 10*time.Second)
}
