package fence_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// at returns a reading s seconds after the boot.
func at(s int) fence.Boot { return fence.Boot(time.Duration(s) * time.Second) }

func incarnation(b byte) model.Incarnation { return model.Incarnation{0: b} }

func registration(epoch uint64) fence.Registration {
	return fence.Registration{Incarnation: incarnation(1), Node: "n1", Epoch: epoch}
}

func registered(t *testing.T, epoch uint64) *fence.Lease {
	t.Helper()
	l := new(fence.Lease)
	if !l.Registered(registration(epoch)) {
		t.Fatal("a first registration did not count")
	}
	return l
}

func send(t *testing.T, l *fence.Lease, now fence.Boot) fence.Renewal {
	t.Helper()
	r, ok := l.Send(now)
	if !ok {
		t.Fatal("Send: not registered")
	}
	return r
}

func wantStart(t *testing.T, l *fence.Lease, want fence.Boot) {
	t.Helper()
	if got := l.Start(); got != want {
		t.Errorf("lease starts at %v, want %v", got, want)
	}
}

func TestLeaseCountsFromTheSending(t *testing.T) {
	l := registered(t, 1)
	first, second, third := send(t, l, at(10)), send(t, l, at(12)), send(t, l, at(14))
	if first.Seq != 1 || second.Seq != 2 || first.Registration != registration(1) {
		t.Fatalf("sendings are named %v, %v", first, second)
	}
	wantStart(t, l, 0)
	if !l.Accepted(second) {
		t.Error("an accepted renewal moved nothing")
	}
	wantStart(t, l, at(12))
	for _, late := range []fence.Renewal{first, second} {
		if l.Accepted(late) {
			t.Errorf("the late answer to %d moved the start", late.Seq)
		}
	}
	wantStart(t, l, at(12))
	l.Accepted(third)
	wantStart(t, l, at(14))
}

func TestLeaseBelievesOnlyWhatItSent(t *testing.T) {
	l := registered(t, 2)
	r := send(t, l, at(10))
	for name, wrong := range map[string]fence.Renewal{
		"unknown number":    {Registration: r.Registration, Seq: 7},
		"older epoch":       {Registration: registration(1), Seq: 1},
		"newer epoch":       {Registration: registration(3), Seq: 1},
		"other incarnation": {Registration: fence.Registration{Incarnation: incarnation(9), Node: "n1", Epoch: 2}, Seq: 1},
	} {
		if l.Accepted(wrong); l.Start() != 0 {
			t.Errorf("%s: the lease starts at %v", name, l.Start())
		}
	}
}

func TestLeaseRegisteringGrantsAndTakesNothing(t *testing.T) {
	l := registered(t, 1)
	old := send(t, l, at(10))
	l.Accepted(old)
	pending := send(t, l, at(20))
	if l.Registered(registration(1)) {
		t.Error("the registration's answer counted twice")
	}
	if !l.Registered(registration(2)) {
		t.Error("a newer registration did not count")
	}
	if l.Registered(registration(1)) {
		t.Error("a late answer to an older registration counted")
	}
	l.Accepted(pending)
	wantStart(t, l, at(10))
	l.Accepted(send(t, l, at(30)))
	wantStart(t, l, at(30))
}

func TestLeaseRefusals(t *testing.T) {
	for why, test := range map[model.Code]struct {
		mustRegister bool
		next         uint64
	}{
		model.CodeStaleSeq:         {next: 42},
		model.CodeStaleEpoch:       {mustRegister: true},
		model.CodeStaleIncarnation: {mustRegister: true},
		model.CodeUnavailable:      {next: 3},
	} {
		l := registered(t, 1)
		l.Accepted(send(t, l, at(10)))
		l.Refused(send(t, l, at(12)), why, 41)
		wantStart(t, l, at(10))
		r, ok := l.Send(at(14))
		if ok == test.mustRegister || r.Seq != test.next {
			t.Errorf("after %v: Send is %d, %v", why, r.Seq, ok)
		}
		if _, ok := l.Registration(); ok == test.mustRegister {
			t.Errorf("after %v: registered is %v", why, ok)
		}
	}
}

// A registration follows the newest epoch of any answer, over a restart and a reboot, too; registering again
// helps only if that was another epoch.
func TestLeaseFollows(t *testing.T) {
	want := func(l *fence.Lease, epoch uint64) {
		t.Helper()
		if got := l.Follows(); got != epoch {
			t.Errorf("a registration follows epoch %d, want %d", got, epoch)
		}
	}
	l := new(fence.Lease)
	want(l, 1)
	if !l.OutOfTurn(l.Follows(), 7) {
		t.Error("having heard of epoch 7 it does not ask again")
	}
	want(l, 7)
	if l.OutOfTurn(7, 7) {
		t.Error("refused for another reason it asks again at once")
	}
	if l.OutOfTurn(7, 0) {
		t.Error("an answer without an epoch makes it ask again at once")
	}
	l.Registered(registration(8))
	want(l, 8)
	for _, boot := range []string{"boot-a", "boot-b"} {
		next := fence.Restore(l.Mark("boot-a"), boot)
		want(&next, 8)
	}
}

func TestLeaseLateRefusalOfAnOlderEpochChangesNothing(t *testing.T) {
	l := registered(t, 1)
	old := send(t, l, at(10))
	l.Registered(registration(2))
	l.Refused(old, model.CodeStaleEpoch, 0)
	if _, ok := l.Registration(); !ok {
		t.Error("a refusal under epoch 1 ended epoch 2")
	}
}

