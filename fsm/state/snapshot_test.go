package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func snapshotOf(t testing.TB, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func someState(t tester, seed uint64, entries int) State {
	return write(t, newGen(seeded(seed)), State{}, entries, nil)
}

func unusable(err error) bool {
	_, unknown := errors.AsType[*command.UnknownError](err)
	return unknown || errors.Is(err, ErrCorrupt)
}

func TestSnapshotOfNothing(t *testing.T) {
	s, err := ReadSnapshot(bytes.NewReader(snapshotOf(t, &State{})))
	if err != nil || s.Digest() != (&State{}).Digest() || s.Jobs.Len() != 0 {
		t.Fatalf("an empty state came back as %+v, %v", s, err)
	}
	if _, err := ReadSnapshot(bytes.NewReader(nil)); !errors.Is(err, ErrCorrupt) {
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
		if _, err := ReadSnapshot(bytes.NewReader(flipped)); !unusable(err) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i, err)
		}
		if _, err := ReadSnapshot(bytes.NewReader(good[:i])); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at byte %d: %v", i, err)
		}
	}
	if _, err := ReadSnapshot(bytes.NewReader(append(bytes.Clone(good), 0))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte appended: %v", err)
	}
}

// forge writes a snapshot of the state by other means than WriteSnapshot, with a
// true checksum, so that what is wrong with it is only what edit did.
func forge(t *testing.T, edit func(out *snapshotWriter, h *header)) []byte {
	t.Helper()
	var b bytes.Buffer
	out := newSnapshotWriter(&b)
	h := header{Level: command.Level, Digest: (&State{}).Digest()}
	edit(out, &h)
	if out.err != nil || out.w.Flush() != nil {
		t.Fatal(out.err)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// A newer program's snapshot is distinguished from damage.
func TestSnapshotOfNewerProgram(t *testing.T) {
	begin := func(out *snapshotWriter, version byte) {
		out.bytes([]byte(snapshotMagic))
		out.bytes([]byte{version})
	}
	cases := map[string]struct {
		edit    func(out *snapshotWriter, h *header)
		unknown bool
	}{
		"the true form": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion)
			out.frame(h)
			out.bytes([]byte{0})
		}, false},
		"version": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion+1)
			out.frame(h)
			out.bytes([]byte{0})
		}, true},
		"level": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion)
			h.Level = command.Level + 1
			out.frame(h)
			out.bytes([]byte{0})
		}, true},
		"table": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion)
			out.frame(h)
			out.bytes([]byte{maxTable, 0, 0})
		}, true},
		"field of a row": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion)
			out.frame(h)
			out.bytes([]byte{2})
			out.frame(map[int]any{1: "p1", 99: "new"})
			out.bytes([]byte{0, 0})
		}, true},
		"field of the header": {func(out *snapshotWriter, h *header) {
			begin(out, snapshotVersion)
			out.frame(map[int]any{1: h.Level, 99: "new"})
			out.bytes([]byte{0})
		}, true},
	}
	for name, c := range cases {
		_, err := ReadSnapshot(bytes.NewReader(forge(t, c.edit)))
		_, unknown := errors.AsType[*command.UnknownError](err)
		if unknown != c.unknown || (!c.unknown && err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Rows out of order, twice, or other than the digest says are damage, however
// true the checksum is.
func TestSnapshotThatLies(t *testing.T) {
	peers := func(ids ...string) func(*snapshotWriter, *header) {
		return func(out *snapshotWriter, h *header) {
			out.bytes([]byte(snapshotMagic))
			out.bytes([]byte{snapshotVersion})
			out.frame(h)
			out.bytes([]byte{2})
			for _, id := range ids {
				out.frame(model.Peer{ID: model.PeerID(id)})
			}
			out.bytes([]byte{0, 0})
		}
	}
	for name, ids := range map[string][]string{"a row too many": {"a"}, "out of order": {"b", "a"}, "twice": {"a", "a"}} {
		if _, err := ReadSnapshot(bytes.NewReader(forge(t, peers(ids...)))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
