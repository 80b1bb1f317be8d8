package archive

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
)

func linesOf(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // a test's own file
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}

// exporting is a rig of one peer whose archive writes lines to a folder.
func exporting(t *testing.T, dir string) *rig {
	r := newRig(t, "p1")
	a := r.archives["p1"]
	a.export = &exporter{file: newRotating(Rotation{Dir: dir}, "audit"), log: a.log}
	return r
}

// Every record is written out as a line, in order, also after a line was cut off.
func TestExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	r := exporting(t, dir)
	r.end()
	r.settle("p1")
	r.archives["p1"].export.file.close()
	path := filepath.Join(dir, "audit.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // a test's own file
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":4,"ind`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	r.end()
	r.settle("p1")
	r.settle("p1")
	var seqs []uint64
	for _, text := range linesOf(t, path) {
		var l Line
		if err := json.Unmarshal([]byte(text), &l); err == nil {
			seqs = append(seqs, l.Seq)
			if l.Actor != "user:ann" || l.Action == "" || l.Result != "ok" || len(l.ChainHash) != 64 {
				t.Errorf("a line is %s", text)
			}
		}
	}
	if len(seqs) != 5 || seqs[0] != 1 || seqs[4] != 5 {
		t.Errorf("the lines are of %v", seqs)
	}
}

// After a restore to an older state the records of the new past are written out, too.
func TestExportOfAnotherPast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	r := exporting(t, dir)
	r.end()
	old := r.s
	r.end()
	r.settle("p1")
	r.s = old
	r.do(&command.SetPolicy{Policy: "priority"})
	r.settle("p1")
	text := linesOf(t, filepath.Join(dir, "audit.jsonl"))
	if last := text[len(text)-1]; len(text) != 6 || !strings.Contains(last, `"seq":4,`) || !strings.Contains(last, "set_policy") {
		t.Errorf("%d lines, the last is %s", len(text), last)
	}
}

// Lines that cannot be written hold no archive up.
func TestExportThatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := exporting(t, file)
	r.end()
	if s := r.settle("p1"); s.Failure != "" {
		t.Errorf("the archive stands at %+v", s)
	}
	r.whole("p1")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.settle("p1")
	if n := len(linesOf(t, filepath.Join(file, "audit.jsonl"))); n != 3 {
		t.Errorf("%d lines afterwards, want 3", n)
	}
}

// Files are bounded in size and number, the oldest goes first.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	f := newRotating(Rotation{Dir: dir, Size: 100, Keep: 2}, "x")
	for i := range 20 {
		if err := f.append([]byte(strings.Repeat(string(rune('a'+i)), 39) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
	old, err := f.old()
	if err != nil || len(old) != 2 || old[1] != 9 {
		t.Errorf("old files %v: %v", old, err)
	}
	if got := linesOf(t, filepath.Join(dir, "x.jsonl")); len(got) != 2 || got[1][0] != 't' {
		t.Errorf("the newest file holds %q", got)
	}
}

// Refusals are written one a line; a flood is bounded, and what was dropped counted.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	r := OpenRefusals(Rotation{Dir: dir}, slog.New(slog.DiscardHandler))
	const many = 3 * maxRefusals
	for range many {
		r.Refused(Refusal{Method: "POST", Path: "/queue/submit", Status: 422, Code: "invalid", From: "192.0.2.7"})
	}
	r.Close()
	r.Close()
	total := uint64(0)
	for _, text := range linesOf(t, filepath.Join(dir, "refusals.jsonl")) {
		var one Refusal
		if err := json.Unmarshal([]byte(text), &one); err != nil || one.From != "192.0.2.7" || one.Status != 422 {
			t.Fatalf("a line is %s", text)
		}
		total += 1 + one.Dropped
	}
	if total += r.dropped.Load(); total != many {
		t.Errorf("%d refusals are told of, there were %d", total, many)
	}
	var none *Refusals
	none.Close()
}
