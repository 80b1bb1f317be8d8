package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// slowLog takes entries as raft would, each in a moment of virtual time.
type slowLog struct {
	mu      sync.Mutex
	entries [][]command.Kind
}

type slowFuture struct {
	raft.ApplyFuture
	done chan struct{}
	out  fsm.Outcome
	err  error
}

func (f *slowFuture) Error() error  { <-f.done; return f.err }
func (f *slowFuture) Response() any { return f.out }
func (f *slowFuture) Index() uint64 { return f.out.Index }
func (l *slowLog) take(bundles []*bundle) (raft.ApplyFuture, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kinds []command.Kind
	for _, b := range bundles {
		for i := range b.commands {
			kinds = append(kinds, b.commands[i].Kind())
		}
	}
	l.entries = append(l.entries, kinds)
	f := &slowFuture{done: make(chan struct{}), out: fsm.Outcome{Index: uint64(len(l.entries))}}
	for i := range kinds {
		f.out.Results = append(f.out.Results, command.Result{Number: uint64(i)})
	}
	time.AfterFunc(time.Millisecond, func() { close(f.done) })
	return f, nil
}

func inLanes(t *testing.T, inFlight int, test func(l *laneSet, log *slowLog)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		log := &slowLog{}
		l := newLanes(inFlight, log.take, func(error) {})
		ctx, cancel := context.WithCancel(context.Background())
		var run sync.WaitGroup
		run.Go(func() { l.run(ctx) })
		test(l, log)
		cancel()
		run.Wait()
	})
}

func bundleOf(t *testing.T, commands ...command.Command) *bundle {
	t.Helper()
	b := &bundle{commands: commands, done: make(chan answer, 1)}
	for i := range commands {
		b.size += commands[i].Size()
	}
	return b
}

func control(t *testing.T) command.Command {
	t.Helper()
	c, err := command.New("peer:p1", &command.Suspect{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What waits together travels together, control commands first and apart, and
// each caller gets its own results.
func TestWaitingCommandsShareEntries(t *testing.T) {
	inLanes(t, 1, func(l *laneSet, log *slowLog) {
		first := bundleOf(t, submit("first"))
		mustAdd(t, l, command.LaneUser, first)
		synctest.Wait() // it is under way, alone
		var users []*bundle
		for i := range 10 {
			users = append(users, bundleOf(t, submit(fmt.Sprint(i)), submit("and its mate")))
			mustAdd(t, l, command.LaneUser, users[i])
		}
		urgent := bundleOf(t, control(t))
		mustAdd(t, l, command.LaneControl, urgent)
		for i, b := range users {
			a := <-b.done
			if a.err != nil || len(a.results) != 2 || a.results[0].Number != uint64(2*i) {
				t.Errorf("caller %d got %+v", i, a)
			}
		}
		if a := <-urgent.done; a.index != 2 {
			t.Errorf("the control command came at entry %d, want 2", a.index)
		}
		if len(log.entries) != 3 || len(log.entries[1]) != 1 || len(log.entries[2]) != 20 {
			t.Errorf("the entries are %v", log.entries)
		}
	})
}

func mustAdd(t *testing.T, l *laneSet, lane command.Lane, b *bundle) {
	t.Helper()
	if err := l.add(lane, b); err != nil {
		t.Fatal(err)
	}
}

// The user lane turns callers away when it is full; the control lane never does.
func TestAFullLaneTurnsUsersAway(t *testing.T) {
	l := newLanes(1, nil, nil)
	for range maxWaiting {
		mustAdd(t, l, command.LaneUser, bundleOf(t, submit("x")))
	}
	if err := l.add(command.LaneUser, bundleOf(t, submit("x"))); !errors.Is(err, peer.ErrOverloaded) {
		t.Errorf("one more than %d gave %v", maxWaiting, err)
	}
	mustAdd(t, l, command.LaneControl, bundleOf(t, control(t)))
	l.pack() // the control command
	l.pack() // users
	mustAdd(t, l, command.LaneUser, bundleOf(t, submit("x")))
}

// No entry exceeds its bound, whatever waits.
func TestEntriesStayWithinTheirBounds(t *testing.T) {
	l := newLanes(1, nil, nil)
	big := bundleOf(t, submit("x"))
	big.size = 200 << 10
	for range 7 {
		mustAdd(t, l, command.LaneUser, big)
	}
	for _, want := range []int{2, 2, 2, 1, 0} {
		if got := len(l.pack()); got != want {
			t.Fatalf("an entry holds %d bundles of 200 KiB, want %d", got, want)
		}
	}
}

// Callers that wait when the peer ends get ErrClosed.
func TestWaitingCallersAreToldOfTheEnd(t *testing.T) {
	inLanes(t, 1, func(l *laneSet, _ *slowLog) {
		l.close()
		if err := l.add(command.LaneUser, bundleOf(t, submit("x"))); !errors.Is(err, peer.ErrClosed) {
			t.Errorf("a closed lane gave %v", err)
		}
	})
	l := newLanes(1, nil, nil)
	waiting := bundleOf(t, submit("x"))
	mustAdd(t, l, command.LaneUser, waiting)
	l.close()
	if a := <-waiting.done; !errors.Is(a.err, peer.ErrClosed) {
		t.Errorf("a waiting caller got %v", a.err)
	}
}

// Raft's errors are translated by whether something was proposed.
func TestErrorsSayWhetherSomethingWasProposed(t *testing.T) {
	for err, want := range map[error]error{
		raft.ErrNotLeader: peer.ErrNoLeader, raft.ErrEnqueueTimeout: peer.ErrNoLeader,
		raft.ErrLeadershipTransferInProgress: peer.ErrNoLeader, raft.ErrRaftShutdown: peer.ErrOutcomeUnknown,
		raft.ErrLeadershipLost: peer.ErrOutcomeUnknown, raft.ErrAbortedByRestore: peer.ErrOutcomeUnknown,
		errors.New("the disk"): peer.ErrOutcomeUnknown,
	} {
		if got := translate(err); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("%v became %v, want %v", err, got, want)
		}
	}
}

// Renewals of one moment share one entry, each with its own answer.
func TestRenewalsAreGathered(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		s := l.State()
		inc := s.Settings().Incarnation
		w.register(l, "n1")
		w.settled()
		var calls sync.WaitGroup
		var codes [3]model.Code
		for i, r := range []command.Renewal{
			{Node: "n1", Incarnation: inc, Epoch: 1, Seq: 1},
			{Node: "n1", Incarnation: inc, Epoch: 7, Seq: 1},
			{Node: "n1", Incarnation: model.Incarnation{9}, Epoch: 1, Seq: 2},
		} {
			calls.Go(func() {
				var err error
				if codes[i], err = l.Renew(within(time.Second), r, true); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if codes != [3]model.Code{model.CodeOK, model.CodeStaleEpoch, model.CodeStaleIncarnation} {
			t.Errorf("the answers are %v", codes)
		}
	})
}

func (w *world) register(m *member, node model.NodeID) {
	w.t.Helper()
	c, err := command.New("node:"+string(node), &command.Register{
		Node: node, Machine: "m", Boot: "b", Lineage: "l", Session: "s", Hostname: string(node),
		Devices: []model.Device{{ID: model.GPUID(node + "-0"), Model: "H100", MemoryMB: 81920, Health: model.HealthHealthy, Idle: true}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if r, _, err := m.Propose(within(time.Second), c); err != nil || !r[0].OK() {
		w.t.Fatalf("registering gave %+v, %v", r, err)
	}
}
