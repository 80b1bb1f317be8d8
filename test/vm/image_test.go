package vm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// recipe makes the image.
const recipe = "image.sh"

// image returns the folder of the image that the recipe makes, and makes it unless the user's cache folder has it. Images
// of other recipes are removed.
func image(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	all := filepath.Join(cache, "berth", "vm")
	dir := filepath.Join(all, hex.EncodeToString(sum[:])[:16])
	switch _, err := os.Stat(dir); {
	case err == nil:
		return dir
	case !errors.Is(err, fs.ErrNotExist):
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(all), os.MkdirAll(all, 0o755)); err != nil {
		t.Fatal(err)
	}
	made, err := os.MkdirTemp(all, "new-")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("making the image %s", dir)
	if err := command(t, "sh", recipe, made); err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(made)))
	}
	if err := os.Rename(made, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs a program to its end. The error has its output.
func command(t *testing.T, argv ...string) error {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", argv[0], err, out)
	}
	return nil
}
