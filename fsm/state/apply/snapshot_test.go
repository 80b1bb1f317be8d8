package apply

import (
	"bytes"
	"errors"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
)

func snapshotOf(t testing.TB, s *state.State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(s, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func someState(t tester, seed uint64, entries int) state.State {
	return write(t, newGen(seeded(seed)), state.State{}, entries, nil)
}

func unusable(err error) bool {
	_, unknown := errors.AsType[*command.UnknownError](err)
	return unknown || errors.Is(err, state.ErrCorrupt)
}

func TestSnapshotOfNothing(t *testing.T) {
	s, err := snapshot.Read(bytes.NewReader(snapshotOf(t, &state.State{})))
	if err != nil || s.Digest() != (&state.State{}).Digest() || s.Jobs.Len() != 0 {
		t.Fatalf("an empty state came back as %+v, %v", s, err)
	}
	if _, err := snapshot.Read(bytes.NewReader(nil)); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("no bytes: %v", err)
	}
}

// Whatever happens to a snapshot's bytes is noticed.
func TestSnapshotDamage(t *testing.T) {
	s := someState(t, 5, 25)
	good := snapshotOf(t, &s)
	step := 1
	if underRace || testing.Short() {
		step = 13
	}
	t.Logf("%d bytes", len(good))
	for i := 0; i < len(good); i += step {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		if _, err := snapshot.Read(bytes.NewReader(flipped)); !unusable(err) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i, err)
		}
		if _, err := snapshot.Read(bytes.NewReader(good[:i])); !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("cut at byte %d: %v", i, err)
		}
	}
	if _, err := snapshot.Read(bytes.NewReader(append(bytes.Clone(good), 0))); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("a byte appended: %v", err)
	}
}
