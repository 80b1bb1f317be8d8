package demo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A process has begun once it says so itself: what its job's state says is not enough.
func TestMarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks")
	first := run{job: "4", attempt: 1}
	if marked(path, first) {
		t.Error("a process has begun where there are no marks")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const end = "4 1 0 77 end 1700000000000000000 GPU-a\n"
	write(end)
	if marked(path, first) {
		t.Error("a process has begun that has only ended")
	}
	write("4 1 0 77 start 1600000000000000000 GPU-a,GPU-b\n" + end)
	if !marked(path, first) || marked(path, run{job: "4", attempt: 2}) || marked(path, run{job: "5", attempt: 1}) {
		t.Error("the first attempt of job 4 has begun, and no other")
	}
	spans, err := readMarks(path)
	if s := spans[first]; err != nil || s.starts != 1 || s.begin.Unix() != 16e8 || s.end.Unix() != 17e8 ||
		!slices.Equal(s.gpus, []string{"GPU-a", "GPU-b"}) {
		t.Errorf("%+v: %v", spans[first], err)
	}
	write("4 1 0\n")
	if _, err := readMarks(path); err == nil || marked(path, first) {
		t.Error("half a mark was read")
	}
}
