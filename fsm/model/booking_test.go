package model

import (
	"strings"
	"testing"
	"time"
)

// A certain end follows from the limit, the graces and the allowances; a limit that is offered for a span
// keeps to it, and is no shorter than necessary.
func TestCertainEnds(t *testing.T) {
	s := Spec{DisconnectGrace: DefaultDisconnectGrace, Grace: 30 * time.Second, CheckpointGrace: time.Minute}
	if s.Certain() != 0 || s.CertainEnd(7) != Never {
		t.Error("without a limit it certainly ends")
	}
	s.TimeLimit = 1000 * time.Minute
	want := 1001*time.Minute + startWithin + 90*time.Second + 30*time.Second + cleanWithin
	if got := s.Certain(); got != want {
		t.Errorf("it holds GPUs for %s at most, want %s", got, want)
	}
	a := Attempt{Frozen: s.Freeze(), Placed: 5}
	if got := a.CertainEnd(); got != Time(5).Add(want) {
		t.Errorf("before its start it certainly ends at %d", got)
	}
	if by := a.StartBy(a.CertainEnd()); by != a.Placed.Add(startWithin) || a.CertainEndIf(by) != a.CertainEnd() {
		t.Errorf("a start at %d is the latest for %d; with it the end is at %d", by, a.CertainEnd(), a.CertainEndIf(by))
	}
	if a.Started = 9; a.CertainEnd() != Time(9).Add(want-startWithin) {
		t.Errorf("once started it certainly ends at %d", a.CertainEnd())
	}
	if a.Stop = ReasonCancel; a.CertainEnd() != 0 {
		t.Error("while it is stopped it is not on its way out")
	}
	for span := time.Duration(0); span < 30*24*time.Hour; span += 97 * time.Minute {
		limit := s.LimitWithin(span)
		with := s
		if with.TimeLimit = limit; limit%time.Minute != 0 || limit > 0 && with.Certain() > span {
			t.Fatalf("for %s a limit of %s is offered, which may take %s", span, limit, with.Certain())
		}
		if with.TimeLimit = limit + 2*time.Minute; with.Certain() <= span {
			t.Fatalf("for %s a limit of %s is offered, %s would do", span, limit, with.TimeLimit)
		}
	}
}

func TestMagnitudes(t *testing.T) {
	for limit := time.Duration(0); limit < 1000*time.Hour; limit = 2*limit + 7*time.Second {
		s := Spec{TimeLimit: limit, OnLost: OnLostRequeue, DisconnectGrace: DefaultDisconnectGrace}
		m, d := s.Magnitude(), s.Certain()
		if least := m.Least(); least > d || d > 0 && d.Truncate(time.Second) >= 2*least || (m == 0) != (d < time.Second) ||
			(d == 0) != (limit == 0) {
			t.Errorf("%s is of magnitude %d, at least %s", d, m, least)
		}
	}
}

func TestBookingsValidate(t *testing.T) {
	good := Booking{Kind: BookGPUs, Owner: ScopeKey{ScopeUser, "bob"}, GPUs: 4, Start: 1, End: 2, Nodes: "a b"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Booking){
		"duration": func(b *Booking) { b.End = 1 },
		"reason":   func(b *Booking) { b.Note = "a\nb" },
		"nodes":    func(b *Booking) { b.Nodes = "b a" },
		"owner":    func(b *Booking) { b.Owner = ScopeKey{Kind: ScopeCluster} },
		"gpus":     func(b *Booking) { b.GPUs = 3 },
		"kind":     func(b *Booking) { b.Kind = 3 },
	} {
		b := good
		change(&b)
		if err := b.Validate(); err == nil || !strings.HasPrefix(err.Error(), what+":") {
			t.Errorf("%s: %v", what, err)
		}
	}
	shut := Booking{Kind: BookMaintenance, Start: 1, End: 2, Nodes: "a"}
	if err := shut.Validate(); err != nil {
		t.Error(err)
	}
	if shut.Nodes = ""; shut.Validate() == nil {
		t.Error("a maintenance of no node is allowed")
	}
}
