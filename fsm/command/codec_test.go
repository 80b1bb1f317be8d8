package command

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestModesExist(t *testing.T) {
	if modes.enc == nil || modes.dec == nil {
		t.Fatal("the encoding's options are refused")
	}
}

func envelopes(t testing.TB, list ...envelope) []byte {
	t.Helper()
	data, err := modes.enc.Marshal(frame{Version: frame{}.version(), At: 1, By: "p1", Commands: list})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func raw(t testing.TB, v any) cbor.RawMessage {
	t.Helper()
	data, err := modes.enc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What a newer program wrote is not guessed at; what is wrong by itself is a
// command that every peer refuses.
func TestDecodeTellsNewFromWrong(t *testing.T) {
	cases := map[string]struct {
		data          []byte
		unknown, fail bool
	}{
		"unknown kind":        {data: envelopes(t, envelope{Kind: 9999, Body: raw(t, map[int]int{})}), unknown: true},
		"unknown field":       {data: envelopes(t, envelope{Kind: uint16(KindCancel), Body: raw(t, map[int]int{77: 1})}), unknown: true},
		"unknown version":     {data: raw(t, frame{Version: frame{}.version() + 1}), unknown: true},
		"unknown entry field": {data: raw(t, map[int]any{1: frame{}.version(), 2: 1, 4: []int{}, 9: 1}), unknown: true},
		"a wrong type":        {data: envelopes(t, envelope{Kind: uint16(KindCancel), Body: raw(t, map[int]string{1: "x"})})},
		"a wrong value":       {data: envelopes(t, envelope{Kind: uint16(KindCancel), Body: raw(t, map[int]int{2: 1})})},
		"a wrong actor":       {data: envelopes(t, envelope{Kind: uint16(KindResume), Actor: "a\nb", Body: raw(t, map[int]int{})})},
		"no bytes":            {data: nil, fail: true},
		"not an entry":        {data: []byte("hello"), fail: true},
		"too long":            {data: make([]byte, MaxEntry+1), fail: true},
	}
	for name, c := range cases {
		e, err := Decode(c.data)
		_, unknown := errors.AsType[*UnknownError](err)
		switch {
		case unknown != c.unknown, (err != nil) != (c.unknown || c.fail):
			t.Errorf("%s: %v", name, err)
		case err == nil && e.Commands[0].Err == nil:
			t.Errorf("%s: was taken as a command", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	big := &Preempt{Beneficiary: model.TaskKey{Job: 1}, Victims: []model.AttemptKey{{Job: 1, N: 1}}}
	if _, err := New("two\nlines", big); err == nil {
		t.Error("an actor of two lines was taken")
	}
	if _, err := New("a", &Cancel{}); err == nil {
		t.Error("a cancel of no job was taken")
	}
	report := &Report{}
	for range 4096 {
		report.Reports = append(report.Reports, model.Progress{Phase: model.RankNever, Detail: "no room on the disk of this node"})
	}
	if _, err := New("a", report); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a report of 4096 ranks: %v", err)
	}
	if c, err := New("a", big); err != nil {
		t.Error(err)
	} else if _, err := c.WithRequest(""); err == nil {
		t.Error("an empty request id was taken")
	}
}

// An entry has room for so much: few bytes must not mean long work.
func TestRoomOfAnEntry(t *testing.T) {
	c, err := New("a", array(model.MaxTasks))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Encode(1, "p1", []Command{c}); err != nil {
		t.Errorf("one array of the greatest size: %v", err)
	}
	if _, err := Encode(1, "p1", []Command{c, c}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two of them: %v", err)
	}
	e, err := Decode(envelopes(t, envelope{Kind: uint16(KindSubmit), Body: c.raw}, envelope{Kind: uint16(KindSubmit), Body: c.raw}))
	if err != nil || e.Commands[0].Err != nil || !errors.Is(e.Commands[1].Err, ErrTooLarge) {
		t.Errorf("two of them, forged: %v %+v", err, e.Commands)
	}
}

// The largest array with the largest environment fits, and nothing of other users with it.
func TestALargeSubmission(t *testing.T) {
	b := array(model.MaxTasks)
	b.SubmitEnv = []string{"A=" + strings.Repeat("x", MaxSubmitEnv-4), "B="}
	if _, err := New("a", b); err == nil || !strings.Contains(err.Error(), "submit_env") {
		t.Errorf("an environment of %d bytes and more: %v", MaxSubmitEnv, err)
	}
	b.SubmitEnv, b.Script = b.SubmitEnv[:1], "#!/bin/sh\n"+strings.Repeat("#", model.MaxScript-10)
	c, err := New("a", b)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Encode(1, "p1", []Command{c})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := Decode(data); err != nil || e.Commands[0].Err != nil {
		t.Errorf("decoded: %v, %v", err, e.Commands)
	}
	small, err := New("a", array(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, both := range [][]Command{{c, small}, {small, c}} {
		if _, err := Encode(1, "p1", both); !errors.Is(err, ErrTooLarge) {
			t.Errorf("with another submission: %v", err)
		}
	}
}

func array(tasks uint32) *Submit {
	return &Submit{Tasks: tasks, Spec: model.Spec{
		User: "alice", Class: model.ClassNormal, Command: "true", GPUs: 1, OnLost: model.OnLostRequeue,
		DisconnectGrace: 5 * time.Minute, Grace: 30 * time.Second,
	}}
}

func TestEncodeRefusesTooMany(t *testing.T) {
	c, err := New("a", &Resume{})
	if err != nil {
		t.Fatal(err)
	}
	many := make([]Command, MaxCommands+1)
	for i := range many {
		many[i] = c
	}
	if _, err := Encode(1, "p1", many); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d commands: %v", len(many), err)
	}
}

// FuzzDecode: no bytes make Decode panic, and what it takes it writes again alike.
func FuzzDecode(f *testing.F) {
	for _, b := range examples() {
		c, err := New("user:alice", b)
		if err != nil {
			f.Fatal(err)
		}
		data, err := Encode(1, "p1", []Command{c})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		if slices.ContainsFunc(e.Commands, func(c Command) bool { return c.Err != nil }) {
			return
		}
		again, err := Encode(e.At, e.By, e.Commands)
		if err != nil {
			if errors.Is(err, ErrTooLarge) {
				return
			}
			t.Fatalf("an entry that was read cannot be written: %v", err)
		}
		second, err := Decode(again)
		if err != nil || len(second.Commands) != len(e.Commands) {
			t.Fatalf("an entry that was read and written cannot be read: %v", err)
		}
		for i := range e.Commands {
			a, b := &e.Commands[i], &second.Commands[i]
			if !bytes.Equal(a.raw, b.raw) || !reflect.DeepEqual(a.Body, b.Body) || (a.Err == nil) != (b.Err == nil) {
				t.Fatalf("command %d changed: %+v, %+v", i, a, b)
			}
		}
	})
}
