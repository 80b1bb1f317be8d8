package bundle

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A part that fails, panics or is empty is listed with the reason, which passes the filter, too; the others are written.
func TestPartsThatFail(t *testing.T) {
	var out bytes.Buffer
	a := newArchive(&out, "x", "host", time.Unix(0, 0))
	part := func(name string, collect func() (string, error)) {
		a.add(t.Context(), Part{Name: name, What: "a test", Collect: func(context.Context) (string, error) { return collect() }})
	}
	part("fails", func() (string, error) { return "", errors.New("password=abcdefg: refused") })
	part("panics", func() (string, error) { panic("of a defect") })
	part("empty", func() (string, error) { return "", nil })
	part("good", func() (string, error) { return "api_key=abcdefg\nrest", nil })
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, l := range a.manifest.Left {
		why[l.What] = l.Why
	}
	if why["fails"] != "password=(removed) refused" || !strings.Contains(why["panics"], "of a defect") || why["empty"] != "it is empty" || len(why) != 3 {
		t.Errorf("left out: %q", why)
	}
	if len(a.manifest.Files) != 1 || a.manifest.Files[0].Name != "good" || a.manifest.Files[0].Bytes != len("api_key=(removed)\nrest") {
		t.Errorf("files: %+v", a.manifest.Files)
	}
}

// A file that cannot be written is an error, and nothing is left of it.
func TestAFullDisk(t *testing.T) {
	a := newArchive(full{}, "x", "host", time.Unix(0, 0))
	a.put("a", "a test", strings.Repeat("x", 1<<20))
	if err := a.close(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]string{0: "", 1: "c\n", 2: "b\nc\n", 9: "a\nb\nc\n"} {
		if got, err := tail(path, lines); got != want || err != nil {
			t.Errorf("%d lines: %q, %v", lines, got, err)
		}
	}
	if _, err := tail(filepath.Dir(path), 1); err == nil {
		t.Error("a folder is no log")
	}
}

func TestNamesOfHosts(t *testing.T) {
	for host, want := range map[string]string{"gpu-1.example": "gpu-1.example", "../../etc": "....etc", "日本": "host", "": "host"} {
		if got := safe(host); got != want {
			t.Errorf("%q: %q", host, got)
		}
	}
}
