package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that users could replace is refused.
func TestFoldersLast(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[os.FileMode]bool{0o755: false, 0o777: true, 0o777 | os.ModeSticky: false, 0o770: false} {
		parent := filepath.Join(t.TempDir(), "scratch")
		if err := os.Mkdir(parent, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(parent, mode); err != nil {
			t.Fatal(err)
		}
		r := Rules{Checkpoints: filepath.Join(parent, "berth-1")}
		if err := r.prepare(); (err != nil) != refused || refused && !strings.Contains(err.Error(), "run chmod +t "+parent) {
			t.Errorf("%v: %v", mode, err)
		}
		if info, err := os.Stat(parent); err != nil || info.Mode()&^os.ModeDir != mode {
			t.Errorf("%v: the mode is %v now: %v", mode, info.Mode(), err)
		}
	}
}
