package sealing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

func ring(t *testing.T, keys ...[]byte) *Ring {
	t.Helper()
	r, err := NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t *testing.T, r *Ring, text string) string {
	t.Helper()
	out, err := r.Seal(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A sealed text does not contain the text, comes back as it was, and fits the bounds by which the state refuses texts.
func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	r := ring(t, NewKey())
	for _, text := range []string{"A=1", "#!/bin/sh\necho planted\n", strings.Repeat("planted ", 10_000), "\x00\xff\xfe"} {
		sealed := seal(t, r, text)
		// Package fsm/command allows this much: name of the key and colon, then nonce, tag and text as base64.
		if most := len(model.SealedPrefix) + 17 + base64.RawStdEncoding.EncodedLen(24+16+len(text)); len(sealed) > most || !model.Sealed(sealed) {
			t.Errorf("%d bytes become %d, more than %d, or are not recognized", len(text), len(sealed), most)
		}
		if strings.Contains(sealed, "planted") {
			t.Errorf("%.40q shows the text", sealed)
		}
		if got, err := r.Open(sealed); got != text || err != nil {
			t.Errorf("opened %.40q, %v", got, err)
		}
		if again := seal(t, r, sealed); again != sealed {
			t.Errorf("%.40q is sealed twice", text)
		}
	}
	if got := seal(t, r, ""); got != "" {
		t.Errorf("the empty text becomes %q", got)
	}
	if got, err := r.Open("plain"); got != "plain" || err != nil {
		t.Errorf("a text that is not sealed becomes %q, %v", got, err)
	}
}

// Equal texts have equal forms under one key and other ones under another: jobs share what they have in common, and a form
// cannot be computed without the key.
func TestEqualTexts(t *testing.T) {
	t.Parallel()
	one, other := NewKey(), NewKey()
	a, b, c := seal(t, ring(t, one), "A=1"), seal(t, ring(t, one, other), "A=1"), seal(t, ring(t, other, one), "A=1")
	if a != b || a == c || a == seal(t, ring(t, one), "A=2") {
		t.Errorf("%q, %q and %q", a, b, c)
	}
	if got, err := ring(t, one, other).Open(c); got != "A=1" || err != nil {
		t.Errorf("the second key opens %q, %v", got, err)
	}
}

// Each change of a sealed text is noticed.
func TestAChangedTextIsNotOpened(t *testing.T) {
	t.Parallel()
	r := ring(t, NewKey())
	sealed := seal(t, r, "PASSWORD=planted")
	for i := range sealed {
		for _, bit := range []byte{1, 0x20} {
			changed := []byte(sealed)
			changed[i] ^= bit
			if got, err := r.Open(string(changed)); err == nil && got == "PASSWORD=planted" && string(changed) != sealed {
				if last := i == len(sealed)-1; !last { // the last digit of base64 has bits that mean nothing
					t.Errorf("byte %d changed: opened as before", i)
				}
			} else if err == nil && model.Sealed(string(changed)) {
				t.Errorf("byte %d changed: opened as %q", i, got)
			}
		}
	}
	for _, cut := range []int{len(model.SealedPrefix), len(model.SealedPrefix) + 17, len(sealed) - 8} {
		if got, err := r.Open(sealed[:cut]); err == nil {
			t.Errorf("cut off at %d: opened as %q", cut, got)
		}
	}
}

// Without its key a text is not opened, the error names the key, and the ring reports what it lacks.
func TestAMissingKey(t *testing.T) {
	t.Parallel()
	key := NewKey()
	sealed := seal(t, ring(t, key), "A=1")
	for name, r := range map[string]*Ring{"none": ring(t), "another": ring(t, NewKey()), "nil": nil} {
		got, err := r.Open(sealed)
		if !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), KeyID(key)) || strings.Contains(got, "A=1") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if r == nil {
			continue
		}
		select {
		case <-r.Lacks():
		default:
			t.Errorf("%s: the ring does not report the missing key", name)
		}
	}
	empty := ring(t)
	if got, err := empty.Seal("A=1"); err == nil {
		t.Errorf("an empty ring seals: %q", got)
	}
	select {
	case <-empty.Ready():
		t.Error("an empty ring is ready")
	default:
	}
	if err := empty.Add(key); err != nil {
		t.Fatal(err)
	}
	<-empty.Ready()
}

// The keys come back from their file in their order, which only the owner can read.
func TestTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data.secrets", "sealing.key")
	r, err := Load(path)
	if err != nil || len(r.Keys()) != 0 {
		t.Fatalf("without a file: %v", err)
	}
	one, other := NewKey(), NewKey()
	if err := errors.Join(r.Add(one), r.Add(other, one), r.Add()); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if keys := again.Keys(); len(keys) != 2 || !bytes.Equal(keys[0], one) || !bytes.Equal(keys[1], other) {
		t.Errorf("read back %x", keys)
	}
	for file, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if err := r.Add([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
	for range 2 * MaxKeys {
		err = errors.Join(err, r.Add(NewKey()))
	}
	if err == nil || len(r.Keys()) != MaxKeys {
		t.Errorf("%d keys, %v", len(r.Keys()), err)
	}
}

// A file that others may read, or that is damaged, is refused with what to do.
func TestABadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sealing.key")
	for _, tc := range []struct {
		text string
		mode os.FileMode
		says string
	}{
		{strings.Repeat("ab", KeySize) + "\n", 0o644, "chmod 600"},
		{"not a key\n", 0o600, "copy the file from another peer"},
		{strings.Repeat("ab", KeySize-1) + "\n", 0o600, "64 hexadecimal digits"},
		{strings.Repeat("x", maxFile+1), 0o600, "regular file"},
	} {
		if err := errors.Join(os.WriteFile(path, []byte(tc.text), 0o600), os.Chmod(path, tc.mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.20q: %v", tc.text, err)
		}
	}
}

// A key that cannot be stored is not used.
func TestAKeyThatIsNotStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file", "sealing.key")
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := ring(t)
	r.path = path
	if err := r.Add(NewKey()); err == nil || len(r.Keys()) != 0 {
		t.Errorf("%d keys, %v", len(r.Keys()), err)
	}
}
