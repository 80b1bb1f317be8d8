package jobs

import "testing"

func TestLastLines(t *testing.T) {
	for n, want := range map[int64]string{-1: "a\nb\nc", 1: "c", 2: "b\nc", 3: "a\nb\nc", 4: "a\nb\nc"} {
		if got := string(lastLines([]byte("a\nb\nc"), n)); got != want {
			t.Errorf("%d: %q", n, got)
		}
		if got := string(lastLines([]byte("a\nb\nc\n"), n)); got != want+"\n" {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := lastLines([]byte("a\nb\n"), 0); len(got) != 0 {
		t.Errorf("no lines: %q", got)
	}
	if got := lastLines(nil, 3); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
	if got := string(lastLines([]byte("\n\n"), 1)); got != "\n" {
		t.Errorf("of empty lines: %q", got)
	}
}
