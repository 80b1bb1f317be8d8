package archive

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A refusal that is changed, cut out, put in or cut off is noticed.
func TestRefusalsAreChained(t *testing.T) {
	t.Parallel()
	write := func(dir string, size int64, keep, n int) *Refusals {
		r := OpenRefusals(Rotation{Dir: dir, Size: size, Keep: keep}, slog.New(slog.DiscardHandler))
		for range n {
			r.Refused(Refusal{Actor: "user:ann", Method: "POST", Path: "/queue/submit", Status: 403, Code: "denied"})
		}
		r.Close()
		return r
	}
	for name, v := range map[string]struct {
		change func(lines []string) []string // of the newest file
		bad    uint64
	}{
		"as written":       {func(l []string) []string { return l }, 0},
		"cut by a crash":   {func(l []string) []string { return append(l, `{"time":"2026`) }, 0},
		"changed":          {func(l []string) []string { l[1] = strings.Replace(l[1], "ann", "bob", 1); return l }, 2},
		"cut out":          {func(l []string) []string { return append(l[:1:1], l[2:]...) }, 2},
		"put in":           {func(l []string) []string { return append(l[:2:2], append([]string{l[1]}, l[2:]...)...) }, 3},
		"the end cut off":  {func(l []string) []string { return l[:2] }, 3},
		"the start":        {func(l []string) []string { return l[1:] }, 1},
		"the last changed": {func(l []string) []string { l[3] = strings.Replace(l[3], "403", "200", 1); return l }, 4},
		"all":              {func([]string) []string { return nil }, 1},
	} {
		dir := t.TempDir()
		write(dir, 1<<20, 3, 2)
		r := write(dir, 1<<20, 3, 2) // goes on after a restart
		path := filepath.Join(dir, "refusals.jsonl")
		text := strings.Join(v.change(linesOf(t, path)), "\n")
		if !strings.HasSuffix(name, "crash") && text != "" {
			text += "\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := r.Verify(t.Context())
		if err != nil || got.Bad != v.bad || (got.What == "") != (v.bad == 0) {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, v.bad)
		}
		if v.bad > 0 {
			continue
		}
		write(dir, 1<<20, 3, 1)
		if got, err := r.Verify(t.Context()); err != nil || got.Bad != 0 || got.Records != 5 {
			t.Errorf("%s, and gone on: %+v, %v", name, got, err)
		}
	}
}

// The chain begins where the oldest file that is kept does, and must end at its head.
func TestTheChainOfOldFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &Refusals{file: newRotating(Rotation{Dir: dir, Size: 600, Keep: 2}, "refusals")}
	for range 40 {
		if err := r.write([]Refusal{{Code: "denied"}}); err != nil {
			t.Fatal(err)
		}
	}
	defer r.file.close()
	if got, err := r.Verify(t.Context()); err != nil || got.Bad != 0 || got.Records < 3 || got.Records > 10 {
		t.Errorf("after old files were deleted: %+v, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "refusals.head")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Verify(t.Context()); err != nil || got.Bad == 0 {
		t.Errorf("without the head: %+v, %v", got, err)
	}
}

// What cannot be written is counted, and the chain goes on where the files end.
func TestTheChainAfterAFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &Refusals{file: newRotating(Rotation{Dir: filepath.Join(dir, "a")}, "refusals")}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil { // in the folder's place
		t.Fatal(err)
	}
	if err := r.write([]Refusal{{Code: "x"}}); err == nil {
		t.Fatal("it was written")
	}
	r.dropped.Add(1) // as run counts it
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := r.write([]Refusal{{Code: "y"}, {Code: "z"}}); err != nil {
		t.Fatal(err)
	}
	defer r.file.close()
	list, _, err := r.Find(t.Context(), RefusalFilter{Limit: 9})
	if err != nil || len(list) != 2 || list[1].Dropped != 1 || list[1].Seq != 1 || list[0].Dropped != 0 {
		t.Errorf("found are %+v, %v", list, err)
	}
	if got, err := r.Verify(t.Context()); err != nil || got.Bad != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
