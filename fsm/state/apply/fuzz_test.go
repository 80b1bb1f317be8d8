package apply

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Bare applies an entry below the recover of Apply, so that a panic surfaces.
func Bare(s *state.State, m state.Meta, commands []command.Command) (state.State, []command.Result) {
	t := tx.Begin(s, m)
	results := make([]command.Result, len(commands))
	t.Tick(commands)
	for i := range commands {
		results[i] = appliers.run(t, &commands[i])
	}
	next, _ := t.Finish(results)
	return next, results
}

// busy returns a state with jobs in every phase, to throw bytes at.
func busy(t tester) state.State { return someState(t, 3, 400) }

// ApplyHoldsInvariants: no bytes make an applier panic or break an invariant.
func ApplyHoldsInvariants(f *testing.F, checks Checks) {
	s := busy(f)
	write(f, newGen(seeded(4)), s, 40, func(_, _ state.State, e logEntry, _ outcome) { f.Add(e.Data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := command.Decode(data)
		if err != nil {
			return
		}
		next, _ := Bare(&s, state.Meta{Index: s.Index + 1, Term: 1, At: e.At, By: e.By, Hash: e.Hash}, e.Commands)
		if err := checks.State(&next); err != nil {
			t.Fatalf("%+v: %v", e.Commands, err)
		}
		if err := checks.Move(&s, &next); err != nil {
			t.Fatalf("%+v: %v", e.Commands, err)
		}
	})
}

// FuzzSnapshot: no bytes make ReadSnapshot panic; what it takes it writes again
// with the same digest.
func FuzzSnapshot(f *testing.F) {
	for _, n := range []int{0, 1, 10, 60} {
		s := someState(f, 3, n)
		f.Add(snapshotOf(f, &s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := snapshot.Read(bytes.NewReader(data))
		if err != nil {
			if !unusable(err) {
				t.Fatalf("neither corrupt nor unknown: %v", err)
			}
			return
		}
		again, err := snapshot.Read(bytes.NewReader(snapshotOf(t, &s)))
		if err != nil || again.Digest() != s.Digest() {
			t.Fatalf("read, written and read: %v", err)
		}
	})
}

// cborHead returns a major type and a length.
func cborHead(major byte, n int) []byte {
	return []byte{major<<5 | 26, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// hostile packs as many commands into an entry as fit, each with one list of as
// many small elements as the list may have.
func hostile(kind command.Kind, head []byte, field byte, element []byte) []byte {
	body := append(append([]byte{0xa0 | byte(1+len(head)/2)}, head...), field)
	n := min(4096, (60<<10)/len(element))
	body = append(append(body, cborHead(4, n)...), bytes.Repeat(element, n)...)
	one := append([]byte{0xa2, 0x01, 0x18, byte(kind), 0x04}, body...)
	commands := min(4096, (command.MaxEntry-64)/len(one))
	out := append([]byte{0xa3, 0x01, 0x01, 0x02, 0x00, 0x04}, cborHead(4, commands)...)
	return append(out, bytes.Repeat(one, commands)...)
}

// An entry of hostile bytes makes a peer allocate little: elements of a byte or
// two become rows' worth of memory each.
func TestHostileEntriesStaySmall(t *testing.T) {
	const limit = 64 << 20
	s := busy(t)
	array := mustNew(t, &command.Submit{Tasks: model.MaxTasks, Spec: oneLine(1).Spec})
	arrays, err := command.Encode(s.Settings().Clock, "p1", []command.Command{array})
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string][]byte{
		"devices":       hostile(command.KindRegister, nil, 0x0b, []byte{0xa0}),
		"folders":       hostile(command.KindRegister, nil, 0x0c, []byte{0xa0}),
		"registrations": hostile(command.KindRegister, nil, 0x0d, []byte{0xa0}),
		"reports":       hostile(command.KindReport, nil, 0x04, []byte{0xa1, 0x02, 0x02}),
		"cleaned":       hostile(command.KindReport, nil, 0x05, []byte{0xa0}),
		"renewals":      hostile(command.KindRenew, nil, 0x01, []byte{0xa0}),
		"inventories":   hostile(command.KindInventory, nil, 0x04, []byte{0xa0}),
		"ranks":         hostile(command.KindPlace, []byte{0x02, 0x01}, 0x03, []byte{0xa0}),
		"victims":       hostile(command.KindPreempt, nil, 0x01, []byte{0xa0}),
		"claims":        hostile(command.KindExpireClaims, nil, 0x01, []byte{0xa0}),
		"jobs":          hostile(command.KindRetire, nil, 0x01, []byte{0x01}),
		"allocations":   hostile(command.KindExpireAllocations, nil, 0x01, []byte{0x60}),
		"environments":  hostile(command.KindSubmit, nil, 0x03, []byte{0x60}),
		"empty bodies":  hostile(command.KindResume, nil, 0x01, []byte{0x01}),
		"array":         arrays,
	}
	for name, data := range entries {
		if len(data) > command.MaxEntry {
			t.Fatalf("%s: %d bytes are no entry", name, len(data))
		}
		grown := allocated(func() {
			e, err := command.Decode(data)
			if err != nil {
				if !unusable(err) {
					t.Errorf("%s: %v", name, err)
				}
				return
			}
			Apply(s, state.Meta{Index: s.Index + 1, Term: 1, At: s.Settings().Clock, By: "p1", Hash: e.Hash}, e.Commands)
		})
		t.Logf("%-14s %7d bytes allocate %5.1f MiB", name, len(data), float64(grown)/(1<<20))
		if grown > limit {
			t.Errorf("%s: %d bytes allocate %d MiB, want at most %d", name, len(data), grown>>20, limit>>20)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
