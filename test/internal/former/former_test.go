package former

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// The program is that of the release, and knows its feature level.
func TestProgram(t *testing.T) {
	t.Parallel()
	path, err := Program(t.Context(), ".")
	if errors.Is(err, ErrNoHistory) {
		t.Skip("needs the history of the repository: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "feature level 4") {
		t.Errorf("%v: %s", err, out)
	}
}
