package archive

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// A flipped bit in any record, in its data or in its stored hash, is found after the start
// of the peer, logged, and mended: from another peer, or by the record above it.
func TestADamagedRecordIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, "p1", "p2")
	for range 4 {
		r.end()
	}
	r.settle("p1", "p2")
	for seq := uint64(1); seq <= r.s.Settings().Audit.Seq; seq++ {
		for _, part := range []string{"data", "hash", "both", "gone"} {
			t.Run(fmt.Sprint(part, " of record ", seq), func(t *testing.T) {
				var log bytes.Buffer
				a := r.archives["p1"]
				a.log, a.scan = slog.New(slog.NewTextHandler(&log, nil)), scan{}
				if err := a.vault.update(func(p *page) error {
					e, _ := p.at(seq)
					data := bytes.Clone(e.data)
					if part != "hash" {
						data[len(data)/2] ^= 1
					}
					if part != "data" {
						e.hash[3] ^= 1
					}
					if part == "gone" {
						return p.tx.Bucket(bucketRecords).Delete(keyOf(seq))
					}
					return p.put(seq, e.hash, data)
				}); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					r.settle("p1")
				}
				r.whole("p1")
				if part == "gone" && seq == r.s.Settings().Audit.Seq {
					return // as if the record were still to be written
				}
				if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "damaged") {
					t.Errorf("the log says %q", log.String())
				}
			})
		}
	}
}

// A peer that is alone stores a damaged record elsewhere, and reports that it is lost.
func TestADamagedRecordThatNoPeerHas(t *testing.T) {
	t.Parallel()
	r := newRig(t, "p1")
	r.end()
	r.settle("p1")
	r.change("p1", 2, func(d []byte) []byte { d[len(d)/2] ^= 1; return d }, false)
	r.archives["p1"].scan = scan{}
	r.settle("p1")
	if s := r.settle("p1"); s.Lost != 1 {
		t.Errorf("the archive stands at %+v", s)
	}
	if err := r.archives["p1"].vault.view(func(p *page) error {
		if k, _ := p.tx.Bucket(bucketAside).Cursor().First(); k == nil {
			return errors.New("the damaged record was dropped")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// A record that the log brings again replaces the damaged one in the file.
func TestAReplayedRecordReplacesADamagedOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.open("p1", filepath.Join(t.TempDir(), "archive.db"))
	r.end()
	batch := a.queue.take()
	for i := range batch {
		a.queue.add(batch[i])
	}
	r.settle("p1")
	damage := batch[len(batch)-1].links[0].Head.Seq
	r.change("p1", damage, func(d []byte) []byte { d[len(d)/2] ^= 1; return d }, false)
	a.queue.add(noted{links: batch[len(batch)-1].links})
	if err := a.write(&r.s); err != nil {
		t.Fatal(err)
	}
	v, err := a.Verify(t.Context(), r.s.Settings().Audit)
	if err != nil || v.Bad == damage {
		t.Errorf("after the replay: %+v %v", v, err)
	}
}
