package newer

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
)

// The program knows one more feature level than that of the working tree.
func TestBuild(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berthd")
	if err := Build(t.Context(), ".", path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if want := fmt.Sprintf("feature level %d)", command.Level+1); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