func TestLeaseRemembersABoundedNumberOfSendings(t *testing.T) {
	l := registered(t, 1)
	first := send(t, l, at(1))
	var last fence.Renewal
	for i := range 1000 {
		last = send(t, l, at(2+i))
	}
	l.Accepted(first)
	wantStart(t, l, 0)
	l.Accepted(last)
	wantStart(t, l, at(1001))
}

func TestLeaseRestart(t *testing.T) {
	l := registered(t, 3)
	l.Accepted(send(t, l, at(10)))
	pending := send(t, l, at(12))
	mark := l.Mark("boot-a")

	same := fence.Restore(mark, "boot-a")
	wantStart(t, &same, at(10))
	if _, ok := same.Send(at(20)); ok {
		t.Error("a restarted agent renews without registering")
	}
	if same.Registered(registration(3)) {
		t.Error("it took up the epoch of the process before it")
	}
	same.Registered(registration(4))
	same.Accepted(pending)
	wantStart(t, &same, at(10))
	if r := send(t, &same, at(22)); r.Seq <= pending.Seq {
		t.Errorf("it numbers %d after %d", r.Seq, pending.Seq)
	}

	rebooted := fence.Restore(mark, "boot-b")
	wantStart(t, &rebooted, 0)
	if !rebooted.Registered(registration(4)) {
		t.Error("it could not register after a reboot")
	}
}

// message is a renewal on its way, or its answer.
type message struct {
	renewal fence.Renewal
	sent    fence.Boot // the truth, which the agent must find out by itself
	why     model.Code
	newest  uint64
}

// leaseWorld is one node, one log per incarnation, and a network that delays,
// repeats, loses and reorders.
type leaseWorld struct {
	lease    *fence.Lease
	mark     fence.Mark
	now      fence.Boot
	inc      byte
	epochs   map[byte]uint64
	applied  map[byte]uint64 // newest number of the newest epoch
	requests []message
	answers  []message
	tickets  []fence.Registration // registrations' answers on their way
	newest   fence.Boot           // sending of the newest renewal that a log accepted
	accepted map[fence.Boot]bool
}

func newLeaseWorld() *leaseWorld {
	return &leaseWorld{
		lease: new(fence.Lease), now: at(1), inc: 1,
		epochs: map[byte]uint64{}, applied: map[byte]uint64{}, accepted: map[fence.Boot]bool{0: true},
	}
}

func (w *leaseWorld) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pass": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "d")))
		},
		"send": func(*rapid.T) {
			w.now++
			if r, ok := w.lease.Send(w.now); ok {
				w.requests = append(w.requests, message{renewal: r, sent: w.now})
			}
		},
		"apply":  func(t *rapid.T) { take(t, &w.requests, w.apply) },
		"answer": func(t *rapid.T) { take(t, &w.answers, w.answer) },
		"register": func(*rapid.T) {
			w.epochs[w.inc]++
			w.applied[w.inc] = 0
			w.tickets = append(w.tickets, fence.Registration{
				Incarnation: incarnation(w.inc), Node: "n1", Epoch: w.epochs[w.inc],
			})
		},
		"registered": func(t *rapid.T) {
			take(t, &w.tickets, func(r fence.Registration) { w.lease.Registered(r) })
		},
		"restore the cluster": func(t *rapid.T) { w.inc = rapid.ByteRange(1, 2).Draw(t, "incarnation") },
		"save":                func(*rapid.T) { w.mark = w.lease.Mark("boot") },
		"restart": func(*rapid.T) {
			l := fence.Restore(w.mark, "boot")
			w.lease, w.answers, w.tickets = &l, nil, nil // answers go to a process
		},
	}
}

// take hands on one of the things on their way, which may stay on its way too.
func take[E any](t *rapid.T, from *[]E, to func(E)) {
	if len(*from) == 0 {
		return
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
	e := (*from)[i]
	if rapid.Bool().Draw(t, "once") {
		*from = append((*from)[:i], (*from)[i+1:]...)
	}
	to(e)
}

func (w *leaseWorld) apply(m message) {
	inc := m.renewal.Incarnation[0]
	m.newest = w.applied[inc]
	switch {
	case m.renewal.Epoch != w.epochs[inc]:
		m.why = model.CodeStaleEpoch
	case m.renewal.Seq <= w.applied[inc]:
		m.why = model.CodeStaleSeq
	default:
		w.applied[inc] = m.renewal.Seq
		w.newest = max(w.newest, m.sent)
		w.accepted[m.sent] = true
	}
	w.answers = append(w.answers, m)
}

func (w *leaseWorld) answer(m message) {
	if m.why != model.CodeOK {
		w.lease.Refused(m.renewal, m.why, m.newest)
	} else {
		w.lease.Accepted(m.renewal)
	}
}

func (w *leaseWorld) check(t *rapid.T) {
	if w.lease.Start() > w.newest || !w.accepted[w.lease.Start()] {
		t.Fatalf("lease starts at %v, the newest accepted renewal was sent at %v", w.lease.Start(), w.newest)
	}
}

// Whatever the network does, the lease starts at the sending of a renewal that a
// log accepted, and not after the newest of them.
func TestLeaseNeverRunsAheadOfTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLeaseWorld()
		actions := w.actions()
		actions[""] = w.check
		t.Repeat(actions)
	})
}
