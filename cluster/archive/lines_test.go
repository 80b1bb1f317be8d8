package archive

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
)

func linesOf(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}

// exporting returns a rig of one peer whose archive writes lines to a folder.
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
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
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

// refuse writes a refusal to small files. The files are opened for each, so that no refusal waits to be
// written.
func refuse(dir string, one Refusal) {
	r := OpenRefusals(Rotation{Dir: dir, Size: 300, Keep: 9}, slog.New(slog.DiscardHandler))
	r.Refused(one)
	r.Close()
}

// Refusals are found newest first across files, by filter, also past a line that a crash has cut off.
func TestRefusalsAreFound(t *testing.T) {
	dir := t.TempDir()
	begin := time.Unix(1000, 0).UTC()
	write := func(from, to int) {
		for i := from; i < to; i++ {
			one := Refusal{Time: begin.Add(time.Duration(i) * time.Second), Actor: "user:ann", Method: "POST", Path: "/queue/submit", Code: "invalid"}
			if i%2 == 1 {
				one.Actor, one.Code = "user:bob", "denied"
			}
			refuse(dir, one)
		}
	}
	r := OpenRefusals(Rotation{Dir: dir, Size: 300, Keep: 9}, slog.New(slog.DiscardHandler))
	defer r.Close()
	if list, next, err := r.Find(t.Context(), RefusalFilter{Limit: 5}); len(list) > 0 || next > 0 || err != nil {
		t.Errorf("of nothing %v: %v", list, err)
	}
	write(0, 3)
	old := filepath.Join(dir, "refusals.jsonl")
	if err := os.Rename(old, filepath.Join(dir, "refusals-7.jsonl")); err != nil {
		t.Fatal(err)
	}
	write(3, 5)
	text, err := os.ReadFile(old)
	if err == nil {
		err = os.WriteFile(old, append(text, `{"time":"2026-`...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    RefusalFilter
		want []int
	}{
		{RefusalFilter{}, []int{4, 3, 2, 1, 0}},
		{RefusalFilter{Actor: "bob"}, []int{3, 1}},
		{RefusalFilter{Actor: "user:ann", Since: begin.Add(time.Second)}, []int{4, 2}},
		{RefusalFilter{Code: "denied", Until: begin.Add(2 * time.Second)}, []int{1}},
	} {
		for limit := 1; limit <= 6; limit++ {
			c.f.Limit, c.f.Before = limit, 0
			var got []int
			for pages := 0; ; pages++ {
				list, next, err := r.Find(t.Context(), c.f)
				for _, one := range list {
					got = append(got, int(one.Time.Sub(begin)/time.Second))
				}
				if err != nil || len(list) > limit || pages > 9 || next > 0 && len(list) < limit {
					t.Fatalf("%+v finds %v, next %d: %v", c.f, list, next, err)
				}
				if c.f.Before = next; next == 0 {
					break
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %v, want %v", c.f, got, c.want)
			}
		}
	}
}

// A page goes on where the one before ended, whatever was refused and set aside since.
func TestPagesOfRefusalsStay(t *testing.T) {
	dir := t.TempDir()
	write := func(paths ...string) {
		for _, path := range paths {
			refuse(dir, Refusal{Path: path})
		}
	}
	write("a", "b", "c")
	r := OpenRefusals(Rotation{Dir: dir, Size: 300, Keep: 9}, slog.New(slog.DiscardHandler))
	defer r.Close()
	got := ""
	for before := uint64(0); ; {
		list, next, err := r.Find(t.Context(), RefusalFilter{Limit: 1, Before: before})
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if got += list[0].Path; next == 0 {
			break
		}
		before = next
		write("x", "y", "z", "x")
	}
	if got != "cba" {
		t.Errorf("the pages are %s", got)
	}
}
