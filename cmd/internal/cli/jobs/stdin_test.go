package jobs

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// fileOf is a file with this content, open for reading.
func fileOf(t *testing.T, content string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// pipeOf is a pipe to which this was written; its other end is open until the test ends, or closed.
func pipeOf(t *testing.T, content string, closed bool) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if closed {
		_ = w.Close()
	}
	t.Cleanup(func() { _ = errors.Join(w.Close(), r.Close()) })
	return r
}

// Standard input is passed on byte by byte, whatever it comes from, up to the bound.
func TestStandardInputIsPassedOn(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	folder, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	whole := strings.Repeat("x", model.MaxStdin)
	for name, v := range map[string]struct {
		from *os.File
		how  input
		want string
		says string // on standard error
		bad  string
	}{
		"pipe":              {from: pipeOf(t, "print(1)\n", true), want: "print(1)\n"},
		"bytes":             {from: pipeOf(t, "\x00\xff\x80", true), want: "\x00\xff\x80"},
		"file":              {from: fileOf(t, "a\nb\n"), want: "a\nb\n"},
		"all that may be":   {from: fileOf(t, whole), want: whole},
		"more":              {from: fileOf(t, whole+"x"), bad: "standard input is larger than the 49152 bytes"},
		"empty":             {from: fileOf(t, "")},
		"nothing":           {from: null},
		"a folder":          {from: folder},
		"left alone":        {from: fileOf(t, "a"), how: input{none: true}},
		"open, and silent":  {from: pipeOf(t, "", false), says: "--stdin waits for it"},
		"closed beforehand": {from: func() *os.File { f := fileOf(t, "a"); _ = f.Close(); return f }()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var say strings.Builder
			text, err := v.how.read(context.Background(), v.from, &say)
			got, _ := base64.StdEncoding.DecodeString(text)
			if string(got) != v.want || (err != nil) != (v.bad != "") || err != nil && !strings.Contains(err.Error(), v.bad) ||
				!strings.Contains(say.String(), v.says) || v.says == "" && say.Len() > 0 {
				t.Errorf("read %.40q, %v, said %q", got, err, say.String())
			}
			if back, err := model.Stdin(text); err != nil || string(back) != v.want {
				t.Errorf("the model reads %.40q, %v", back, err)
			}
		})
	}
}

// Waiting for standard input ends with the context.
func TestWaitingForStandardInputIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&input{wait: true}).read(ctx, pipeOf(t, "a", false), &strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
