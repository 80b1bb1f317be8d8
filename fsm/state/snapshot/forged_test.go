package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// forge writes a snapshot of the state by other means than WriteSnapshot, with a
// true checksum, so that what is wrong with it is only what edit did.
func forge(t *testing.T, edit func(out *writer, h *header)) []byte {
	t.Helper()
	var b bytes.Buffer
	out := newWriter(&b)
	h := header{Level: command.Level, Digest: (&state.State{}).Digest()}
	edit(out, &h)
	if out.err != nil || out.w.Flush() != nil {
		t.Fatal(out.err)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// A newer program's snapshot is distinguished from damage.
func TestSnapshotOfNewerProgram(t *testing.T) {
	begin := func(out *writer, version byte) {
		out.bytes([]byte(magic))
		out.bytes([]byte{version})
	}
	cases := map[string]struct {
		edit    func(out *writer, h *header)
		unknown bool
	}{
		"the true form": {func(out *writer, h *header) {
			begin(out, version)
			out.frame(h)
			out.bytes([]byte{0})
		}, false},
		"version": {func(out *writer, h *header) {
			begin(out, version+1)
			out.frame(h)
			out.bytes([]byte{0})
		}, true},
		"level": {func(out *writer, h *header) {
			begin(out, version)
			h.Level = command.Level + 1
			out.frame(h)
			out.bytes([]byte{0})
		}, true},
		"table": {func(out *writer, h *header) {
			begin(out, version)
			out.frame(h)
			out.bytes([]byte{digest.MaxTable, 0, 0})
		}, true},
		"field of a row": {func(out *writer, h *header) {
			begin(out, version)
			out.frame(h)
			out.bytes([]byte{2})
			out.frame(map[int]any{1: "p1", 99: "new"})
			out.bytes([]byte{0, 0})
		}, true},
		"field of the header": {func(out *writer, h *header) {
			begin(out, version)
			out.frame(map[int]any{1: h.Level, 99: "new"})
			out.bytes([]byte{0})
		}, true},
	}
	for name, c := range cases {
		_, err := Read(bytes.NewReader(forge(t, c.edit)))
		_, unknown := errors.AsType[*command.UnknownError](err)
		if unknown != c.unknown || (!c.unknown && err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Rows out of order, twice, or other than the digest says are damage, however
// true the checksum is.
func TestSnapshotThatLies(t *testing.T) {
	peers := func(ids ...string) func(*writer, *header) {
		return func(out *writer, h *header) {
			out.bytes([]byte(magic))
			out.bytes([]byte{version})
			out.frame(h)
			out.bytes([]byte{2})
			for _, id := range ids {
				out.frame(model.Peer{ID: model.PeerID(id)})
			}
			out.bytes([]byte{0, 0})
		}
	}
	for name, ids := range map[string][]string{"a row too many": {"a"}, "out of order": {"b", "a"}, "twice": {"a", "a"}} {
		if _, err := Read(bytes.NewReader(forge(t, peers(ids...)))); !errors.Is(err, state.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
