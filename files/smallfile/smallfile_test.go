package smallfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

type value struct {
	Name  string
	Count int `json:",omitempty"`
}

// Every flipped bit and every shortened file is recognized.
func TestDamageIsRecognized(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	want := value{Name: "ü<>\x00", Count: 7}
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	var got value
	if err := Read(path, &got); err != nil || got != want {
		t.Fatalf("read back %+v, %v", got, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(data) {
		bad := append([]byte(nil), data...)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := Decode(path, bad, new(value)); !IsDamaged(err) || !strings.Contains(err.Error(), path) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	}
	for n := range data {
		if err := Decode(path, data[:n], new(value)); !IsDamaged(err) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if err := Decode(path, append(data, 0), new(value)); !IsDamaged(err) {
		t.Errorf("made longer: %v", err)
	}
}

// Missing is not damaged, and a value of another kind is.
func TestMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := Read(path, new(value)); !errors.Is(err, fs.ErrNotExist) || IsDamaged(err) {
		t.Error(err)
	}
	if err := Replace(path, []int{1}); err != nil {
		t.Fatal(err)
	}
	if err := Read(path, new(value)); !IsDamaged(err) {
		t.Error(err)
	}
}

// Anything else in the place of a file is damage, and is not waited for.
func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link, folder := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), Replace(filepath.Join(dir, "file"), value{}),
		os.Symlink(filepath.Join(dir, "file"), link), os.Mkdir(folder, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, folder} {
		if err := Read(path, new(value)); !IsDamaged(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Replace(link, value{Name: "new"}); err != nil {
		t.Error(err)
	}
	var got value
	if err := Read(link, &got); err != nil || got.Name != "new" {
		t.Errorf("after it was replaced: %+v, %v", got, err)
	}
}

// One of two copies is enough, and makes the other again.
func TestTwin(t *testing.T) {
	t.Parallel()
	want := value{Name: "x"}
	harms := map[string]func(path string) error{
		"removed":  os.Remove,
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"cut":      func(path string) error { return os.Truncate(path, 9) },
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) },
	}
	for name, harm := range harms {
		for _, which := range []string{"", copySuffix} {
			path := filepath.Join(t.TempDir(), "file")
			if err := errors.Join(WriteTwin(path, want), harm(path+which)); err != nil {
				t.Fatal(err)
			}
			var got value
			restored, err := ReadTwin(path, &got)
			if err != nil || got != want || !strings.Contains(restored, path+which) {
				t.Errorf("%s %s: %+v, %q, %v", which, name, got, restored, err)
			}
			if err := errors.Join(Read(path, &got), Read(path+copySuffix, &got)); err != nil {
				t.Errorf("%s %s, afterwards: %v", which, name, err)
			}
			if restored, err := ReadTwin(path, &got); restored != "" || err != nil {
				t.Errorf("%s %s, again: %q, %v", which, name, restored, err)
			}
		}
	}
}

// Both copies missing is missing; damaged and missing is damaged.
func TestTwinLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if _, err := ReadTwin(path, new(value)); !errors.Is(err, fs.ErrNotExist) || IsDamaged(err) {
		t.Errorf("both missing: %v", err)
	}
	for _, bad := range []string{path, path + copySuffix} {
		if err := os.WriteFile(bad, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTwin(path, new(value)); !IsDamaged(err) {
			t.Errorf("%s damaged: %v", bad, err)
		}
		if err := os.Remove(bad); err != nil {
			t.Fatal(err)
		}
	}
}
