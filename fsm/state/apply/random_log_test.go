package apply

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// logEntry is an entry as it lies in a log.
type logEntry struct {
	Index uint64
	Data  []byte
}

func encode(t tester, index uint64, at model.Time, commands []command.Command) logEntry {
	t.Helper()
	for i := range commands {
		if commands[i].Err != nil {
			t.Fatalf("entry %d, command %d: %v", index, i, commands[i].Err)
		}
	}
	data, err := command.Encode(at, "p1", commands)
	if err != nil {
		t.Fatalf("encoding entry %d: %v", index, err)
	}
	return logEntry{index, data}
}

func (e logEntry) decode(t tester) (state.Meta, []command.Command) {
	t.Helper()
	d, err := command.Decode(e.Data)
	if err != nil {
		t.Fatalf("decoding entry %d: %v", e.Index, err)
	}
	return state.Meta{Index: e.Index, Term: 1, At: d.At, By: d.By, Hash: d.Hash}, d.Commands
}

// outcome is what came of an entry.
type outcome struct {
	commands []command.Command
	results  []command.Result
	changes  state.Changes
}

func (e logEntry) apply(t tester, s state.State) (state.State, outcome) {
	t.Helper()
	m, commands := e.decode(t)
	next, results, changes := Apply(s, m, commands)
	if len(changes.Panics) > 0 {
		t.Fatalf("entry %d: commands %v panicked: the first is %s %+v", e.Index, changes.Panics,
			commands[changes.Panics[0]].Body.Kind(), commands[changes.Panics[0]].Body)
	}
	return next, outcome{commands, results, changes}
}

// write draws a log of n entries and applies it.
func write(t tester, g *gen, s state.State, n int, each func(before, after state.State, e logEntry, o outcome)) state.State {
	t.Helper()
	for range n {
		at, commands := g.entry(s)
		e := encode(t, s.Index+1, at, commands)
		next, o := e.apply(t, s)
		if each != nil {
			each(s, next, e, o)
		}
		s = next
	}
	return s
}
